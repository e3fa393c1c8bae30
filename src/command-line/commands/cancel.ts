/**
 * `cancel`: the end of a task.
 *
 * @module
 */
import type { Command } from '../command.js'
import { connect } from '../connection/connect.js'
import { CONNECTION_OPTIONS } from '../connection/options.js'
import { EXIT } from '../exit-codes.js'
import { idText, stateText } from '../render/task.js'

export const command: Command = {
  name: 'cancel',
  usage: 'cancel URL TASK',
  summary: 'Cancel a task',
  positionals: [2, 2],
  options: CONNECTION_OPTIONS,
  examples: ['cancel http://localhost:3000 5d4c6e1a-…'],
  async run(args, terminal) {
    const { client } = await connect(args, terminal, args.at(0))
    const task = await client.cancelTask(args.at(1))
    if (args.flag('json')) terminal.out.json(task, 2)
    else terminal.out.line(`${idText(task.id)}  ${stateText(task.state)}`)
    return EXIT.ok
  },
}
