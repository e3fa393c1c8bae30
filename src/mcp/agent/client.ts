/**
 * The official clients of MCP, by their shape: `Client` of `@modelcontextprotocol/client` and of `@modelcontextprotocol/sdk` 1.x.
 *
 * @module
 */
import { isRecord, type Unread } from '../../runtime/unread.js'

/** A connected client of MCP: `Client` of `@modelcontextprotocol/client` 2.x, or of `@modelcontextprotocol/sdk` 1.x. */
export interface McpClient {
  request(...parameters: never[]): Promise<unknown>
  callTool(...parameters: never[]): Promise<unknown>
  getServerCapabilities(): object | undefined
  close(): Promise<void>
  /** Absent where the connection is closed. */
  readonly transport?: object | undefined
  /** Clients 2.x have it. */
  getProtocolEra?(): string | undefined
  /** Answers requests of the server in the middle of a call, where no other handler is set. */
  fallbackRequestHandler?: ((...parameters: never[]) => Promise<object>) | undefined
}

/** Options of a request, which both clients have. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined
  readonly timeout: number
  readonly onprogress?: (progress: Unread) => void
}

export interface McpRequest {
  readonly method: string
  readonly params: Unread
  /** For a call: the tool, of whose input some servers want headers. */
  readonly tool?: Unread | undefined
}

/**
 * A schema that takes every result, for zod 3 and 4, and Standard Schema. The results are checked here, within limits: clients
 * that compile the schemas of a server, and evaluate its patterns, give it the time of this process.
 */
const ANY = {
  parse: (value: unknown) => value,
  safeParse: (data: unknown) => ({ success: true, data }),
  '~standard': { version: 1, vendor: 'a2a-tasks', validate: (value: unknown) => ({ value }) },
}

/** The parameters of both methods. Those of the official clients name types of zod. */
interface Callable {
  request(request: object, schema: object, options: object): Promise<unknown>
  callTool(params: object, options: object): Promise<unknown>
}

/** Sends a request. Its result is as the server has sent it. */
export async function send(
  client: McpClient,
  { method, params, tool }: McpRequest,
  options: RequestOptions,
): Promise<Unread> {
  const callable = client as unknown as Callable
  const given = { ...options, allowInputRequired: true }
  const result =
    tool !== undefined && client.getProtocolEra !== undefined
      ? await callable.callTool(params, { ...given, toolDefinition: tool })
      : await callable.request({ method, params }, ANY, given)
  if (!isRecord(result)) throw new Error(`The MCP server has answered "${method}" with no object`)
  return result
}

const CLOSED = -32_000
const TIMEOUTS: readonly unknown[] = [-32_001, 'REQUEST_TIMEOUT']

/** Whether the server has answered with an error of JSON-RPC. Other errors are of the way to it. */
export function isAnswered(
  error: unknown,
): error is Error & { readonly code: number; readonly data?: unknown } {
  return (
    error instanceof Error &&
    'code' in error &&
    Number.isInteger(error.code) &&
    Number(error.code) < 0 &&
    error.code !== CLOSED &&
    !isTimeout(error)
  )
}

/** Whether the client has given up to wait. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && 'code' in error && TIMEOUTS.includes(error.code)
}
