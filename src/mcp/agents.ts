/**
 * The agent behind a request of MCP.
 *
 * @module
 */
import { AgentCard } from '../agent-card/agent-card.js'
import { A2AClient } from '../client/a2a-client.js'
import { observed } from '../runtime/abort.js'
import { quote } from '../runtime/describe.js'
import { hasMethods } from '../runtime/options.js'
import { EXCHANGE, type Exchange } from '../http/request.js'
import { DIRECT, type HttpAnswer, type HttpRequest, type Respond } from '../server/binding/exchange.js'
import type { IncomingBody } from '../server/binding/incoming-body.js'
import { LargeText } from '../server/binding/large-texts.js'
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
  const { [DIRECT]: respond } = handler.fetch as { readonly [DIRECT]?: Respond }
  // Read once for the clients of all requests.
  const card = new AgentCard(handler.card)
  return (request) => {
    const { principal } = request
    const own = [...request.toFetch().headers].filter(
      ([name]) => !OWN_HEADERS.includes(name) && !name.startsWith('a2a-'),
    )
    const withOwn = (headers: Headers): Headers => {
      for (const [name, value] of own) if (!headers.has(name)) headers.set(name, value)
      return headers
    }
    const byFetch = async (url: string, init: RequestInit): Promise<Response> => {
      const inner = new Request(url, { ...init, headers: withOwn(new Headers(init.headers)) })
      // The type of the principal is that of the handler, which checks it.
      return principal === undefined
        ? await handler.fetch(inner)
        : await handler.fetch(inner, { principal: (await principal()) as never })
    }
    const exchange: Exchange | undefined =
      respond &&
      (async ({ method, url, body }, given, signal) => {
        const headers = withOwn(given)
        const toFetch = (): Request => new Request(url, { method, headers, body: body ?? null })
        const header = (name: string): string | null => headers.get(name)
        const read = (incoming: IncomingBody): Promise<Uint8Array> =>
          Promise.resolve(readText(body, incoming))
        const answer = await respond({ principal, method, url, header, read, toFetch, signal })
        const { status } = answer
        return { status, statusText: '', headers: new Headers(answer.headers), text: textOf(answer), url }
      })
    const fetch = Object.assign(byFetch, exchange && { [EXCHANGE]: exchange })
    // What the agent refuses now, the client of MCP may ask for again.
    return Promise.resolve(new A2AClient({ card, fetch, retry: { attempts: 1 } }))
  }
}

/** A text as a body that arrives at once. */
function readText(text: string | undefined, incoming: IncomingBody): Uint8Array {
  const bytes = new TextEncoder().encode(text)
  incoming.declare(String(bytes.byteLength))
  incoming.add(bytes)
  return incoming.bytes()
}

/** The text of an answer that is no stream. */
function textOf({ body }: HttpAnswer): string {
  if (typeof body === 'string') return body
  if (!(body instanceof LargeText)) return ''
  const decoder = new TextDecoder()
  let text = ''
  for (let piece = body.next(); piece !== undefined; piece = body.next())
    text += typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true })
  return text
}
