/**
 * Servers of MCP made with the official packages, over HTTP, and the official clients that are connected to them.
 *
 * @module
 */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import * as z from 'zod'
import type { McpClient } from 'a2a-tasks/mcp'
import { toNodeListener } from 'a2a-tasks/server/node'
import { loadFramework } from '../installed.js'

export type Json = Readonly<Record<string, unknown>>

/** What a tool can do, in both generations. */
interface Api {
  readonly progress: (params: Json) => Promise<void>
  /** The answer of the user; `undefined` where the call is over, and is repeated with the answer. */
  readonly elicit: (params: Json) => Promise<Json | undefined>
  readonly signal: AbortSignal
}

type Work = (input: Json, api: Api) => Promise<object> | object

interface Tool {
  readonly config: {
    readonly inputSchema: z.ZodObject
    readonly outputSchema?: z.ZodObject
    readonly title?: string
  }
  readonly work: Work
}

/** What is used of both generations of `McpServer`. */
interface McpServer {
  readonly server: { elicitInput(params: Json, options: Json): Promise<Json> }
  registerTool(name: string, config: object, work: (input: Json, context: Context) => unknown): void
  registerPrompt(name: string, config: object, work: (input: Json) => unknown): void
  registerResource(name: string, uri: string, config: object, read: () => unknown): void
  connect(transport: object): Promise<void>
  close(): Promise<void>
}

/** Of both generations. */
interface Context {
  readonly signal?: AbortSignal
  readonly requestId?: unknown
  readonly _meta?: Json
  readonly sendNotification?: (notification: object) => Promise<void>
  readonly mcpReq?: {
    readonly signal: AbortSignal
    readonly _meta?: Json
    readonly inputResponses?: Readonly<Record<string, Json>>
    readonly notify: (notification: object) => Promise<void>
  }
}

const city = z.object({ city: z.string() })
const text = (given: string): object => ({ content: [{ type: 'text', text: given }] })

/** The tools of the servers. Each counts its calls in `called`. */
function toolsOf(called: string[]): Readonly<Record<string, Tool>> {
  return {
    price: {
      config: { inputSchema: city, outputSchema: z.object({ price: z.number() }), title: 'Price of a trip' },
      work: () => ({ structuredContent: { price: 42 }, content: [{ type: 'text', text: '{"price":42}' }] }),
    },
    files: {
      config: { inputSchema: z.object({}) },
      work: () => ({
        content: [
          { type: 'text', text: 'See' },
          { type: 'image', data: 'aGk=', mimeType: 'image/png' },
          { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
          {
            type: 'resource',
            resource: { uri: 'files://a/x.pdf', blob: 'aGk=', mimeType: 'application/pdf' },
          },
          { type: 'resource', resource: { uri: 'files://a/x.md', text: '# Hi', mimeType: 'text/markdown' } },
          { type: 'resource_link', uri: 'https://files.example/x.csv', name: 'x.csv', mimeType: 'text/csv' },
        ],
      }),
    },
    fail: {
      config: { inputSchema: city },
      work: ({ city: given }) => ({ ...text(`No flights to ${String(given)}`), isError: true }),
    },
    count: {
      config: { inputSchema: z.object({}) },
      async work(_, { progress }) {
        await progress({ progress: 1, total: 2, message: 'One' })
        await progress({ progress: 2, total: 2 })
        return text('Counted')
      },
    },
    book: {
      config: { inputSchema: city },
      async work({ city: given }, { elicit }) {
        called.push('book begins')
        const properties = { seats: { type: 'integer', minimum: 1 } }
        const answer = await elicit({
          message: `How many seats to ${String(given)}?`,
          requestedSchema: { type: 'object', properties, required: ['seats'] },
        })
        if (answer === undefined) return {}
        called.push('book ends')
        return text(
          answer['action'] === 'accept' ? `Booked ${JSON.stringify(answer['content'])}` : 'Nothing is booked',
        )
      },
    },
    hold: {
      config: { inputSchema: z.object({}) },
      async work(_, { signal }) {
        called.push('hold begins')
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        called.push('hold is canceled')
        return text('')
      },
    },
  }
}

export interface Served {
  readonly url: URL
  /** What the tools have noted. */
  readonly called: string[]
  /** Ends all connections of this server. */
  readonly stop: () => Promise<void>
}

async function listen(called: string[], listener: RequestListener): Promise<Served> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const stop = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  onTestFinished(stop)
  const { port } = server.address() as AddressInfo
  return { url: new URL(`http://127.0.0.1:${port}/mcp`), called, stop }
}

const INFO = { name: 'travel', version: '1.0.0' }

/** A server of `@modelcontextprotocol/sdk` 1.x, with sessions. */
export async function serveV1(): Promise<Served> {
  const { McpServer } = await loadFramework<{ readonly McpServer: new (info: object) => McpServer }>(
    '@modelcontextprotocol/sdk/server/mcp.js',
  )
  interface Transport {
    readonly sessionId?: string
    handleRequest(req: IncomingMessage, res: ServerResponse): Promise<void>
  }
  const { StreamableHTTPServerTransport } = await loadFramework<{
    readonly StreamableHTTPServerTransport: new (options: object) => Transport
  }>('@modelcontextprotocol/sdk/server/streamableHttp.js')
  const called: string[] = []
  const sessions = new Map<unknown, Transport>()
  const begin = async (): Promise<Transport> => {
    const server = new McpServer(INFO)
    for (const [name, { config, work }] of Object.entries(toolsOf(called))) {
      server.registerTool(
        name,
        { ...config, inputSchema: config.inputSchema.shape, outputSchema: config.outputSchema?.shape },
        (input, context) => {
          const { requestId: relatedRequestId, signal, _meta, sendNotification } = context
          if (signal === undefined) throw new Error('The context has no signal')
          return work(input, {
            signal,
            progress: async (params) => {
              const progressToken = _meta?.['progressToken']
              await sendNotification?.({
                method: 'notifications/progress',
                params: { progressToken, ...params },
              })
            },
            elicit: (params) => server.server.elicitInput(params, { relatedRequestId }),
          })
        },
      )
    }
    addOthers(server)
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id: string) => sessions.set(id, transport),
    })
    await server.connect(transport)
    return transport
  }
  return await listen(called, (req, res) => {
    const known = sessions.get(req.headers['mcp-session-id'])
    void (async () => await (known ?? (await begin())).handleRequest(req, res))()
  })
}

/** A server of `@modelcontextprotocol/server` 2.x, without sessions. */
export async function serveV2(): Promise<Served> {
  interface InputRequired {
    (spec: object): object
    elicit(params: object): object
  }
  const { McpServer, createMcpHandler, inputRequired } = await loadFramework<{
    readonly McpServer: new (info: object) => McpServer
    readonly createMcpHandler: (factory: () => McpServer) => {
      fetch: (request: Request) => Promise<Response>
    }
    readonly inputRequired: InputRequired
  }>('@modelcontextprotocol/server')
  const called: string[] = []
  const handler = createMcpHandler(() => {
    const server = new McpServer(INFO)
    for (const [name, { config, work }] of Object.entries(toolsOf(called))) {
      server.registerTool(name, config, async (input, { mcpReq }) => {
        if (mcpReq === undefined) throw new Error('The context has no request')
        const { signal, inputResponses, _meta, notify } = mcpReq
        let asked: object | undefined
        const result = await work(input, {
          signal,
          progress: async (params) => {
            const progressToken = _meta?.['progressToken']
            await notify({ method: 'notifications/progress', params: { progressToken, ...params } })
          },
          elicit: (params) => {
            const answer = inputResponses?.['seats']
            if (answer === undefined)
              asked = inputRequired({
                inputRequests: { seats: inputRequired.elicit(params) },
                requestState: 's1',
              })
            return Promise.resolve(answer)
          },
        })
        return asked ?? result
      })
    }
    addOthers(server)
    return server
  })
  return await listen(
    called,
    toNodeListener((request: Request) => handler.fetch(request)),
  )
}

function addOthers(server: McpServer): void {
  server.registerPrompt(
    'plan',
    { description: 'Plans a trip', argsSchema: { city: z.string() } },
    ({ city: given }) => ({
      messages: [{ role: 'user', content: { type: 'text', text: `Plan a trip to ${String(given)}` } }],
    }),
  )
  server.registerResource(
    'terms',
    'travel://terms',
    { description: 'The terms', mimeType: 'text/plain' },
    () => ({
      contents: [{ uri: 'travel://terms', text: 'No refunds', mimeType: 'text/plain' }],
    }),
  )
}

interface Connectable extends McpClient {
  connect(transport: object): Promise<void>
}

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {} }

/** A client of the SDK 1.x. */
export async function clientV1({ url }: Pick<Served, 'url'>): Promise<McpClient> {
  const { Client } = await loadFramework<{
    readonly Client: new (info: object, options: object) => Connectable
  }>('@modelcontextprotocol/sdk/client/index.js')
  const { StreamableHTTPClientTransport } = await loadFramework<{
    readonly StreamableHTTPClientTransport: new (url: URL) => object
  }>('@modelcontextprotocol/sdk/client/streamableHttp.js')
  const client = new Client(INFO, { capabilities: CAPABILITIES })
  return await connected(client, new StreamableHTTPClientTransport(url))
}

/** A client 2.x, of the latest generation that the server has. */
export async function clientV2({ url }: Pick<Served, 'url'>): Promise<McpClient> {
  const { Client, StreamableHTTPClientTransport } = await loadFramework<{
    readonly Client: new (info: object, options: object) => Connectable
    readonly StreamableHTTPClientTransport: new (url: URL) => object
  }>('@modelcontextprotocol/client')
  const client = new Client(INFO, { capabilities: CAPABILITIES, versionNegotiation: { mode: 'auto' } })
  return await connected(client, new StreamableHTTPClientTransport(url))
}

async function connected(client: Connectable, transport: object): Promise<McpClient> {
  await client.connect(transport)
  onTestFinished(() => client.close())
  return client
}
