/**
 * Operations as one function from a request to a response.
 *
 * @module
 */
import { requireDelay } from '../../runtime/options.js'
import { A2AError } from '../../core/errors.js'
import { read } from '../../core/validate.js'
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
import { generationOf, requirePrincipal, type Caller, type Principal } from '../caller.js'

/** What HTTP would say beside the body of a request. */
export interface DispatchContext<P extends Principal = Principal> {
  /** Who asks: what `authenticate` would return. Required where the handler has one. */
  readonly principal?: P | null | undefined
  /** As in the header `A2A-Version`. Default is to go by the method's name. */
  readonly version?: string | undefined
  /** As in the header `A2A-Extensions`: URIs, separated by commas. */
  readonly extensions?: string | undefined
  /** As in the header `Last-Event-ID`: the generation of the last event that the client has. */
  readonly lastEventId?: string | undefined
  /** Aborts when the client has gone. */
  readonly signal?: AbortSignal | undefined
}

const CONTEXT_KEYS = ['principal', 'version', 'extensions', 'lastEventId', 'signal']

/** An agent behind every binding. */
export interface BoundAgent<P extends Principal = Principal> {
  /** The card, complete. */
  readonly card: AgentCard
  /**
   * Answers any request: the card, JSON-RPC, HTTP+JSON, streams. Never rejects. Needs no `this`: pass it on as it is.
   */
  readonly fetch: (request: Request) => Promise<Response>
  /**
   * Answers one JSON-RPC request without HTTP: JSON in, JSON out, or JSON as it comes where the operation streams.
   * Never rejects: errors are answers. Leaving a stream's loop ends the stream, and nothing else.
   */
  readonly dispatch: (
    body: unknown,
    context?: DispatchContext<P>,
  ) => Promise<JsonObject | AsyncIterableIterator<JsonObject, undefined>>
  /** Takes no new work, lets what goes on end within `graceMs` (default 10 s), and ends the rest. */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>
}

/** Operations that somebody must end. */
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
      const context = given === undefined ? {} : read(given, CONTEXT_KEYS, 'dispatch')
      const answer = await answerRpc({ settings, operations }, body, context.version, (dialect) =>
        callerOf(settings, context, dialect),
      )
      if (answer.type === 'json') return answer.json
      const { frames } = answer
      return jsonOf(frames, context.signal)
    },
    async close(options = {}) {
      const { graceMs = 10_000 } = read(options, ['graceMs'], 'close')
      requireDelay('graceMs', graceMs, 0)
      // The timers of what is waited for do not.
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
  const isNobody = principal === undefined || principal === null
  if (isNobody && authenticate !== undefined) {
    throw new A2AError('UNAUTHENTICATED', 'Authentication required', {})
  }
  return {
    dialect,
    namesVersion: Boolean(version?.trim()),
    principal: isNobody ? undefined : requirePrincipal(principal),
    extensions: knownExtensions(card, extensions ?? null),
    lastGeneration: generationOf(lastEventId),
    signal,
  }
}
