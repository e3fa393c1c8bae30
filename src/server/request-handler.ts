/**
 * An agent as one function from a request to a response.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { read } from '../core/intake.js'
import type { JsonObject } from '../core/task.js'
import type { TaskManager } from '../core/task-manager.js'
import type { AgentCard } from '../schemas/index.js'
import { DIRECT, type Respond } from './exchange.js'
import { toFetch } from './fetch.js'
import { HttpBinding } from './http.js'
import { jsonOf } from './frames.js'
import { answerRpc } from './json-rpc.js'
import { knownExtensions } from './negotiation.js'
import { Agent } from './operations.js'
import { toSettings, type RequestHandlerOptions } from './options.js'
import { generationOf, requirePrincipal, type Caller, type Principal } from './visibility.js'

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

export interface RequestHandler<P extends Principal = Principal> {
  /** The card, complete. */
  readonly card: AgentCard
  readonly tasks: TaskManager
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
  /**
   * Takes no new work, lets runs end within `graceMs` (default 10 s), aborts the rest, whose tasks fail, and ends all
   * streams. Runs that wait for the user are aborted at once; their tasks go on waiting.
   */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>
}

/**
 * Makes an A2A agent of one function: every operation of A2A 1.0 and 0.3, over JSON-RPC and HTTP+JSON.
 *
 * A task's result is stored whether or not anybody listens. Each task has one run at a time. Clients see no more of
 * an error than its fixed text, and no task but their own.
 *
 * @throws {TypeError | RangeError | A2AError} naming the option that makes no sense, or the path in the card.
 * @example
 * const handler = createRequestHandler({
 *   card: { name: 'Echo', url: 'http://localhost:3000' },
 *   execute: (run) => `You said: ${run.text}`,
 * })
 * createServer(toNodeListener(handler.fetch)).listen(3000)
 */
export function createRequestHandler<P extends Principal = Principal>(
  options: RequestHandlerOptions<P>,
): RequestHandler<P> {
  const settings = toSettings(options)
  const agent = new Agent(settings)
  const http = new HttpBinding(settings, agent)
  const respond: Respond = (request) => http.respond(request)

  function callerOf(context: DispatchContext<P>): Caller<P> {
    const { principal, extensions, lastEventId, signal } = context
    const isNobody = principal === undefined || principal === null
    if (isNobody && settings.authenticate !== undefined) {
      throw new A2AError('UNAUTHENTICATED', 'Authentication required', {})
    }
    return {
      principal: isNobody ? undefined : requirePrincipal(principal),
      extensions: knownExtensions(settings.card, extensions ?? null),
      lastGeneration: generationOf(lastEventId),
      signal,
    }
  }

  return {
    card: settings.card,
    tasks: settings.tasks,
    fetch: Object.assign(toFetch(respond), { [DIRECT]: respond }),
    async dispatch(body, given) {
      const context = given === undefined ? {} : read(given, CONTEXT_KEYS, 'dispatch')
      const answer = await answerRpc({ settings, operations: agent }, body, context.version, () =>
        callerOf(context),
      )
      if (answer.type === 'json') return answer.json
      const { frames } = answer
      return jsonOf(frames, context.signal)
    },
    async close(options = {}) {
      const { graceMs = 10_000 } = read(options, ['graceMs'], 'close')
      if (!(graceMs >= 0 && graceMs <= 2_147_483_647)) {
        throw new RangeError(`"graceMs" must be from 0 to 2147483647, got ${String(graceMs)}`)
      }
      await agent.close(graceMs)
    },
  }
}
