/**
 * Servers of MCP that misbehave, as no official package does, behind the shape of a client.
 *
 * @module
 */
import { onTestFinished } from 'vitest'
import { A2AClient } from 'a2a-tasks/client'
import { mcpAgent, type McpAgentOptions, type McpClient } from 'a2a-tasks/mcp'
import { createRequestHandler, type RequestHandlerOptions } from 'a2a-tasks/server'

export type Json = Readonly<Record<string, unknown>>

/** A call of the server. */
export interface ServerCall {
  readonly params: Json
  readonly signal: AbortSignal
  readonly progress: (progress: Json) => void
  /** Sends a request to the client, as a session does. */
  readonly ask: (method: string, params: Json, signal?: AbortSignal) => Promise<Json>
}

export interface FakeServer {
  /** One page of a list. */
  readonly list?: (params: Json, method: string) => Json
  readonly call?: (call: ServerCall) => Promise<Json> | Json
  readonly capabilities?: object
}

/** A tool without input. */
export const TOOL = { name: 'go', description: 'Goes', inputSchema: { type: 'object' } }

interface Options {
  readonly signal?: AbortSignal
  readonly onprogress?: (progress: Json) => void
}

/** A client of the shape of both official ones. */
export function clientOf({
  list = () => ({ tools: [TOOL] }),
  call = () => ({ content: [{ type: 'text', text: 'Gone' }] }),
  capabilities = { tools: {} },
}: FakeServer): McpClient & { readonly requests: Json[] } {
  const requests: Json[] = []
  const client: McpClient & { readonly requests: Json[] } = {
    requests,
    async request(request: { method: string; params: Json }, _: unknown, options: Options) {
      requests.push(request)
      if (request.method.endsWith('/list')) return list(request.params, request.method)
      const stopped = new Promise<never>((_, reject) => {
        options.signal?.addEventListener('abort', () => reject(new Error('The request was aborted')))
      })
      const ask: ServerCall['ask'] = async (method, params, signal) => {
        const handler = client.fallbackRequestHandler as unknown as (...given: unknown[]) => Promise<Json>
        return await handler(
          { jsonrpc: '2.0', id: 1, method, params },
          { signal: signal ?? new AbortController().signal },
        )
      }
      const signal = options.signal ?? new AbortController().signal
      const progress = options.onprogress ?? (() => undefined)
      return await Promise.race([stopped, call({ params: request.params, signal, progress, ask })])
    },
    callTool: () => Promise.reject(new Error('Only clients 2.x are called by callTool')),
    getServerCapabilities: () => capabilities,
    close: () => Promise.resolve(),
    transport: {},
  }
  return client
}

type Handler = Partial<Omit<RequestHandlerOptions, 'card' | 'execute' | 'output' | 'tasks'>>

/** An agent of this server, and a client of the agent. */
export async function agentOf(
  client: McpClient | (() => McpClient | Promise<McpClient>),
  options: Partial<McpAgentOptions> = {},
  handler: Handler = {},
) {
  const parts = await mcpAgent(client, { card: { name: 'Agent', url: 'https://agent.test' }, ...options })
  const agent = createRequestHandler({ anonymous: 'shared', ...handler, ...parts })
  onTestFinished(() => agent.close({ graceMs: 0 }))
  return {
    card: agent.card,
    tasks: agent.tasks,
    client: new A2AClient({ card: agent.card, fetch: (url, init) => agent.fetch(new Request(url, init)) }),
  }
}
