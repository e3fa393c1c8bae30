/**
 * Connection to an agent: failover and retries across the interfaces of its card.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { ClientRequests, ClientResults, RemoteEvent } from '../../wire/client/dialect.js'
import type { Operation } from '../../wire/dialect.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import {
  endedEarly,
  isTransient,
  isUnprocessed,
  withNote,
  type ExternalServiceError,
} from '../../http/errors.js'
import { selectInterfaces } from './interfaces.js'
import type { CallOptions } from '../message.js'
import type { Settings } from '../options.js'
import { retry } from '../../http/retry.js'
import { shownUrl } from '../../http/url.js'
import { timeLeft } from '../../runtime/clock.js'
import { parseUrl } from '../../runtime/url.js'
import {
  Transport,
  type Streaming,
  type StreamItem,
  type StreamOptions,
  type Limited,
  type Unary,
} from './transport.js'

/** Idempotent operations (A2A 1.0 §3.3.1). */
const IDEMPOTENT: readonly Operation[] = [
  'GetTask',
  'ListTasks',
  'CancelTask',
  'SubscribeToTask',
  'GetTaskPushNotificationConfig',
  'ListTaskPushNotificationConfigs',
  'DeleteTaskPushNotificationConfig',
  'GetExtendedAgentCard',
]

const DEFAULT_TIMEOUT_MS = 60_000
const SEND_TIMEOUT_MS = 300_000

/** The interfaces of an agent that the client supports, one of them in use. */
export class Connection {
  readonly settings: Settings
  /** The agent's card; after `getExtendedAgentCard` the extended one (A2A 1.0 §3.1.11). */
  card: AgentCard
  /** Where the card was fetched. */
  cardUrl: string | undefined
  readonly #transports: readonly [Transport, ...Transport[]]
  #current: Transport

  /** @throws {A2AError} `VERSION_NOT_SUPPORTED` if the client supports no interface of the card. */
  constructor(card: AgentCard, settings: Settings) {
    const { protocolVersions, protocolBindings } = settings
    const [first, ...others] = selectInterfaces(card, protocolVersions, protocolBindings)
    this.card = card
    this.settings = settings
    this.#current = new Transport(first, settings)
    this.#transports = [this.#current, ...others.map((selected) => new Transport(selected, settings))]
  }

  /** The transport in use. */
  get current(): Transport {
    return this.#current
  }

  /** @throws {A2AError} `PUSH_NOTIFICATION_NOT_SUPPORTED` if the card declares none. Sends no request. */
  requirePush(): void {
    const { name, capabilities } = this.card
    if (capabilities.pushNotifications === true) return
    const text = `${name} sends no push notifications, as its card says`
    throw new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', text, {})
  }

  /** Sends one request, with retries and failover, all within the time limit: to each interface at most `attempts` times. */
  async call<O extends Unary>(
    operation: O,
    params: ClientRequests[O],
    options: CallOptions,
    attempts?: number,
  ): Promise<ClientResults[O]> {
    if ('pushConfig' in params) this.requirePush()
    const work = (transport: Transport, limited: () => Limited<CallOptions>): Promise<ClientResults[O]> =>
      transport.call(operation, params, limited)
    return await this.#withFailover(operation, options, work, attempts)
  }

  /**
   * The events of a stream.
   *
   * @throws {A2AError} `EXTERNAL_SERVICE_ERROR` if the stream ends while the task works.
   */
  async *events<O extends Streaming>(
    operation: O,
    params: ClientRequests[O],
    options: StreamOptions,
  ): AsyncGenerator<RemoteEvent, undefined> {
    let isOver = false
    for await (const { event } of this.stream(operation, params, options)) {
      const { state } = event.type === 'task' ? event.task : { state: undefined, ...event }
      if (event.type === 'message') isOver = true
      else if (state !== undefined) isOver = isTerminal(state) || isInterrupted(state)
      yield event
    }
    if (!isOver) throw this.endedEarly()
  }

  /** The error of a stream that ends in good order, but before its task does. */
  endedEarly(): ExternalServiceError {
    return endedEarly(this.#current.selected.agentInterface.url)
  }

  /** Opens a stream. Retries and failover apply until its first event. */
  async *stream<O extends Streaming>(
    operation: O,
    params: ClientRequests[O],
    options: StreamOptions,
  ): AsyncGenerator<StreamItem, undefined> {
    if ('pushConfig' in params) this.requirePush()
    const { items, first } = await this.#withFailover(operation, options, async (transport, limited) => {
      const opened = transport.stream(operation, params, limited())
      return { items: opened, first: await opened.next() }
    })
    try {
      if (first.done) return
      yield first.value
      yield* items
    } finally {
      await items.return(undefined)
    }
  }

  /** Tries the transport in use, then the others in the card's order. Throws the first error if all fail. */
  async #withFailover<O extends CallOptions, T>(
    operation: Operation,
    options: O,
    work: (transport: Transport, limited: () => Limited<O>) => Promise<T>,
    attempts = this.settings.pacing.attempts,
  ): Promise<T> {
    const { clock, timeoutMs: clientMs } = this.settings
    const pacing = { ...this.settings.pacing, attempts }
    // SendMessage waits for the end of the task.
    const byDefault = operation === 'SendMessage' ? SEND_TIMEOUT_MS : DEFAULT_TIMEOUT_MS
    const { signal, timeoutMs = clientMs ?? byDefault } = options
    const leftMs = timeLeft(clock, timeoutMs)
    const limited = (): Limited<O> => ({ ...options, timeoutMs, leftMs: leftMs() })
    const isIdempotent = IDEMPOTENT.includes(operation)
    const inOrder = [this.#current, ...this.#transports.filter((transport) => transport !== this.#current)]
    const capable = inOrder.filter((transport) => transport.supports(operation))
    const unreachableOrigins = new Set<string>()
    let failure: { readonly error: unknown } | undefined
    for (const transport of capable.length > 0 ? capable : inOrder.slice(0, 1)) {
      const { origin } = transport
      if (unreachableOrigins.has(origin)) continue
      try {
        const result = await retry(
          pacing,
          signal,
          (error) => isTransient(error) && (isIdempotent || isUnprocessed(error)),
          () => work(transport, limited),
          leftMs,
        )
        this.#current = transport
        return result
      } catch (error) {
        failure ??= { error: this.#withSource(error, origin) }
        // Skip other interfaces at an origin that cannot be reached.
        if (A2AError.is(error, 'EXTERNAL_SERVICE_ERROR') && error.data.status === undefined)
          unreachableOrigins.add(origin)
        const mayTryNext = isUnprocessed(error) || (isIdempotent && isTransportFailure(error))
        // An answer of the agent, or a request it may have carried out, must not be followed by another attempt.
        if (!mayTryNext || signal?.aborted || leftMs() === 0) throw this.#withSource(error, origin)
      }
    }
    throw failure?.error
  }

  /** Adds to an error of another origin than the card's that the card names it. */
  #withSource(error: unknown, origin: string): unknown {
    const { cardUrl } = this
    if (cardUrl === undefined || parseUrl(cardUrl)?.origin === origin) return error
    if (!A2AError.is(error, 'EXTERNAL_SERVICE_ERROR')) return error
    return withNote(error, `The agent's card at ${shownUrl(cardUrl)} names this address`)
  }
}

/** Returns whether the transport failed, as opposed to the request. */
function isTransportFailure(error: unknown): boolean {
  return A2AError.is(error, 'EXTERNAL_SERVICE_ERROR') || A2AError.is(error, 'INVALID_AGENT_RESPONSE')
}

interface Page {
  /** Empty on the last page. */
  readonly nextPageToken: string
}

/** Yields `first` and the pages after it. Ends when a page token repeats, which would loop for ever. */
export async function* pagesFrom<P extends Page>(
  first: Promise<P>,
  load: (pageToken: string) => Promise<P>,
): AsyncGenerator<P, undefined> {
  const seen = new Set([''])
  for (let page = await first; ;) {
    yield page
    const { nextPageToken } = page
    if (seen.has(nextPageToken)) return
    seen.add(nextPageToken)
    page = await load(nextPageToken)
  }
}
