/**
 * `get`: a task as it is.
 *
 * @module
 */
import type { Command } from '../command.js'
import { connect } from '../connection/connect.js'
import { CONNECTION_OPTIONS } from '../connection/options.js'
import { EXIT } from '../exit-codes.js'
import { taskLines } from '../render/task.js'

export const command: Command = {
  name: 'get',
  usage: 'get URL TASK',
  summary: 'Show a task as it is',
  positionals: [2, 2],
  options: {
    history: { type: 'string', value: 'N', help: 'Show at most the latest N messages of the conversation' },
    ...CONNECTION_OPTIONS,
  },
  examples: ['get http://localhost:3000 5d4c6e1a-…', 'get http://localhost:3000 5d4c6e1a-… --json'],
  async run(args, terminal) {
    const historyLength = args.integer('history')
    const { client } = await connect(args, terminal, args.at(0))
    const task = await client.getTask(args.at(1), { ...(historyLength !== undefined && { historyLength }) })
    if (args.flag('json')) terminal.out.json(task, 2)
    else terminal.out.line(...taskLines(task))
    return EXIT.ok
  },
}
