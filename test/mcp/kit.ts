/**
 * Requests of MCP to an agent in memory, without MCP's packages.
 *
 * @module
 */
import type { AgentCardInput } from 'a2a-tasks/agent-card'
import { createMcpHandler, type McpOptions } from 'a2a-tasks/mcp'
import { createRequestHandler, type Execute, type RequestHandlerOptions } from 'a2a-tasks/server'

export const URL = 'https://agent.test/mcp'
export const TASKS = 'io.modelcontextprotocol/tasks'
const META = 'io.modelcontextprotocol/'

/** JSON as it comes. */
export interface Json {
  readonly [field: string]: unknown
}

interface SceneOptions extends McpOptions {
  readonly card?: Partial<AgentCardInput>
  readonly handler?: Partial<Omit<RequestHandlerOptions, 'card' | 'execute' | 'output' | 'tasks'>>
}

/** What a client without sessions declares. */
export interface Declared {
  readonly tasks?: boolean
  readonly elicitation?: object
  readonly progressToken?: string
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  /** One message, or those of a stream. */
  readonly messages: readonly Json[]
  /** The last message. */
  readonly last: Json
  /** The result in the last message. */
  readonly result: Json
}

/** An agent that does this, as a server of MCP. */
export function sceneOf(execute: Execute, { card, handler: given, ...options }: SceneOptions = {}) {
  const handler = createRequestHandler({
    anonymous: 'shared',
    ...given,
    card: { name: 'Agent', description: 'Does it', url: 'https://agent.test', ...card },
    execute,
  })
  const mcp = createMcpHandler(handler, options)
  const send = async (request: Request): Promise<Reply> => replyOf(await mcp(request))
  let count = 0
  /** A request of the generation without sessions. */
  const ask = (method: string, params: object = {}, declared: Declared = {}): Promise<Reply> =>
    send(statelessRequest((count += 1), method, params, declared))
  /** A request of the generation with sessions. */
  const inSession = (method: string, params: object = {}, headers: object = {}): Promise<Reply> =>
    send(requestOf({ jsonrpc: '2.0', id: (count += 1), method, params }, headers))
  const say = (message: string, declared?: Declared): Promise<Reply> =>
    ask('tools/call', { name: 'default', arguments: { message } }, declared)
  return { handler, tasks: handler.tasks, mcp, send, ask, say, inSession }
}

export function requestOf(body: unknown, headers: object = {}, init: RequestInit = {}): Request {
  return new Request(URL, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...init,
  })
}

export function statelessRequest(
  id: unknown,
  method: string,
  params: object,
  { tasks = false, elicitation, progressToken }: Declared = {},
  init: RequestInit = {},
): Request {
  const _meta = {
    [`${META}protocolVersion`]: '2026-07-28',
    [`${META}clientCapabilities`]: {
      ...(elicitation && { elicitation }),
      ...(tasks && { extensions: { [TASKS]: {} } }),
    },
    ...(progressToken !== undefined && { progressToken }),
  }
  const { name, taskId = name }: { name?: unknown; taskId?: unknown } = params
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof taskId === 'string' && { 'mcp-name': taskId }),
  }
  return requestOf({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }, headers, init)
}

async function replyOf(response: Response): Promise<Reply> {
  const { status, headers } = response
  const text = await response.text()
  const messages = headers.get('content-type')?.startsWith('text/event-stream')
    ? messagesIn(text)
    : text === ''
      ? []
      : [JSON.parse(text) as Json]
  const last = messages.at(-1) ?? {}
  return { status, headers, messages, last, result: (last['result'] ?? {}) as Json }
}

export function messagesIn(text: string): Json[] {
  // An event without data tells only its id.
  return [...text.matchAll(/^data: (.+)$/gm)].map(([, data = '']) => JSON.parse(data) as Json)
}

/** The text of a result. */
export function textIn(result: Json): string {
  const content = result['content'] as readonly { readonly text?: string }[]
  return content.map(({ text = '' }) => text).join()
}
