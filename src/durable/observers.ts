/**
 * Observers of one manager: which tasks its process holds, and what other processes do to them.
 *
 * @module
 */
import type { Announce, TasksObserver } from '../core/managers.js'
import { throwLater } from '../runtime/uncaught.js'
import type { TaskEvent } from '../core/events.js'
import type { TaskKey, TaskSnapshot } from '../core/task.js'
import { storableTrace, type TraceHeaders } from '../runtime/trace-headers.js'

const atOnce: Announce = (announce) => announce()

export class Observers<S extends string> implements TasksObserver<S> {
  readonly #observers = new Set<TasksObserver<S>>()

  /** @returns A function that removes the observer. */
  add(observer: TasksObserver<S>): () => void {
    this.#observers.add(observer)
    return () => this.#observers.delete(observer)
  }

  /** The result announces each change once, whatever the observers do. */
  bind(): Announce {
    if (this.#observers.size === 0) return atOnce
    let bound = atOnce
    this.#each((observer) => {
      const outer = bound
      const inner = observer.bind()
      bound = (announce) => outer(() => inner(announce))
    })
    return (announce) => announceOnce(announce, bound)
  }

  /** The trace of the first observer that has one. */
  trace(): TraceHeaders | undefined {
    let trace: TraceHeaders | undefined
    this.#each((observer) => {
      trace ??= storableTrace(observer.trace?.())
    })
    return trace
  }

  /** Calls `work` once, whatever the observers do. What it throws becomes an uncaught error. */
  within(trace: TraceHeaders | undefined, work: () => void): void {
    let bound = atOnce
    this.#each((observer) => {
      if (trace === undefined || observer.within === undefined) return
      const outer = bound
      bound = (inner) => outer(() => observer.within?.(trace, inner))
    })
    announceOnce(work, bound)
  }

  onHeld(task: TaskSnapshot<S>, isRequested: boolean, trace?: TraceHeaders): void {
    this.#each((observer) => observer.onHeld(task, isRequested, trace))
  }

  onRead(key: TaskKey, events: readonly TaskEvent<S>[]): void {
    this.#each((observer) => observer.onRead(key, events))
  }

  onLetGo(key: TaskKey, reason?: Error): void {
    this.#each((observer) => observer.onLetGo(key, reason))
  }

  onDestroyed(): void {
    this.#each((observer) => observer.onDestroyed())
    this.#observers.clear()
  }

  #each(call: (observer: TasksObserver<S>) => void): void {
    for (const observer of this.#observers) {
      try {
        call(observer)
      } catch (error) {
        throwLater(error)
      }
    }
  }
}

/** Streams and waiters depend on the announcement of each change. */
function announceOnce(announce: () => void, bound: Announce): void {
  let isAnnounced = false
  const once = (): void => {
    if (isAnnounced) return
    isAnnounced = true
    announce()
  }
  try {
    bound(once)
  } catch (error) {
    throwLater(error)
  }
  once()
}
