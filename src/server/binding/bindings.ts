/**
 * The bindings of an agent: HTTP requests and direct JSON-RPC calls.
 *
 * @module
 */
import { requireDelay } from '../../runtime/options.js'
import { A2AError } from '../../core/errors.js'
import { readParams } from '../../core/validate.js'
import type { JsonObject } from '../../core/json-types.js'
import { keepAlive } from '../../runtime/timers.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { Dialect } from '../../wire/dialect.js'
import { DIRECT, type Respond } from './exchange.js'
import { toFetch, type HandlerFetch } from './fetch.js'
import { HttpBinding } from './http-binding.js'
import { jsonOf } from '../streams/frame-stream.js'
import { answerRpc } from './json-rpc.js'
import { PendingOutput } from './pending-output.js'
import type { IsInMemory } from './removed-tasks.js'
import { knownExtensions } from '../negotiation.js'
import type { Operations } from '../operations/perform.js'
import { untilLeft } from '../operations/facts.js'
import type { HandlerObserver, Observers } from '../observers.js'
import { observedDispatch, observedRespond, type Dispatch } from './observed.js'
import type { BindingSettings } from '../options.js'
import {
  generationFromHeader,
  readIdempotencyKey,
  requirePrincipal,
  requireRate,
  type Caller,
  type Principal,
} from '../caller.js'

/** The context of a request that HTTP would transmit in headers. */
export interface DispatchContext<P extends Principal = Principal> {
  /** The client, as `authenticate` would return it. Required where the handler has `authenticate`. */
  readonly principal?: P | null | undefined
  /** The value of the header `A2A-Version`. Default is to infer the version from the request. */
  readonly version?: string | undefined
  /** The value of the header `A2A-Extensions`: URIs, separated by commas. */
  readonly extensions?: string | undefined
  /** The value of the header `Idempotency-Key`: the id of a message in a dialect whose messages have none. */
  readonly idempotencyKey?: string | undefined
  /** The value of the header `Last-Event-ID`: the generation of the last event that the client received. */
  readonly lastEventId?: string | undefined
  /** Abort it when the client disconnects. */
  readonly signal?: AbortSignal | undefined
}

const CONTEXT_KEYS = ['principal', 'version', 'extensions', 'idempotencyKey', 'lastEventId', 'signal']

/** The functions that answer requests. */
export interface ObservedAgent<P extends Principal = Principal> {
  /**
   * Answers any request: the card, JSON-RPC, HTTP+JSON, streams. Never rejects. Does not use `this`, so it can be passed
   * around as a function. `fetch(request, { principal })` passes the client that a middleware has authenticated.
   */
  readonly fetch: HandlerFetch<P>
  /**
   * Answers one JSON-RPC request without HTTP. Resolves to the response, or to an iterator of responses where the
   * operation streams. Errors of the protocol are responses too, so it does not reject. Leaving the loop over a stream ends
   * the stream; the task continues.
   */
  readonly dispatch: (
    body: unknown,
    context?: DispatchContext<P>,
  ) => Promise<JsonObject | AsyncIterableIterator<JsonObject>>
  /**
   * Makes functions that answer as those of this handler, and notify the observer of each request. From now on the observer
   * also receives the runs and deliveries of all requests to the handler, also through its other functions. `instrumentHandler`
   * of `a2a-tasks/telemetry` uses it.
   */
  readonly observe: (observer: HandlerObserver) => ObservedAgent<P>
}

/** An agent with its bindings. */
export interface BoundAgent<P extends Principal = Principal> extends ObservedAgent<P> {
  /** The agent's card, with all defaults. */
  readonly card: AgentCard
  /**
   * Accepts no more work, lets current work end within `graceMs` (default 10,000 ms), and aborts the rest. A
   * `RequestHandler` also waits until its streams have written their last events.
   */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>
}

/** Operations that hold resources until they are closed. */
export type ClosableOperations<P extends Principal> = Operations<P> & {
  /** The observers of what operations do in the background. */
  readonly observers?: Observers
  close(graceMs: number): Promise<void>
}

/** @param isInMemory Whether the manager has a task in memory. Default is that it has all. */
export function bind<P extends Principal>(
  settings: BindingSettings<P>,
  operations: ClosableOperations<P>,
  isInMemory: IsInMemory = () => true,
): BoundAgent<P> {
  const http = new HttpBinding(settings, operations, isInMemory)
  const output = new PendingOutput(settings.limits, settings.clock)
  const respond: Respond = Object.assign(http.respond, { output })
  const dispatch = dispatcher(settings, operations)
  const observable = (observers: readonly HandlerObserver[]): ObservedAgent<P> => {
    const observed = observers.length === 0 ? respond : observedRespond(respond, observers)
    return {
      fetch: Object.assign(toFetch<P>(observed), { [DIRECT]: observed }),
      dispatch: observers.length === 0 ? dispatch : observedDispatch(dispatch, observers),
      observe(observer) {
        operations.observers?.add(observer)
        return observable([...observers, observer])
      },
    }
  }
  return {
    card: settings.card,
    ...observable([]),
    async close(options = {}) {
      const { graceMs = 10_000 } = readParams(options, ['graceMs'], 'close')
      requireDelay('graceMs', graceMs, 0)
      http.close()
      // The timers of pending work do not keep the process alive.
      const release = keepAlive()
      try {
        await operations.close(graceMs)
      } finally {
        release()
      }
    },
  }
}

/** Answers calls of `dispatch`. */
function dispatcher<P extends Principal>(
  settings: BindingSettings<P>,
  operations: ClosableOperations<P>,
): Dispatch<DispatchContext<P>> {
  return async (body, given, trail) => {
    const context = given === undefined ? {} : readParams(given, CONTEXT_KEYS, 'dispatch')
    const admit = (): void => requireRate(settings.rateLimiter, context.principal)
    const agent = { admit, settings, operations, trail }
    const answer = await answerRpc(agent, { value: body }, context.version, (dialect) =>
      callerOf(settings, context, dialect),
    )
    if (answer.type === 'json') return answer.json
    const { frames } = answer
    return jsonOf(trail === undefined ? frames : untilLeft(frames, () => trail.end()), context.signal)
  }
}

function callerOf<P extends Principal>(
  { card, authenticate }: BindingSettings<P>,
  { principal, version, extensions, idempotencyKey, lastEventId, signal }: DispatchContext<P>,
  dialect: Dialect,
): Caller<P> {
  const isAnonymous = principal === undefined || principal === null
  if (isAnonymous && authenticate !== undefined) {
    throw new A2AError('UNAUTHENTICATED', 'Authentication required', {})
  }
  return {
    dialect,
    namesVersion: Boolean(version?.trim()),
    principal: isAnonymous ? undefined : requirePrincipal(principal),
    extensions: knownExtensions(card, extensions ?? null),
    idempotencyKey: readIdempotencyKey(idempotencyKey),
    lastGeneration: generationFromHeader(lastEventId),
    signal,
  }
}
