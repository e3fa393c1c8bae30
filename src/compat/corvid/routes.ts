/**
 * HTTP routes of inbound tasks: `POST /a2a/tasks/send` and `GET /a2a/tasks/{id}`.
 *
 * @module
 */
import { A2AError, taskNotFound } from '../../core/errors.js'
import type { RateLimiter } from '../../runtime/rate-limit.js'
import { corvid, isTooDeep } from './dialect.js'
import { retryAfterSeconds } from '../../wire/errors.js'
import { BodyReader, bodyStatusOf } from '../../server/binding/body.js'
import { bodyLimits } from '../../server/limits.js'
import type { Clock } from '../../runtime/clock.js'
import { DIRECT, type HttpAnswer, type HttpRequest, type Respond } from '../../server/binding/exchange.js'
import { toFetch } from '../../server/binding/fetch.js'
import {
  defaultPendingBytes,
  PendingOutput,
  STALLED_TIMEOUT_MS,
} from '../../server/binding/pending-output.js'
import { toA2AError } from '../../server/streams/frame-stream.js'
import type { A2ATask } from './types.js'
import type { ErrorContext } from '../../server/options.js'
import { decode } from '../../server/binding/routes.js'
import { observedRespond } from '../../server/binding/observed.js'
import type { HandlerObserver } from '../../server/observers.js'
import { requireRate } from '../../server/caller.js'

const PATH = /^\/a2a\/tasks\/([^/]+)$/
/** Limit of a body. JSON escapes may make a message of 1 MiB six times as long. */
const MAX_BYTES = 8 * 1024 * 1024

export interface InboundRoutes {
  readonly send: (body: unknown) => A2ATask
  readonly get: (taskId: string) => A2ATask | null
  readonly onError: (error: unknown, context: ErrorContext) => void
  readonly clock: Clock
  readonly rateLimiter: RateLimiter | undefined
}

interface InboundFetch {
  readonly fetch: (request: Request) => Promise<Response>
  readonly observe: (observer: HandlerObserver) => InboundFetch
}

/** A `fetch` function over both routes. Never rejects: errors are answered as `{ error }`, like corvid-agent's. */
export function inboundFetch(routes: InboundRoutes): InboundFetch {
  const dialect = corvid()
  const bodies = new BodyReader(bodyLimits(MAX_BYTES), routes.clock)
  const answerTo = async (request: HttpRequest): Promise<HttpAnswer> => {
    const { pathname } = new URL(request.url)
    const [, id] = PATH.exec(pathname) ?? []
    if (id === undefined) return answer(404, { error: 'Not found' })
    const verb = id === 'send' ? 'POST' : 'GET'
    if (request.method !== verb) return answer(405, { error: `Use ${verb}` }, { allow: verb })
    const operation = verb === 'POST' ? 'SendMessage' : 'GetTask'
    const { trail } = request
    trail?.record({ operation, version: dialect.version, binding: 'HTTP+JSON', isStream: false })
    try {
      const principal = await request.principal?.()
      if (request.principal !== undefined && !principal) {
        throw new A2AError('UNAUTHENTICATED', 'Authentication required', {})
      }
      if (verb === 'POST') requireRate(routes.rateLimiter, principal)
      const task =
        verb === 'POST'
          ? routes.send(await bodies.readJson(request, ['application/json']))
          : get(routes, decode(id, 'id'))
      trail?.record({ taskId: task.id, state: task.state })
      return answer(200, task)
    } catch (thrown) {
      const error = toA2AError(thrown, 'handleTaskSend', routes.onError)
      trail?.record({ error })
      return answerError(error, dialect)
    }
  }
  const pending = { maxPendingBytes: defaultPendingBytes(), stalledTimeoutMs: STALLED_TIMEOUT_MS }
  const respond: Respond = Object.assign(answerTo, { output: new PendingOutput(pending, routes.clock) })
  const observable = (observers: readonly HandlerObserver[]): InboundFetch => {
    const observed = observers.length === 0 ? respond : observedRespond(respond, observers)
    return {
      fetch: Object.assign(toFetch(observed), { [DIRECT]: observed }),
      observe: (observer) => observable([...observers, observer]),
    }
  }
  return observable([])
}

function get(routes: InboundRoutes, id: string): A2ATask {
  const task = routes.get(id)
  if (task === null) throw taskNotFound(id)
  return task
}

function answerError(error: A2AError, dialect: ReturnType<typeof corvid>): HttpAnswer {
  const isTooLarge = error.code === 'LIMIT_EXCEEDED' && !isTooDeep(error)
  const { status, body } = dialect.encodeHttpError(
    error,
    bodyStatusOf(error) ?? (isTooLarge ? 413 : undefined),
  )
  const retryAfter = { 'retry-after': String(retryAfterSeconds(error)) }
  return answer(status, body, [429, 503].includes(status) ? retryAfter : {})
}

function answer(status: number, json: object, headers: Readonly<Record<string, string>> = {}): HttpAnswer {
  const type = { 'content-type': 'application/json', 'cache-control': 'private, no-cache' }
  return { status, headers: { ...type, ...headers }, body: JSON.stringify(json) }
}
