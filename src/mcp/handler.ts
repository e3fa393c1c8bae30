/**
 * An agent as a server of MCP, over Streamable HTTP.
 *
 * @module
 */
import type { JsonObject } from '../core/json-types.js'
import { quote } from '../runtime/describe.js'
import { hasMethods } from '../runtime/options.js'
import { isRecord } from '../runtime/unread.js'
import { parseUrl } from '../runtime/url.js'
import type { AgentCard } from '../schemas/agent-card.js'
import { BodyReader, bodyStatusOf } from '../server/binding/body.js'
import { DIRECT, type HttpAnswer, type HttpRequest } from '../server/binding/exchange.js'
import { toFetch, type HandlerFetch } from '../server/binding/fetch.js'
import { defaultPendingBytes, PendingOutput, STALLED_TIMEOUT_MS } from '../server/binding/pending-output.js'
import { requireSafeJson } from '../server/binding/safe-json.js'
import type { Principal } from '../server/caller.js'
import { bodyLimits } from '../server/limits.js'
import { toA2AError } from '../server/streams/frame-stream.js'
import type { Source } from '../server/streams/source.js'
import { formatFrame, HEARTBEAT_MS, SSE_HEADERS, SseHeartbeat, type Frame } from '../server/streams/sse.js'
import { unavailable } from '../server/unavailable.js'
import { describeError, retryAfterSeconds } from '../wire/errors.js'
import { toAgentFor } from './agents.js'
import { errorMessage, resultMessage, toRefusal, type Scene } from './answers.js'
import { cancelCall } from './calls.js'
import { asksForMetadata, metadataOf } from './authorization.js'
import { channels } from './channel.js'
import { answer } from './methods.js'
import { toSettings, type McpOptions, type McpSource, type Settings } from './options.js'
import { idIn, readIncoming, resumedCall, type Call, type Incoming } from './protocol.js'
import { defaultReads, toReads } from './reads.js'
import { Refusal } from './refusal.js'
import { takeResponse } from './remote-tasks.js'
import { toolsOf, type Tool } from './tools.js'

const MAX_DEPTH = 100

/**
 * A server of MCP, whose tools are the skills of an agent of A2A, as a function from `Request` to `Response`.
 *
 * It speaks 2026-07-28, and 2025-11-25 and before with `initialize`, over Streamable HTTP. It keeps no sessions: every process
 * answers every request, and a call whose agent has a durable manager survives the process.
 *
 * - A call that ends within `waitMs` is answered at once. A longer one becomes a task for clients that declare the extension
 *   `io.modelcontextprotocol/tasks`, with the id of its task of A2A. Others get a stream with the agent's progress.
 * - Questions and approvals are requests for the client's user (elicitation), by a form, and `run.authorize` by an address. A
 *   client that can do neither gets the question as the result, and its model answers by a second call with the `taskId`.
 * - A client of 2026-07-28 that closes the request cancels the task, as the specification has it. Others send
 *   `notifications/cancelled`; a connection that breaks leaves their tasks alone.
 * - A task that failed is a result with `isError`. Tasks of other owners are unknown.
 *
 * @throws {TypeError | RangeError} for an invalid option, and for an agent that is none.
 * @example
 * const handler = createRequestHandler({ card: { name: 'Echo', url: 'http://localhost:3000' }, execute: (run) => run.text })
 * createServer(toNodeListener(createMcpHandler(handler))).listen(4000)
 */
export function createMcpHandler<P extends Principal = Principal>(
  agent: McpSource,
  options: McpOptions = {},
): HandlerFetch<P> {
  const settings = toSettings(options)
  const agentFor = toAgentFor(agent)
  const toolsFor = toolsByCard(settings.tools)
  // Checks the options.
  if (isRecord(agent) && 'card' in agent) toolsFor(agent.card)
  const { clock, maxBodyBytes, maxCalls, origins, url } = settings
  const bodies = new BodyReader(bodyLimits(maxBodyBytes), clock)
  const heartbeat = new SseHeartbeat(clock, HEARTBEAT_MS)
  const maxPendingBytes = defaultPendingBytes()
  const reads = toReads(defaultReads(), maxPendingBytes)
  const openChannel = channels(maxPendingBytes / 2)
  const isLocal = hasMethods(agent, 'fetch')
  const shared = { isLocal, settings, openChannel, read: reads.read, running: new Map() }
  const counted = limit(maxCalls)

  const stream = (frames: Source<Frame>): HttpAnswer => ({
    ...{ status: 200, headers: SSE_HEADERS, body: { frames, heartbeat, textOf: formatFrame } },
  })

  const answerCall = async (scene: Scene, call: Call, user: string | undefined): Promise<HttpAnswer> => {
    try {
      const answered = await counted({ user, mayStream: mayStream(call) }, () => answer(scene, call))
      if ('frames' in answered) return stream(answered.frames)
      const { result, session } = answered
      const headers = session === undefined ? {} : { 'mcp-session-id': session }
      const done = json(200, resultMessage(scene, call, result), headers)
      return { ...done, body: reads.bodyOf(done.body) }
    } catch (thrown) {
      const refusal = toRefusal(scene, thrown)
      if (call.position === undefined || refusal.status !== 200) return refused(call.id, refusal)
      // A client that asks for the rest of a stream reads nothing else.
      const { write, end, frames } = openChannel(() => undefined)
      write(errorMessage(call.id, refusal))
      end()
      return stream(frames)
    }
  }

  const answerMessage = async (
    scene: Scene,
    incoming: Incoming,
    user: string | undefined,
  ): Promise<HttpAnswer> => {
    if (incoming.type === 'call') return await answerCall(scene, incoming.call, user)
    return await counted({ user, mayStream: false }, async () => {
      if (incoming.type === 'response') await takeResponse(scene, incoming.id, incoming.result)
      else if (incoming.method === 'notifications/cancelled')
        await cancelCall(scene, incoming.session, incoming.params['requestId'])
      return { status: 202, headers: {}, body: null }
    })
  }

  const answerTo = async (request: HttpRequest): Promise<HttpAnswer> => {
    let id: Call['id'] | undefined
    try {
      if (url !== undefined && asksForMetadata(request)) {
        const agent = await agentFor(request)
        if (agent instanceof Response) return await answerOf(agent)
        const metadata = metadataOf(agent.card, url)
        if (metadata !== undefined) return json(200, metadata, { 'access-control-allow-origin': '*' })
      }
      requireOrigin(request, origins)
      const resumed = resumedCall(request)
      if (resumed === undefined && request.method !== 'POST')
        throw new Refusal('request', 'Use POST', { status: 405, headers: { allow: 'POST' } })
      const agent = await agentFor(request)
      if (agent instanceof Response) return await answerOf(agent)
      const readMessage = async (): Promise<Incoming> => {
        const body = await bodies.readJson(request, ['application/json'])
        requireSafeJson(body, MAX_DEPTH)
        id = idIn(body)
        return readIncoming(body, request)
      }
      const incoming: Incoming = resumed ? { type: 'call', call: resumed } : await readMessage()
      const tools = toolsFor(agent.card)
      const user = await userOf(request)
      return await answerMessage({ ...shared, agent, tools, signal: request.signal }, incoming, user)
    } catch (thrown) {
      return refused(id, thrown instanceof Refusal ? thrown : refusalOf(thrown, settings), 400)
    }
  }
  const pending = { maxPendingBytes, stalledTimeoutMs: STALLED_TIMEOUT_MS }
  const respond = Object.assign(answerTo, { output: new PendingOutput(pending, clock) })
  return Object.assign(toFetch<P>(respond), { [DIRECT]: respond })
}

/** The tools of cards. A card of our clients is frozen, and one for many requests. */
function toolsByCard(options: Settings['tools']): (card: AgentCard) => ReadonlyMap<string, Tool> {
  const known = new WeakMap<AgentCard, ReadonlyMap<string, Tool>>()
  return (card) => {
    const tools = known.get(card) ?? toolsOf(card, options)
    if (Object.isFrozen(card)) known.set(card, tools)
    return tools
  }
}

function mayStream({ method, capabilities }: Call): boolean {
  return method === 'subscriptions/listen' || (method === 'tools/call' && !capabilities.tasks)
}

interface Counting {
  /** Who calls, if it is known. */
  readonly user: string | undefined
  /** Whether the request may be answered by a stream. */
  readonly mayStream: boolean
}

type Counted = <T extends object>(by: Counting, work: () => Promise<T>) => Promise<T>

/**
 * Counts each request until it is answered, or its stream has ended. Those that may become streams leave a quarter to others, and
 * each user leaves half.
 */
function limit(maxCalls: number): Counted {
  const maxStreams = Math.max(1, Math.floor(maxCalls * 0.75))
  const maxOfUser = Math.ceil(maxCalls / 2)
  const users = new Map<string, number>()
  let calls = 0
  let streams = 0
  const count = ({ user, mayStream }: Counting, one: 1 | -1): void => {
    calls += one
    if (mayStream) streams += one
    if (user === undefined) return
    const ofUser = (users.get(user) ?? 0) + one
    if (ofUser > 0) users.set(user, ofUser)
    else users.delete(user)
  }
  return async (by, work) => {
    const ofUser = by.user === undefined ? 0 : (users.get(by.user) ?? 0)
    if (calls >= maxCalls || ofUser >= maxOfUser || (by.mayStream && streams >= maxStreams))
      throw unavailable('has too many calls of MCP')
    count(by, 1)
    let isOpen = true
    const end = (): void => {
      if (isOpen) count(by, -1)
      isOpen = false
    }
    const answered = await work().catch((error: unknown) => {
      end()
      throw error
    })
    if (isStream(answered)) return { ...answered, frames: withEnd(answered.frames, end) }
    end()
    return answered
  }
}

function isStream(answered: object): answered is { readonly frames: Source<Frame> } {
  return 'frames' in answered
}

/** The user whom the layer around the handler knows; otherwise the credentials of the request. */
async function userOf(request: HttpRequest): Promise<string | undefined> {
  try {
    const principal = await request.principal?.()
    if (principal != null) return `principal ${principal.id}`
  } catch {
    // The agent refuses the request for the same reason.
  }
  const credentials = request.header('authorization')
  return credentials === null ? undefined : `credentials ${credentials}`
}

function withEnd(frames: Source<Frame>, end: () => void): Source<Frame> {
  return {
    next: () => frames.next(),
    return() {
      end()
      return frames.return()
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** For what goes wrong before the message is known. */
function refusalOf(thrown: unknown, { onError }: Settings): Refusal {
  const error = toA2AError(thrown, 'MCP', onError)
  const { message, http } = describeError(error)
  const status = error.code === 'CONTENT_TYPE_NOT_SUPPORTED' ? 415 : (bodyStatusOf(error) ?? http)
  const headers = status === 503 ? { 'retry-after': String(retryAfterSeconds(error)) } : {}
  return new Refusal(error.code === 'PARSE_ERROR' ? 'parse' : 'request', message, { status, headers })
}

/** Pages of other sites, and those whose name leads to this machine (DNS rebinding), say so in `Origin`. */
function requireOrigin(request: HttpRequest, origins: readonly string[]): void {
  const origin = request.header('origin')
  if (origin === null || origins.includes(origin)) return
  const { protocol = '', hostname = '' } = parseUrl(origin) ?? {}
  // An extension may have any name in its own scheme.
  if (/^https?:$/.test(protocol) && LOOPBACK.test(hostname)) return
  throw new Refusal('request', `The origin ${quote(origin.slice(0, 100))} is not allowed`, { status: 403 })
}

const LOOPBACK = /^(?:localhost|.*\.localhost|127\.0\.0\.1|\[::1\])$/

/** @param least - The status of a message that is not taken. The answer to a call has its own. */
function refused(id: Call['id'] | undefined, refusal: Refusal, least = 200): HttpAnswer {
  return json(Math.max(refusal.status, least), errorMessage(id, refusal), refusal.headers)
}

function json(
  status: number,
  body: JsonObject,
  headers: Readonly<Record<string, string>>,
): HttpAnswer & { readonly body: string } {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

async function answerOf(response: Response): Promise<HttpAnswer> {
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  }
}
