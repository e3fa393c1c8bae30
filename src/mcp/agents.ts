/**
 * The agent behind a request of MCP.
 *
 * @module
 */
import { A2AClient } from '../client/a2a-client.js'
import { observed } from '../runtime/abort.js'
import { quote } from '../runtime/describe.js'
import { hasMethods } from '../runtime/options.js'
import type { HttpRequest } from '../server/binding/exchange.js'
import type { McpAgent, McpSource, ServedAgent } from './options.js'

type AgentFor = (request: HttpRequest) => Promise<McpAgent | Response>

/** @throws {TypeError} for what is no agent. */
export function toAgentFor(source: McpSource): AgentFor {
  if (typeof source === 'function') return async (request) => await source(request.toFetch())
  if (hasMethods(source, 'then')) {
    // The connection may fail before the first request.
    const connecting = observed(Promise.resolve(source))
    return () => connecting
  }
  if (hasMethods(source, 'run', 'resume', 'getTask')) return () => Promise.resolve(source as McpAgent)
  if (hasMethods(source, 'fetch') && 'card' in source) return served(source as ServedAgent)
  throw new TypeError(
    `"agent" must be a request handler, an A2AClient, a promise of one, or a function, got ${quote(source)}`,
  )
}

/** What belongs to the request of MCP, and to its connection. */
const OWN_HEADERS = [
  ...[
    'accept',
    'accept-encoding',
    'connection',
    'content-encoding',
    'content-length',
    'content-type',
    'host',
  ],
  ...['keep-alive', 'last-event-id', 'mcp-method', 'mcp-name', 'mcp-protocol-version', 'mcp-session-id'],
  ...['origin', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'idempotency-key'],
]

/** A client of a handler in this process. It has the headers and the principal of its request. */
function served(handler: ServedAgent): AgentFor {
  return (request) => {
    const { headers } = request.toFetch()
    const context = request.principal
    const fetch = async (url: string, init?: RequestInit): Promise<Response> => {
      const inner = new Request(url, init)
      for (const [name, value] of headers)
        if (!OWN_HEADERS.includes(name) && !name.startsWith('a2a-') && !inner.headers.has(name))
          inner.headers.set(name, value)
      // The type of the principal is that of the handler, which checks it.
      return context === undefined
        ? await handler.fetch(inner)
        : await handler.fetch(inner, { principal: (await context()) as never })
    }
    // What the agent refuses now, the client of MCP may ask for again.
    return Promise.resolve(new A2AClient({ card: handler.card, fetch, retry: { attempts: 1 } }))
  }
}
