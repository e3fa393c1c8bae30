/**
 * Answers to requests: results, errors, and streams of messages.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { JsonObject } from '../core/json-types.js'
import { recordOf } from '../runtime/unread.js'
import { toA2AError } from '../server/streams/frame-stream.js'
import type { Source } from '../server/streams/source.js'
import type { Frame } from '../server/streams/sse.js'
import { describeError, retryAfterSeconds } from '../wire/errors.js'
import { challengeFor } from './authorization.js'
import type { OpenChannel } from './channel.js'
import type { McpAgent, Settings } from './options.js'
import { TASKS, type Call } from './protocol.js'
import type { Reads } from './reads.js'
import { Refusal } from './refusal.js'
import type { RequestId } from './request-id.js'
import type { Tool } from './tools.js'

/** Who answers a request. */
export interface Scene {
  readonly agent: McpAgent
  /** Whether the agent is a request handler of this process. */
  readonly isLocal: boolean
  readonly tools: ReadonlyMap<string, Tool>
  readonly settings: Settings
  readonly openChannel: OpenChannel
  /** Reads a task, when there is room for it. */
  readonly read: Reads['read']
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal | undefined
  /** The ids of the tasks of calls of this process, by session and id of the call. A call without a task has none. */
  readonly running: Map<string, Promise<string | undefined>>
}

/** The result of a request, or the stream of messages that ends with it. `session`: that which the request has begun. */
export type Answered =
  { readonly result: JsonObject; readonly session?: string } | { readonly frames: Source<Frame> }

export type Method = (scene: Scene, call: Call) => Answered | Promise<Answered>

/** For requests of the extension for tasks by a client that does not declare it. */
export function missingTasks(): Refusal {
  const requiredCapabilities = { extensions: { [TASKS]: {} } }
  return new Refusal('capability', 'Missing required client capability', {
    status: 400,
    data: { requiredCapabilities },
  })
}

/** Failures on the way to the agent. */
const UNREACHABLE = ['EXTERNAL_SERVICE_ERROR', 'INVALID_AGENT_RESPONSE'] as const

/** The error that a client gets. Reports what it gets only as a fixed text. */
export function toRefusal(
  { agent, settings }: Pick<Scene, 'settings'> & { readonly agent?: McpAgent },
  thrown: unknown,
): Refusal {
  if (thrown instanceof Refusal) return thrown
  const error = toA2AError(thrown, 'MCP', settings.onError)
  const { message, code, http } = describeError(error)
  // All other errors that clients do not see have been reported.
  if (UNREACHABLE.some((each) => A2AError.is(thrown, each))) settings.onError(thrown)
  if (error.code === 'UNAUTHENTICATED') {
    const headers = agent === undefined ? {} : { 'www-authenticate': challengeFor(agent.card, settings.url) }
    return new Refusal('internal', message, { status: 401, headers })
  }
  if (error.code === 'PERMISSION_DENIED') return new Refusal('internal', message, { status: http })
  if (http === 429 || http === 503) {
    const headers = { 'retry-after': String(retryAfterSeconds(error)) }
    return new Refusal('internal', message, { status: http, headers })
  }
  return new Refusal(code === -32603 ? 'internal' : 'params', message)
}

/** Without sessions, each result says its kind and its server. */
export function resultMessage({ agent }: Scene, { id, isStateless }: Call, result: JsonObject): JsonObject {
  const { name, version } = agent.card
  const server = { 'io.modelcontextprotocol/serverInfo': { name, version } }
  const given = recordOf(result['_meta'])
  const complete = isStateless
    ? { resultType: 'complete', ...result, _meta: { ...given, ...server } as JsonObject }
    : result
  return { jsonrpc: '2.0', id, result: complete }
}

export function errorMessage(id: RequestId | undefined, { code, message, data }: Refusal): JsonObject {
  const error = { code, message, ...(data && { data }) }
  return { jsonrpc: '2.0', ...(id !== undefined && { id }), error }
}

/** The last message of a stream: the result, or the error. Does not reject. */
export async function lastMessage(
  scene: Scene,
  call: Call,
  outcome: Promise<JsonObject>,
): Promise<JsonObject> {
  try {
    return resultMessage(scene, call, await outcome)
  } catch (thrown) {
    return errorMessage(call.id, toRefusal(scene, thrown))
  }
}
