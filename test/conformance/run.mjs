/**
 * `node run.mjs URL [--json] [--known FILE] [--interface NAME]… [--header "Name: value"]… [--same-origin] [--webhook URL]`:
 * reads the card of the agent at URL and checks each interface that the card offers. Prints a line for each check that
 * failed, with what was sent, what was expected, what came, and the section of the specification. The exit code is 0 if
 * the agent does all that it must, 1 if not, and 2 if it could not be checked.
 *
 * The agent has to do what a message says, by its first word:
 *
 * - `echo`: completes the task with one artifact that has the text of the message,
 * - `stream`: completes the task with one artifact, sent in two chunks or more,
 * - `wait`: works until the task is canceled,
 * - `ask`: asks the user, and completes the task with an artifact that has the text of the next message,
 * - `fail`: fails the task,
 * - `reply`: answers with a message and no task.
 */

import { parseArgs } from 'node:util'
import { isGood, linesOf } from './report.mjs'
import { checkAgent, readKnown } from './suite.mjs'

const USAGE =
  'usage: node run.mjs URL [--json] [--known FILE] [--interface NAME] [--header "Name: value"] [--same-origin] [--webhook URL]'

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: 'boolean', default: false },
      known: { type: 'string' },
      interface: { type: 'string', multiple: true },
      header: { type: 'string', multiple: true, default: [] },
      'same-origin': { type: 'boolean', default: false },
      webhook: { type: 'string' },
    },
  })
  const [url] = positionals
  if (positionals.length !== 1 || !URL.canParse(url)) throw new TypeError(USAGE)
  const report = await checkAgent(url, {
    headers: Object.fromEntries(values.header.map(toHeader)),
    ...(values['same-origin'] && { origin: new URL(url).origin }),
    ...(values.webhook !== undefined && { webhook: values.webhook }),
    ...(values.interface !== undefined && { only: values.interface }),
    ...(values.known !== undefined && { known: readKnown(values.known) }),
  })
  console.log(values.json ? JSON.stringify(report, null, 2) : linesOf(report).join('\n'))
  process.exitCode = isGood(report) ? 0 : 1
} catch (error) {
  console.error(error.message)
  process.exitCode = 2
}

function toHeader(text) {
  const [, name, value] = /^([^:]+):\s*(.*)$/.exec(text) ?? []
  if (name === undefined) throw new TypeError(`--header must be "Name: value", got ${JSON.stringify(text)}`)
  return [name, value]
}
