/**
 * One subscription of a database client for all stores of this process that listen over it.
 *
 * @module
 */
import { onAbort } from '../runtime/abort.js'
import { sharedByCopies } from '../runtime/environment.js'

/** A connection that listens. Methods are called one after the other for a channel. */
export interface ListeningSession {
  /** Resolves once the channel is listened to, also after interruptions. */
  add(channel: string): Promise<unknown>
  remove(channel: string): Promise<unknown>
}

/**
 * Opens a connection that listens until `signal` aborts. `onGap` is called when it listens again after an interruption.
 */
export type OpenListening = (
  onMessage: (channel: string, message: string) => void,
  onGap: () => void,
  signal: AbortSignal,
) => Promise<ListeningSession>

interface Subscriber {
  readonly onMessage: (message: string) => void
  readonly onGap: () => void
}

interface Opening {
  readonly session: Promise<ListeningSession>
  readonly ending: AbortController
}

/** Opens its connection for the first that listens, and closes it when the last has stopped. */
export class SharedListener {
  readonly #open: OpenListening
  readonly #channels = new Map<string, Set<Subscriber>>()
  #opening: Opening | undefined

  constructor(open: OpenListening) {
    this.#open = open
  }

  /** Resolves once the channel is listened to, or `signal` aborts, to a function that stops it. */
  async listen(channel: string, subscriber: Subscriber, signal?: AbortSignal): Promise<() => void> {
    // It would open a connection that nothing closes.
    if (signal?.aborted) return () => undefined
    const stop = this.#enter(channel, subscriber)
    let ignoreAbort = (): void => undefined
    const aborted = new Promise<void>((resolve) => {
      if (signal === undefined) return
      ignoreAbort = onAbort(signal, () => {
        stop()
        resolve()
      })
    })
    try {
      await Promise.race([this.#add(channel), aborted])
    } catch (error) {
      ignoreAbort()
      stop()
      throw error
    }
    return () => {
      ignoreAbort()
      stop()
    }
  }

  #enter(channel: string, subscriber: Subscriber): () => void {
    const all = this.#channels.get(channel) ?? new Set<Subscriber>()
    this.#channels.set(channel, all.add(subscriber))
    return () => {
      if (all.delete(subscriber) && all.size === 0) this.#leave(channel)
    }
  }

  #leave(channel: string): void {
    this.#channels.delete(channel)
    const { session, ending } = this.#opening ?? {}
    if (this.#channels.size === 0) {
      this.#opening = undefined
      ending?.abort()
    } else {
      // A channel that no store listens to costs little.
      session?.then((opened) => opened.remove(channel)).catch(() => undefined)
    }
  }

  async #add(channel: string): Promise<void> {
    const opening = (this.#opening ??= this.#begin())
    const session = await opening.session.catch((error: unknown) => {
      // All that wait for it learn of the error. The next that listens tries again.
      if (this.#opening === opening) this.#opening = undefined
      opening.ending.abort()
      throw error
    })
    await session.add(channel)
  }

  #begin(): Opening {
    const ending = new AbortController()
    const onMessage = (channel: string, message: string): void => {
      if (ending.signal.aborted) return
      for (const subscriber of [...(this.#channels.get(channel) ?? [])]) subscriber.onMessage(message)
    }
    const onGap = (): void => {
      if (ending.signal.aborted) return
      for (const all of [...this.#channels.values()]) for (const subscriber of [...all]) subscriber.onGap()
    }
    return { session: this.#open(onMessage, onGap, ending.signal), ending }
  }
}

/** The listeners of this process, also those of other copies of this library. */
const LISTENERS = Symbol.for('a2a-tasks.listeners.1')

/** The listener of a client, which all stores over it share. */
export function listenerOf(client: object, open: OpenListening): SharedListener {
  const listeners = sharedByCopies(LISTENERS, () => new WeakMap<object, SharedListener>())
  const listener = listeners.get(client) ?? new SharedListener(open)
  listeners.set(client, listener)
  return listener
}
