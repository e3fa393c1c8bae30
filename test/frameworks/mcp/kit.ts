/**
 * The official clients of MCP, connected to an agent over HTTP.
 *
 * @module
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { TaskManager } from 'a2a-tasks'
import { createMcpHandler, type McpOptions } from 'a2a-tasks/mcp'
import { createRequestHandler, type Execute, type RequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { loadFramework } from '../installed.js'

export interface Json {
  readonly [field: string]: unknown
}

export interface Elicit {
  readonly mode?: string
  readonly message: string
  readonly url?: string
  readonly requestedSchema?: { readonly properties: Json }
}

export type Ask = (params: Elicit) => object | Promise<object>

interface CallOptions {
  readonly onprogress?: (progress: Json) => void
  readonly signal?: AbortSignal
}

/** What is used of both generations of `Client`. */
interface Client {
  connect(transport: object): Promise<void>
  close(): Promise<void>
  listTools(): Promise<{ readonly tools: readonly Json[] }>
  getServerVersion(): unknown
  getServerCapabilities(): unknown
  getInstructions(): unknown
  readonly callTool: (...parameters: readonly unknown[]) => Promise<Json>
  readonly setRequestHandler: (method: unknown, handler: (request: { params: Elicit }) => unknown) => void
}

/** What is used of the client of the SDK 1.x beside it. */
export interface ClientV1 extends Client {
  readonly experimental: {
    readonly tasks: {
      callToolStream(params: object, schema?: undefined, options?: object): AsyncIterable<Json>
      getTask(taskId: string): Promise<Json>
      listTasks(cursor?: string): Promise<{ readonly tasks: readonly Json[] }>
      cancelTask(taskId: string): Promise<Json>
    }
  }
}

export interface ClientV2 extends Client {
  getProtocolEra(): unknown
}

/** What is used of a transport. */
type Transport = new (url: URL) => { readonly sessionId?: string }

export interface Host {
  readonly client: Client
  readonly call: (message: string, options?: CallOptions) => Promise<Json>
}

/** Where a server is. */
export interface Address {
  readonly url: URL
}

export interface Served extends Address {
  readonly handler: RequestHandler
  readonly tasks: TaskManager
  /** Breaks all connections. */
  readonly disconnect: () => void
}

/** An agent that does this, as a server of MCP. */
export async function serve(
  execute: Execute,
  options: McpOptions = {},
  skills: readonly string[] = [],
): Promise<Served> {
  const handler = createRequestHandler({
    card: {
      ...{ name: 'Agent', description: 'Does it', url: 'https://agent.test' },
      ...(skills.length > 0 && {
        skills: skills.map((id) => ({ id, name: id, description: id, tags: [id] })),
      }),
    },
    anonymous: 'shared',
    execute,
  })
  const mcp = createMcpHandler(handler, { waitMs: 50, pollIntervalMs: 20, ...options })
  const server = createServer(toNodeListener(mcp))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    await handler.close({ graceMs: 0 })
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const disconnect = (): void => server.closeAllConnections()
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), handler, tasks: handler.tasks, disconnect }
}

/** A host with the client of the SDK 1.x. */
export async function hostV1({ url }: Address, ask?: Ask): Promise<Host> {
  const { Client } = await loadFramework<{
    readonly Client: new (info: object, options: object) => Client
  }>('@modelcontextprotocol/sdk/client/index.js')
  const { StreamableHTTPClientTransport } = await loadFramework<{
    readonly StreamableHTTPClientTransport: Transport
  }>('@modelcontextprotocol/sdk/client/streamableHttp.js')
  const { ElicitRequestSchema } = await loadFramework<Json>('@modelcontextprotocol/sdk/types.js')
  const client = new Client({ name: 'host', version: '1.0.0' }, { capabilities: capabilitiesOf(ask) })
  if (ask !== undefined) client.setRequestHandler(ElicitRequestSchema, ({ params }) => ask(params))
  await connect(client, new StreamableHTTPClientTransport(url))
  return {
    client,
    call: (message, options) =>
      client.callTool({ name: 'default', arguments: { message } }, undefined, options),
  }
}

/** A host with the client 2.x: of the latest generation, or `legacy` with a session. */
export async function hostV2(
  { url }: Address,
  ask?: Ask,
  mode: 'auto' | 'legacy' = 'auto',
): Promise<Host & { readonly client: ClientV2 }> {
  const { Client, StreamableHTTPClientTransport } = await loadFramework<{
    readonly Client: new (info: object, options: object) => ClientV2
    readonly StreamableHTTPClientTransport: Transport
  }>('@modelcontextprotocol/client')
  const client = new Client(
    { name: 'host', version: '1.0.0' },
    { capabilities: capabilitiesOf(ask), versionNegotiation: { mode } },
  )
  if (ask !== undefined) client.setRequestHandler('elicitation/create', ({ params }) => ask(params))
  await connect(client, new StreamableHTTPClientTransport(url))
  return {
    client,
    call: (message, options) => client.callTool({ name: 'default', arguments: { message } }, options),
  }
}

async function connect(client: Client, transport: object): Promise<void> {
  await client.connect(transport)
  onTestFinished(() => client.close())
}

function capabilitiesOf(ask: Ask | undefined): object {
  return ask === undefined ? {} : { elicitation: { form: {}, url: {} } }
}

/** What is used of a session of `@modelcontextprotocol/ext-tasks`. */
export interface TaskSession {
  callTool(name: string, input: object, options?: object): Promise<Execution>
  /** Goes on with a task of another session. */
  resumeTask(reference: unknown): Promise<Execution>
  close(): Promise<void>
}

interface Execution {
  readonly handle?: { readonly taskId: string }
  serializeReference(): unknown
  settle(options?: object): Promise<{ readonly outcome: unknown; readonly lastTask?: Json }>
  cancel(): Promise<void>
}

/** A session of the official client for tasks. It sends its requests by `fetch`, as its documentation has it for 2026-07-28. */
export async function taskSession(
  served: Address,
  ask?: Ask,
): Promise<TaskSession & { resultOf: (outcome: unknown) => Json }> {
  const { createTaskSessionFromClient, resultFromTaskOutcome } = await loadFramework<{
    readonly createTaskSessionFromClient: (client: Client, options: object) => TaskSession
    readonly resultFromTaskOutcome: (outcome: unknown) => Json
  }>('@modelcontextprotocol/ext-tasks/client')
  const { client } = await hostV2(served, ask)
  const protocolVersion = '2026-07-28'
  let count = 0
  const rawDispatch = async (request: {
    readonly method: string
    readonly params: Json
  }): Promise<object> => {
    const { method, params } = request
    const response = await fetch(served.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': protocolVersion,
        'mcp-method': method,
        'mcp-name': String(params['name'] ?? params['taskId']),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: (count += 1), method, params }),
    })
    const { result, error } = (await response.json()) as { result?: Json; error?: Json }
    return error === undefined ? { kind: 'result', result } : { kind: 'error', error }
  }
  const session = createTaskSessionFromClient(client, {
    endpointId: 'agent',
    rawDispatch,
    v2RequestFraming: {
      protocolVersion,
      clientInfo: { name: 'host', version: '1.0.0' },
      clientCapabilities: { ...capabilitiesOf(ask), extensions: { 'io.modelcontextprotocol/tasks': {} } },
    },
    ...(ask && { onInputRequest: ({ params }: { readonly params: Elicit }) => ask(params) }),
  })
  onTestFinished(() => session.close())
  return {
    callTool: (name, input) => session.callTool(name, input),
    resumeTask: (reference) => session.resumeTask(reference),
    close: () => session.close(),
    resultOf: resultFromTaskOutcome,
  }
}

/** A session of the official client for tasks, with a server of 2025-11-25. */
export async function sessionTasks(
  served: Served,
  ask: Ask,
): Promise<TaskSession & { resultOf: (outcome: unknown) => Json }> {
  const { createTaskSessionFromClient, resultFromTaskOutcome } = await loadFramework<{
    readonly createTaskSessionFromClient: (client: Client, options: object) => TaskSession
    readonly resultFromTaskOutcome: (outcome: unknown) => Json
  }>('@modelcontextprotocol/ext-tasks/client')
  const { client } = await hostV2(served, ask, 'legacy')
  const session = createTaskSessionFromClient(client, {
    endpointId: 'agent',
    onInputRequest: ({ params }: { readonly params: Elicit }) => ask(params),
  })
  onTestFinished(() => session.close())
  return {
    callTool: (name, input) => session.callTool(name, input, { task: { preference: 'require' } }),
    resumeTask: (reference) => session.resumeTask(reference),
    close: () => session.close(),
    resultOf: resultFromTaskOutcome,
  }
}

/** The texts of a result. */
export function textOf({ content }: Json): string {
  return (content as readonly { readonly text?: string }[]).map(({ text = '' }) => text).join()
}
