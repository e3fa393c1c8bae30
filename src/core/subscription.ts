/**
 * Subscription to the events of one task, at the pace of the reader.
 *
 * @module
 */
import { onAbort } from '../runtime/abort.js'
import { endError } from './errors.js'
import type { TaskStreamEvent } from './events.js'
import { readBoolean, readParams, readGeneration, readSignal } from './validate.js'
import { freezeDeep } from './json.js'
import type { TaskState } from './lifecycle.js'
import type { TaskRecord } from './task-record.js'

/** Options of `subscribe`. */
export interface SubscribeOptions {
  /**
   * The generation of the last event that the reader has received: the subscription continues with the next one.
   * Default is none: the subscription begins with a `snapshot` of the task.
   */
  readonly after?: number | undefined
  /** Ends the subscription when it aborts. */
  readonly signal?: AbortSignal | undefined
  /**
   * Over a store: whether a pending `next()` keeps the process alive. Default is `true`. Over memory, where only this process
   * can change the task, nothing that waits does.
   */
  readonly keepAlive?: boolean | undefined
}

export const SUBSCRIBE_KEYS = ['after', 'signal', 'keepAlive']

/** The events of one task. `return()` ends the subscription, also while a `next()` is pending. */
export interface TaskSubscription<S extends string = TaskState> extends AsyncIterableIterator<
  TaskStreamEvent<S>
> {
  next: () => Promise<IteratorResult<TaskStreamEvent<S>, undefined>>
  return: () => Promise<IteratorResult<TaskStreamEvent<S>, undefined>>
}

/**
 * The entry after `cursor`: an event, a `resync` if that event is no longer held, or `undefined` if there is none yet.
 */
function entryAfter<S extends string>(
  record: TaskRecord<S>,
  cursor: number,
  logSize: number,
): TaskStreamEvent<S> | undefined {
  if (cursor === record.head.generation) return undefined
  const event = record.eventAt(cursor + 1, logSize)
  return event === undefined ? caughtUp('resync', record) : freezeDeep(event)
}

/** All entries after the cursor `after`. */
export function entriesAfter<S extends string>(
  record: TaskRecord<S>,
  options: Pick<SubscribeOptions, 'after'>,
  logSize: number,
): TaskStreamEvent<S>[] {
  const cursor = readGeneration(readParams(options, ['after'], 'events').after, 'after') ?? 0
  const entries: TaskStreamEvent<S>[] = []
  for (let entry = entryAfter(record, cursor, logSize); entry;) {
    entries.push(entry)
    entry = entryAfter(record, entry.generation, logSize)
  }
  return entries
}

/** An entry with the whole task, in place of its events. */
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
 * Reads the record's log from a cursor. The log is the only buffer: a slow reader costs nothing, and receives a
 * `resync` when the log no longer holds its position.
 */
export function subscribeTo<S extends string>(
  record: TaskRecord<S>,
  isTerminal: (state: S) => boolean,
  logSize: number,
  options: SubscribeOptions,
): TaskSubscription<S> {
  const given = readParams(options, SUBSCRIBE_KEYS, 'subscribe')
  const after = readGeneration(given.after, 'after')
  readBoolean(given.keepAlive ?? true, 'keepAlive')
  return new RecordReader(record, isTerminal, logSize, after, readSignal(given.signal))
}

type Result<S extends string> = IteratorResult<TaskStreamEvent<S>, undefined>

/**
 * Not a generator: `return()` of a pending generator takes effect only with the next event. This class is also faster.
 */
class RecordReader<S extends string> implements TaskSubscription<S> {
  readonly #record: TaskRecord<S>
  readonly #isTerminal: (state: S) => boolean
  readonly #logSize: number
  #cursor: number | undefined
  #isClosed = false
  /** Settles with the pending `next()`. Further calls of `next()` wait for it. */
  #waiting: Promise<unknown> | undefined
  #wake: () => void = () => {}
  #ignore: () => void = () => {}

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
    this.#ignore = onAbort(signal, () => this.#stop())
  }

  next(): Promise<Result<S>> {
    if (this.#waiting !== undefined) return this.#waiting.then(() => this.next())
    const record = this.#record
    if (this.#isClosed) return this.return()
    const entry =
      this.#cursor === undefined
        ? caughtUp('snapshot', record)
        : entryAfter(record, this.#cursor, this.#logSize)
    if (entry !== undefined) {
      this.#cursor = entry.generation
      return Promise.resolve({ done: false, value: entry })
    }
    if (this.#isTerminal(record.head.state)) return this.return()
    if (record.endReason === undefined) return this.#wait()
    this.#stop()
    return Promise.reject(endError(record.endReason, record.head.id))
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
    // A `next()` after a failed one ends the iteration.
    this.#waiting = next.catch(() => undefined)
    return next
  }

  readonly #stop = (): void => {
    this.#isClosed = true
    this.#ignore()
    this.#record.watchers?.wakers.delete(this.#wake)
    this.#wake()
  }
}
