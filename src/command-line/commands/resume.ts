/**
 * `resume`: a run that was left, to its end.
 *
 * @module
 */
import type { Command } from '../command.js'
import { connect } from '../connection/connect.js'
import { decodeHandle } from '../connection/handle.js'
import { CONNECTION_OPTIONS } from '../connection/options.js'
import { follow, FOLLOW_OPTIONS } from '../follow.js'

export const command: Command = {
  name: 'resume',
  usage: 'resume HANDLE',
  summary: 'Continue a run that was left',
  description: `HANDLE is the word that send printed. It names the agent and the task, and contains no credentials.
Pass those again, unless they are of a profile.`,
  positionals: [1, 1],
  options: { ...FOLLOW_OPTIONS, ...CONNECTION_OPTIONS },
  examples: ['resume a2a1_eyJ1cmwiOi…', 'resume a2a1_eyJ1cmwiOi… --json'],
  async run(args, terminal) {
    const { url, handle, profile } = decodeHandle(args.at(0))
    const { client, credentials } = await connect(args, terminal, url, { isRun: true, profile })
    return await follow(args, terminal, {
      url,
      profile: credentials.profile,
      isOwn: true,
      start: ({ onStart, ...options }) => {
        // A resumed run has its handle from the beginning.
        void onStart?.(handle)
        return client.resume(handle, options)
      },
    })
  },
}
