/**
 * Event emitter of the managers. A failing listener affects neither other listeners nor the change that it is notified
 * of.
 *
 * @module
 */
import { EventEmitter } from 'eventemitter3'
import type { TaskEvent, TaskEvents } from './events.js'
import { freezeDeep } from './json.js'
import type { TaskState } from './lifecycle.js'
import { throwLater } from '../runtime/uncaught.js'
import type { TaskSnapshot } from './task.js'

type EventName<S extends string> = keyof TaskEvents<S>
export type ListenerOf<S extends string, E extends EventName<S>> = EventEmitter.EventListener<
  TaskEvents<S>,
  E
>
// The payload type differs by event; this class only forwards it.
type Listener = (this: unknown, payload: never) => unknown

export class TaskEmitter<S extends string = TaskState> extends EventEmitter<TaskEvents<S>> {
  /** Wrapped listeners by the original, and originals by the wrapped listener. */
  readonly #guarded = new WeakMap<Listener, Listener>()
  readonly #originals = new WeakMap<Listener, Listener>()
  #event = ''
  /** Unset after a change of the listeners. */
  #isHeard: boolean | undefined
  readonly #queue: (() => void)[] = []
  #delivering = false

  /**
   * Calls `listener` with every payload of `event` from now on, in the order of the changes. What it throws, or its
   * promise rejects with, is emitted as `listener:error`.
   */
  override on<E extends EventName<S>>(event: E, listener: ListenerOf<S, E>, context?: unknown): this {
    this.#isHeard = undefined
    return super.on(event, this.#guard(listener) as never, context)
  }

  override addListener<E extends EventName<S>>(
    event: E,
    listener: ListenerOf<S, E>,
    context?: unknown,
  ): this {
    return this.on(event, listener, context)
  }

  /** Like {@link on}, for the next payload only. */
  override once<E extends EventName<S>>(event: E, listener: ListenerOf<S, E>, context?: unknown): this {
    this.#isHeard = undefined
    return super.once(event, this.#guard(listener) as never, context)
  }

  /** Removes a listener of {@link on} or {@link once}. Without `listener`: all listeners of the event. */
  override off<E extends EventName<S>>(
    event: E,
    listener?: ListenerOf<S, E>,
    context?: unknown,
    once?: boolean,
  ): this {
    return this.removeListener(event, listener, context, once)
  }

  override removeListener<E extends EventName<S>>(
    event: E,
    listener?: ListenerOf<S, E>,
    context?: unknown,
    once?: boolean,
  ): this {
    this.#isHeard = undefined
    if (listener === undefined) return super.removeListener(event)
    // eventemitter3 itself calls this with a wrapped listener.
    return super.removeListener(event, (this.#guarded.get(listener) ?? listener) as never, context, once)
  }

  override removeAllListeners(event?: EventName<S>): this {
    this.#isHeard = undefined
    return super.removeAllListeners(event)
  }

  override listeners<E extends EventName<S>>(event: E): ListenerOf<S, E>[] {
    // Each listener was registered for this event.
    return super
      .listeners(event)
      .map((guarded) => (this.#originals.get(guarded) ?? guarded) as ListenerOf<S, E>)
  }

  override emit<E extends EventName<S>>(
    event: E,
    ...payload: EventEmitter.EventArgs<TaskEvents<S>, E>
  ): boolean {
    const outer = this.#event
    this.#event = event
    try {
      return super.emit(event, ...payload)
    } finally {
      this.#event = outer
    }
  }

  /**
   * Emits `event` after all jobs that were posted before. Creates the payload now, and only if the event has listeners.
   */
  protected notify<E extends EventName<S>>(event: E, payload: () => Parameters<TaskEvents<S>[E]>[0]): void {
    if (this.listenerCount(event) === 0) return
    // Each event has exactly one payload, so this is its argument list.
    const args = [payload()] as EventEmitter.EventArgs<TaskEvents<S>, E>
    this.post(() => this.emit(event, ...args))
  }

  /** Whether any event has a listener. Most managers in a server have none, and make no payloads. */
  protected get isHeard(): boolean {
    return (this.#isHeard ??= this.eventNames().length > 0)
  }

  /** Emits the manager's events for changes that have been applied. */
  protected notifyAll(events: readonly TaskEvent<S>[], show: () => TaskSnapshot<S>): void {
    if (!this.isHeard) return
    for (const event of events) {
      if (event.type !== 'status' || event.from === event.to) continue
      const { taskId, from, to, timestamp, generation } = event
      this.notify('task:stateChange', () => Object.freeze({ taskId, from, to, timestamp, generation }))
    }
    for (const event of events) {
      this.notify('task:event', () => freezeDeep(event))
      if (event.type === 'artifact') this.notify('task:artifact', () => freezeDeep(event))
      if (event.type === 'message') this.notify('task:message', () => freezeDeep(event))
    }
    if (events.some(({ type }) => type !== 'journal')) this.notify('task:updated', show)
  }

  /** Runs `job` after all jobs that were posted before. */
  protected readonly post = (job: () => void): void => {
    this.#queue.push(job)
  }

  /**
   * Runs posted jobs until none is left. A call from within a job does nothing: the outermost call continues, so every
   * listener receives the effects of a change after the change itself.
   */
  protected deliver(): void {
    if (this.#delivering) return
    this.#delivering = true
    // Listeners can post jobs without end, so finished jobs are removed from the queue before the next batch.
    while (this.#queue.length > 0) {
      for (const job of this.#queue.splice(0)) {
        try {
          job()
        } catch (error) {
          throwLater(error)
        }
      }
    }
    this.#delivering = false
  }

  #guard(listener: Listener): Listener {
    if (typeof listener !== 'function') throw new TypeError('The listener must be a function')
    const known = this.#guarded.get(listener)
    if (known !== undefined) return known
    const currentEvent = (): string => this.#event
    const report = (error: unknown, event: string): void => this.#report(error, event)
    const guarded: Listener = function (payload) {
      const event = currentEvent()
      try {
        const result = listener.call(this, payload)
        if (isThenable(result)) result.then(undefined, (error: unknown) => report(error, event))
      } catch (error) {
        report(error, event)
      }
    }
    this.#guarded.set(listener, guarded)
    this.#originals.set(guarded, listener)
    return guarded
  }

  #report(error: unknown, event: string): void {
    if (event === 'listener:error' || this.listenerCount('listener:error') === 0) throwLater(error)
    else this.emit('listener:error', { error, event })
  }
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}
