/**
 * An agent as its card tells of it: all interfaces that we speak, one in use.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { ClientRequests, ClientResults } from '../../wire/client/dialect.js'
import type { Operation } from '../../wire/dialect.js'
import { isPassing, isUndone } from '../../http/errors.js'
import { selectInterfaces } from './interfaces.js'
import type { CallOptions } from '../message.js'
import type { Settings } from '../options.js'
import { retry } from '../../http/retry.js'
import { Transport, type Streaming, type StreamItem, type StreamOptions, type Unary } from './transport.js'

/** Doing them twice is doing them once (A2A 1.0 §3.3.1). */
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

export class Connection {
  readonly settings: Settings
  /** Present if no other has taken its place: the extended card does (A2A 1.0 §3.1.11). */
  card: AgentCard
  readonly #transports: readonly [Transport, ...Transport[]]
  #current: Transport

  /** @throws {A2AError} `VERSION_NOT_SUPPORTED` when no interface of the card is spoken. */
  constructor(card: AgentCard, settings: Settings) {
    const { protocolVersions, protocolBindings } = settings
    const [first, ...others] = selectInterfaces(card, protocolVersions, protocolBindings)
    this.card = card
    this.settings = settings
    this.#current = new Transport(first, settings)
    this.#transports = [this.#current, ...others.map((selected) => new Transport(selected, settings))]
  }

  /** The interface in use. */
  get current(): Transport {
    return this.#current
  }

  /** @throws {A2AError} `PUSH_NOTIFICATION_NOT_SUPPORTED` when the card declares none: nobody need be asked. */
  requirePush(): void {
    const { name, capabilities } = this.card
    if (capabilities.pushNotifications === true) return
    const text = `${name} sends no push notifications, as its card says`
    throw new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', text, {})
  }

  async call<O extends Unary>(
    operation: O,
    params: ClientRequests[O],
    options: CallOptions,
  ): Promise<ClientResults[O]> {
    if ('pushConfig' in params) this.requirePush()
    return await this.#withFailover(operation, options, (transport) =>
      transport.call(operation, params, options),
    )
  }

  /** Other interfaces are tried until the first event; from then on the stream is what it is. */
  async *stream<O extends Streaming>(
    operation: O,
    params: ClientRequests[O],
    options: StreamOptions,
  ): AsyncGenerator<StreamItem, undefined> {
    if ('pushConfig' in params) this.requirePush()
    const { items, first } = await this.#withFailover(operation, options, async (transport) => {
      const opened = transport.stream(operation, params, options)
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

  /** By the interface in use, else by the others in the card's order. Where none is left, the first error is the one to be told. */
  async #withFailover<T>(
    operation: Operation,
    { signal }: CallOptions,
    work: (transport: Transport) => Promise<T>,
  ): Promise<T> {
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
          this.settings.pacing,
          signal,
          (error) => isPassing(error) && (isIdempotent || isUndone(error)),
          () => work(transport),
        )
        this.#current = transport
        return result
      } catch (error) {
        failure ??= { error }
        // Where nobody is, there is no other interface either.
        if (A2AError.is(error, 'EXTERNAL_SERVICE_ERROR') && error.data.status === undefined)
          unreachableOrigins.add(origin)
        const mayTryNext = isUndone(error) || (isIdempotent && isTransportFailure(error))
        // What the agent answers, or may have done, outweighs that another way was closed.
        if (!mayTryNext || signal?.aborted) throw error
      }
    }
    throw failure?.error
  }
}

/** Whether the way to the agent failed, and not what it was asked. */
function isTransportFailure(error: unknown): boolean {
  return (
    A2AError.is(error, 'EXTERNAL_SERVICE_ERROR') ||
    A2AError.is(error, 'INVALID_AGENT_RESPONSE') ||
    A2AError.is(error, 'REQUEST_TIMED_OUT')
  )
}

interface Page {
  /** Empty on the last one. */
  readonly nextPageToken: string
}

/** `first`, and the pages after it. An agent that names a page again has no more to say. */
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
