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
import { toFetch } from './fetch.js'
import { HttpBinding } from './http-binding.js'
import { jsonOf } from '../streams/frame-stream.js'
import { answerRpc } from './json-rpc.js'
import { knownExtensions } from '../negotiation.js'
import type { Operations } from '../operations/operations.js'
import type { BindingSettings } from '../options.js'
import { generationFromHeader, requirePrincipal, type Caller, type Principal } from '../caller.js'

/** The context of a request that HTTP would transmit in headers. */
export interface DispatchContext<P extends Principal = Principal> {
  /** The client, as `authenticate` would return it. Required where the handler has `authenticate`. */
  readonly principal?: P | null | undefined
  /** The value of the header `A2A-Version`. Default is to infer the version from the request. */
  readonly version?: string | undefined
  /** The value of the header `A2A-Extensions`: URIs, separated by commas. */
  readonly extensions?: string | undefined
  /** The value of the header `Last-Event-ID`: the generation of the last event that the client received. */
  readonly lastEventId?: string | undefined
  /** Abort it when the client disconnects. */
  readonly signal?: AbortSignal | undefined
}

const CONTEXT_KEYS = ['principal', 'version', 'extensions', 'lastEventId', 'signal']

/** An agent with its bindings. */
export interface BoundAgent<P extends Principal = Principal> {
  /** The agent's card, with all defaults. */
  readonly card: AgentCard
  /**
   * Answers any request: the card, JSON-RPC, HTTP+JSON, streams. Never rejects. Does not use `this`, so it can be passed
   * around as a function.
   */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * Answers one JSON-RPC request without HTTP. Resolves to the response, or to an iterator of responses where the
   * operation streams. Errors of the protocol are responses too, so it does not reject. Leaving the loop over a stream ends
   * the stream; the task continues.
   */
  readonly dispatch: (
    body: unknown,
    context?: DispatchContext<P>,
  ) => Promise<JsonObject | AsyncIterableIterator<JsonObject, undefined>>
  /** Accepts no more work, lets work under way end within `graceMs` (default 10 s), and ends the rest. */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>
}

/** Operations that hold resources until they are closed. */
export type ClosableOperations<P extends Principal> = Operations<P> & {
  close(graceMs: number): Promise<void>
}

export function bind<P extends Principal>(
  settings: BindingSettings<P>,
  operations: ClosableOperations<P>,
): BoundAgent<P> {
  const http = new HttpBinding(settings, operations)
  const respond: Respond = (request) => http.respond(request)
  return {
    card: settings.card,
    fetch: Object.assign(toFetch(respond), { [DIRECT]: respond }),
    async dispatch(body, given) {
      const context = given === undefined ? {} : readParams(given, CONTEXT_KEYS, 'dispatch')
      const answer = await answerRpc({ settings, operations }, body, context.version, (dialect) =>
        callerOf(settings, context, dialect),
      )
      if (answer.type === 'json') return answer.json
      const { frames } = answer
      return jsonOf(frames, context.signal)
    },
    async close(options = {}) {
      const { graceMs = 10_000 } = readParams(options, ['graceMs'], 'close')
      requireDelay('graceMs', graceMs, 0)
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

function callerOf<P extends Principal>(
  { card, authenticate }: BindingSettings<P>,
  { principal, version, extensions, lastEventId, signal }: DispatchContext<P>,
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
    lastGeneration: generationFromHeader(lastEventId),
    signal,
  }
}
