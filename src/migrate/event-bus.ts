/**
 * The event bus that an executor publishes to.
 *
 * @module
 */

type Listener = (event?: unknown) => void

/** What a bus calls. */
export interface BusOwner {
  /** Applies an event of the executor. Never throws. */
  publish(event: unknown): void
  finished(): void
  onListenerError(error: unknown): void
}

const EVENT_NAMES = ['event', 'finished']

/**
 * An `ExecutionEventBus` of the SDK. As there, `publish` does not throw, so it can be called from timers and listeners. An
 * event is applied before the listeners receive it, and nothing is buffered.
 */
export class EventBus {
  readonly #owner: BusOwner
  #listeners: { readonly name: string; readonly listener: Listener; readonly call: Listener }[] = []

  constructor(owner: BusOwner) {
    this.#owner = owner
  }

  publish(event: unknown): void {
    this.#owner.publish(event)
    this.#emit('event', event)
  }

  finished(): void {
    this.#owner.finished()
    this.#emit('finished')
  }

  on(name: string, listener: Listener): this {
    return this.#add(name, listener, listener)
  }

  once(name: string, listener: Listener): this {
    const call: Listener = (event) => {
      this.#listeners = this.#listeners.filter((each) => each.call !== call)
      listener(event)
    }
    return this.#add(name, listener, call)
  }

  /** Removes the first registration of the listener. */
  off(name: string, listener: Listener): this {
    const index = this.#listeners.findIndex((each) => each.name === name && each.listener === listener)
    this.#listeners = this.#listeners.filter((_, at) => at !== index)
    return this
  }

  removeAllListeners(name?: string): this {
    this.#listeners = name === undefined ? [] : this.#listeners.filter((each) => each.name !== name)
    return this
  }

  #add(name: string, listener: Listener, call: Listener): this {
    if (!EVENT_NAMES.includes(name)) {
      throw new TypeError(`An event bus has the events ${EVENT_NAMES.join(' and ')}, not "${name}"`)
    }
    this.#listeners = [...this.#listeners, { name, listener, call }]
    return this
  }

  #emit(name: string, ...event: [] | [unknown]): void {
    for (const { name: given, call } of this.#listeners) {
      if (given !== name) continue
      try {
        call(...event)
      } catch (error) {
        this.#owner.onListenerError(error)
      }
    }
  }
}
