/**
 * `mcp`: an agent as a server of MCP for the program that starts this one, over standard input and output.
 *
 * @module
 */
import { createMcpHandler } from 'a2a-tasks/mcp'
import type { Command } from '../command.js'
import { connect } from '../connection/connect.js'
import { CONNECTION_OPTIONS } from '../connection/options.js'
import { EXIT } from '../exit-codes.js'
import { CommandFailure } from '../failure.js'
import { relayOf } from '../mcp/relay.js'
import { printableLine } from '../terminal/printable.js'

/** The most characters of a message, which is one line. */
const MAX_LINE = 16_777_216
/** The most characters of an error. */
const MAX_ERROR = 4_000
/** The most errors that are remembered as told. */
const MAX_TOLD = 100

export const command: Command = {
  name: 'mcp',
  usage: 'mcp URL',
  summary: 'Serve the skills of an agent as tools of MCP, on stdin and stdout',
  description: `For the configuration of an MCP host, such as an editor, which starts the command.
Long calls are tasks, questions go to the user of the host. Ends with its input.`,
  positionals: [1, 1],
  options: CONNECTION_OPTIONS,
  examples: ['mcp https://agent.example', 'mcp https://agent.example --profile work'],
  async run(args, terminal) {
    const { out, err } = terminal
    const { client } = await connect(args, terminal, args.at(0))
    const relay = relayOf({
      handler: createMcpHandler(client, {
        tellContext: true,
        onError: once((error) => err.line(`A request has failed: ${error}`)),
      }),
      write: (message) => out.json(message),
    })
    const open = new Set<Promise<void>>()
    for await (const line of linesOf(process.stdin)) {
      const taken = relay.take(line).finally(() => open.delete(taken))
      open.add(taken)
    }
    relay.close()
    await Promise.all(open)
    return EXIT.ok
  },
}

/** Tells each error once: an agent that is away fails every call. */
function once(tell: (error: string) => void): (error: unknown) => void {
  const told = new Set<string>()
  return (error) => {
    const text = printableLine(String(error), MAX_ERROR)
    if (told.has(text)) return
    if (told.size === MAX_TOLD) told.clear()
    told.add(text)
    tell(text)
  }
}

async function* linesOf(input: AsyncIterable<string | Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of input) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    if (rest.length > MAX_LINE) throw new CommandFailure('A message of MCP is too long', EXIT.usage)
    const lines = rest.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  yield rest
}
