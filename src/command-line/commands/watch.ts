/**
 * `watch`: the updates of any client's task, until it ends.
 *
 * @module
 */
import { randomUUID } from 'node:crypto'
import type { Command } from '../command.js'
import { connect } from '../connection/connect.js'
import { CONNECTION_OPTIONS } from '../connection/options.js'
import { follow, FOLLOW_OPTIONS } from '../follow.js'

export const command: Command = {
  name: 'watch',
  usage: 'watch URL TASK',
  summary: 'Follow a task, and never change it',
  description: `Shows the task as it is and then its changes, until it ends or waits. Answers no questions.
Ctrl-C ends the command, and not the task.`,
  positionals: [2, 2],
  options: { ...FOLLOW_OPTIONS, ...CONNECTION_OPTIONS },
  examples: [
    'watch http://localhost:3000 5d4c6e1a-…',
    'watch http://localhost:3000 5d4c6e1a-… --json --stream',
  ],
  async run(args, terminal) {
    const [url, taskId] = [args.at(0), args.at(1)]
    const { client, credentials } = await connect(args, terminal, url, { isRun: true })
    return await follow(args, terminal, {
      url,
      profile: credentials.profile,
      isOwn: false,
      start: ({ onStart, ...options }) => {
        const handle = { messageId: randomUUID(), taskId }
        void onStart?.(handle)
        return client.resume(handle, options)
      },
    })
  },
}
