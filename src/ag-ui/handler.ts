/**
 * An agent as an endpoint of AG-UI.
 *
 * @module
 */
import type { JsonValue } from '../core/json-types.js'
import { replyStream } from '../chat/reply-stream.js'
import { observed } from '../runtime/abort.js'
import { requireObject } from '../runtime/options.js'
import { BodyReader, bodyStatusOf } from '../server/binding/body.js'
import { DIRECT, type EventSource, type HttpAnswer, type HttpRequest } from '../server/binding/exchange.js'
import { toFetch } from '../server/binding/fetch.js'
import { defaultPendingBytes, PendingOutput, STALLED_TIMEOUT_MS } from '../server/binding/pending-output.js'
import { requireSafeJson } from '../server/binding/safe-json.js'
import { bodyLimits } from '../server/limits.js'
import { toA2AError } from '../server/streams/frame-stream.js'
import { formatFrame, HEARTBEAT_MS, SSE_HEADERS, SseHeartbeat, type Frame } from '../server/streams/sse.js'
import type { Source } from '../server/streams/source.js'
import { unavailable } from '../server/unavailable.js'
import { describeError, retryAfterSeconds } from '../wire/errors.js'
import { readInput, type RunInput } from './input.js'
import { toSettings, type AgUiAgent, type AgUiClient, type AgUiOptions } from './options.js'
import { runInput } from './run.js'
import type { AgUiEvent } from './types.js'

const MAX_DEPTH = 100
/** The most characters of events that wait for a reader. */
const MAX_WAITING = 16_777_216

/**
 * An endpoint of AG-UI 1.0 for an agent of A2A: a function from a `Request` with AG-UI's `RunAgentInput` to a `Response` with a
 * stream of AG-UI's events. `HttpAgent` of `@ag-ui/client` and the front ends on it, such as CopilotKit, call it.
 *
 * - The thread is the A2A context. What the user has said since the last message of the assistant is a message to the agent.
 * - Questions and approvals end the run with interrupts. `resume` of the next run answers them by their ids.
 * - The id of the run is the id of the message: the agent takes a run that is repeated once, where it recognizes messages.
 * - A front end that closes the stream leaves the task alone: see `onDisconnect`.
 *
 * Requests that are no `RunAgentInput` are answered with 400, other methods than POST with 405, other types than JSON with 415,
 * and bodies beyond the limits of size and time with 413 and 408. Whatever happens later is an event `RUN_ERROR`.
 *
 * @throws {TypeError | RangeError} for an invalid option, and for a client that is none.
 * @example
 * const agUi = createAgUiHandler(A2AClient.connect('https://agent.example'))
 * createServer(toNodeListener(agUi)).listen(4000)
 */
export function createAgUiHandler(
  client: AgUiClient,
  options: AgUiOptions = {},
): (request: Request) => Promise<Response> {
  if (typeof client !== 'function')
    requireObject('client', client, 'createAgUiHandler', 'an A2AClient, a promise of one, or a function')
  const settings = toSettings(options)
  const { clock, maxBodyBytes, maxRuns, onError } = settings
  const clientFor = typeof client === 'function' ? client : sharedBy(client)
  const bodies = new BodyReader(bodyLimits(maxBodyBytes), clock)
  const heartbeat = new SseHeartbeat(clock, HEARTBEAT_MS)
  let runs = 0

  const failure = (thrown: unknown): AgUiEvent => {
    const error = toA2AError(thrown, 'AG-UI', onError)
    return { type: 'RUN_ERROR', message: describeError(error).message, code: error.code, metadata: {} }
  }

  const start = (agent: AgUiAgent, input: RunInput): EventSource => {
    if (runs >= maxRuns) throw unavailable('has too many runs of AG-UI')
    runs += 1
    const stopped = new AbortController()
    const { timeoutMs } = settings
    let waiting = 0
    const events = replyStream<AgUiEvent>({ abortSignal: stopped.signal, failure }, (write, signal) => {
      const count = (event: AgUiEvent): void => {
        waiting += sizeOf(event)
        if (waiting > MAX_WAITING) leave()
        write(event)
      }
      return runInput(agent, input, count, { signal, timeoutMs }).finally(() => (runs -= 1))
    }).getReader()
    const leave = (): void => {
      if (settings.onDisconnect === 'cancel') stopped.abort()
      void events.cancel()
    }
    const frames: Source<Frame> = {
      async next() {
        const { value } = await events.read()
        if (value === undefined) return END
        waiting -= sizeOf(value)
        // Events are JSON.
        return { done: false, value: { json: value as unknown as JsonValue } }
      },
      return() {
        leave()
        return Promise.resolve(END)
      },
      [Symbol.asyncIterator]: () => frames,
    }
    return { frames, heartbeat, textOf: formatFrame }
  }

  const answerTo = async (request: HttpRequest): Promise<HttpAnswer> => {
    try {
      if (request.method !== 'POST') return answer(405, 'METHOD_NOT_ALLOWED', 'Use POST', { allow: 'POST' })
      const agent = await clientFor(request.toFetch())
      if (agent instanceof Response) return await answerOf(agent)
      const json = await bodies.readJson(request, ['application/json'])
      requireSafeJson(json, MAX_DEPTH)
      const input = readInput(json)
      return { status: 200, headers: SSE_HEADERS, body: start(agent, input) }
    } catch (thrown) {
      const error = toA2AError(thrown, 'AG-UI', onError)
      const { message, http } = describeError(error)
      const status = error.code === 'CONTENT_TYPE_NOT_SUPPORTED' ? 415 : (bodyStatusOf(error) ?? http)
      const retryAfter = { 'retry-after': String(retryAfterSeconds(error)) }
      return answer(status, error.code, message, status === 503 ? retryAfter : {})
    }
  }
  const pending = { maxPendingBytes: defaultPendingBytes(), stalledTimeoutMs: STALLED_TIMEOUT_MS }
  const respond = Object.assign(answerTo, { output: new PendingOutput(pending, clock) })
  return Object.assign(toFetch(respond), { [DIRECT]: respond })
}

/** The connection may fail before the first request. */
function sharedBy(client: AgUiAgent | PromiseLike<AgUiAgent>): () => Promise<AgUiAgent> {
  const connecting = observed(Promise.resolve(client))
  return () => connecting
}

const END = { done: true, value: undefined } as const

/** About the characters that the event has as JSON. */
function sizeOf(event: AgUiEvent): number {
  return event.type.endsWith('_CONTENT') && 'delta' in event
    ? event.delta.length
    : JSON.stringify(event).length
}

function answer(
  status: number,
  code: string,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer {
  const body = JSON.stringify({ error: { code, message } })
  return { status, headers: { 'content-type': 'application/json', ...headers }, body }
}

async function answerOf(response: Response): Promise<HttpAnswer> {
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.text(),
  }
}
