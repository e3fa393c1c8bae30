/**
 * An agent as a server of MCP for clients that mean no good. It prints its port, and answers GET with the memory that it takes. Users are named by their credentials.
 *
 * @module
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { createRequestHandler, textOf, type Run } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import * as z from 'zod'

/** Each level refers twice to the next one: 2^40 fields. */
const BOMB = {
  $ref: '#/$defs/level0',
  $defs: Object.fromEntries(
    Array.from({ length: 40 }, (_, level) => [
      `level${level}`,
      {
        type: 'object',
        properties: { a: { $ref: `#/$defs/level${level + 1}` }, b: { $ref: `#/$defs/level${level + 1}` } },
      },
    ]),
  ),
}
const LOOP = { $ref: '#/$defs/loop', $defs: { loop: { anyOf: Array(8).fill({ $ref: '#/$defs/loop' }) } } }
const PATTERN = { type: 'string', pattern: '^(a+)+$' }

async function execute(run: Run): Promise<unknown> {
  switch (run.text) {
    case 'ask':
      return textOf(await run.requireInput('Which city?'))
    case 'bomb':
      return await run.requireInput('Which?', { schema: z.unknown(), jsonSchema: BOMB })
    case 'pattern':
      return await run.requireInput('Which?', { schema: z.unknown(), jsonSchema: PATTERN })
    case 'large':
      return 'x'.repeat(4_000_000)
    case 'talk':
      while (!run.signal.aborted) {
        run.update('x'.repeat(4_000))
        await new Promise((resolve) => setTimeout(resolve, 20))
      }
      return undefined
    default:
      return 'Done'
  }
}

const tags = ['test']
const handler = createRequestHandler({
  card: {
    ...{ name: 'Agent', url: 'http://127.0.0.1' },
    skills: [
      { id: 'say', name: 'Say', description: 'Takes a message', tags },
      { id: 'typed', name: 'Typed', description: 'Takes arguments', tags },
    ],
  },
  authenticate: (request) => ({ id: request.headers.get('authorization') ?? 'somebody' }),
  execute: async (run) => JSON.stringify(await execute(run)),
})
const properties = { bomb: BOMB, loop: LOOP, pattern: PATTERN }
const $defs = { ...BOMB.$defs, ...LOOP.$defs }
const mcp = createMcpHandler(handler, {
  // No call is a task because the machine is busy.
  waitMs: 60_000,
  tools: { typed: { inputSchema: { type: 'object', properties, $defs } } },
})
const serve = (request: Request): Response | Promise<Response> =>
  request.method === 'GET' ? Response.json(process.memoryUsage.rss()) : mcp(request)
const server = createServer(toNodeListener(serve)).listen(0, '127.0.0.1', () => {
  // It listens to a port.
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`)
})
// A busy client would write to a connection just as it is closed.
server.keepAliveTimeout = 0
