/**
 * Subscription to the events of one task, read at the pace of the reader.
 *
 * @module
 */
import { endError } from './errors.js'
import type { TaskStreamEvent } from './events.js'
import { readParams, readGeneration, readSignal } from './validate.js'
import { freezeDeep } from './json.js'
import type { TaskState } from './lifecycle.js'
import type { TaskRecord } from './task-record.js'

export interface SubscribeOptions {
  /**
   * The generation of the last event that the reader has: the next one yielded is the one after it. Default is none:
   * the subscription begins with a `snapshot` of the task.
   */
  readonly after?: number | undefined
  /** Ends the subscription when it aborts. */
  readonly signal?: AbortSignal | undefined
}

/** The events of one task. `return()` ends it, also while `next()` waits. */
export interface TaskSubscription<S extends string = TaskState> extends AsyncIterableIterator<
  TaskStreamEvent<S>
> {
  next: () => Promise<IteratorResult<TaskStreamEvent<S>, undefined>>
  return: () => Promise<IteratorResult<TaskStreamEvent<S>, undefined>>
}

/** What comes after `cursor`: an event, the whole task where that event is no longer held, or nothing yet. */
export function entryAfter<S extends string>(
  record: TaskRecord<S>,
  cursor: number,
  logSize: number,
): TaskStreamEvent<S> | undefined {
  const { task } = record
  if (cursor === task.generation) return undefined
  const event = record.log.at(cursor + 1, task, logSize)
  return event === undefined ? caughtUp('resync', record) : freezeDeep(event)
}

/** The whole task, in place of its events. */
export function caughtUp<S extends string>(
  type: 'snapshot' | 'resync',
  record: TaskRecord<S>,
): TaskStreamEvent<S> {
  const task = record.snapshot()
  return Object.freeze({
    type,
    taskId: task.id,
    generation: task.generation,
    timestamp: task.updatedAt,
    task,
  })
}

/**
 * Reads the record's log from a cursor. The log is the only buffer there is: a reader costs nothing while he is slow,
 * and gets a `resync` when the log has moved past him.
 */
export function subscribeTo<S extends string>(
  record: TaskRecord<S>,
  isTerminal: (state: S) => boolean,
  logSize: number,
  options: SubscribeOptions,
): TaskSubscription<S> {
  const given = readParams(options, ['after', 'signal'], 'subscribe')
  const after = readGeneration(given.after, 'after')
  return new LogReader(record, isTerminal, logSize, after, readSignal(given.signal))
}

type Result<S extends string> = IteratorResult<TaskStreamEvent<S>, undefined>

/** Not a generator: of one that waits, `return()` is heard only when the next event wakes it; and it is slower. */
class LogReader<S extends string> implements TaskSubscription<S> {
  readonly #record: TaskRecord<S>
  readonly #isTerminal: (state: S) => boolean
  readonly #logSize: number
  readonly #signal: AbortSignal | undefined
  #cursor: number | undefined
  #isClosed = false
  /** Settles when the `next()` that waits has its event: those that are called meanwhile come after it. */
  #waiting: Promise<unknown> | undefined
  #wake: () => void = () => {}

  constructor(
    record: TaskRecord<S>,
    isTerminal: (state: S) => boolean,
    logSize: number,
    after: number | undefined,
    signal: AbortSignal | undefined,
  ) {
    this.#record = record
    this.#isTerminal = isTerminal
    this.#logSize = logSize
    this.#cursor = after
    this.#signal = signal
    signal?.addEventListener('abort', this.#stop, { once: true })
  }

  next(): Promise<Result<S>> {
    if (this.#waiting !== undefined) return this.#waiting.then(() => this.next())
    const record = this.#record
    // It may have aborted before the first read, and fires but once.
    if (this.#isClosed || this.#signal?.aborted) return this.return()
    const entry =
      this.#cursor === undefined
        ? caughtUp('snapshot', record)
        : entryAfter(record, this.#cursor, this.#logSize)
    if (entry !== undefined) {
      this.#cursor = entry.generation
      return Promise.resolve({ done: false, value: entry })
    }
    if (this.#isTerminal(record.task.state)) return this.return()
    if (record.endReason === undefined) return this.#wait()
    this.#stop()
    return Promise.reject(endError(record.endReason, record.task.id))
  }

  return(): Promise<Result<S>> {
    this.#stop()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #wait(): Promise<Result<S>> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
      this.#record.watch().wakers.add(resolve)
    })
    const next = woken.then(() => {
      this.#waiting = undefined
      return this.next()
    })
    // A `next()` after one that fails finds the end.
    this.#waiting = next.catch(() => undefined)
    return next
  }

  readonly #stop = (): void => {
    this.#isClosed = true
    this.#signal?.removeEventListener('abort', this.#stop)
    this.#record.watchers?.wakers.delete(this.#wake)
    this.#wake()
  }
}
