/**
 * A task's events as they come, whichever process they come from.
 *
 * @module
 */
import { ended, taskNotFound } from '../../core/errors.js'
import type { TaskEvent, TaskStreamEvent } from '../../core/events.js'
import { read, takeGeneration, takeSignal } from '../../core/validate.js'
import { freezeDeep } from '../../core/json.js'
import { caughtUp, type SubscribeOptions, type TaskSubscription } from '../../core/subscription.js'
import type { Mirrors } from './task-cache.js'
import { sizeOf } from './checkpoint.js'
import type { TaskMirror } from './cached-task.js'
import type { TaskKey } from '../../core/task.js'

type Result<S extends string> = IteratorResult<TaskStreamEvent<S>, undefined>

/** How much of the store's log a reader holds, about, and how many events at most. */
const PAGE_BYTES = 65_536
const MAX_PAGE = 500
/** How fast pages grow: the first is of one event, since nobody knows how large they are. */
const GROWTH = 4

/** What a reader needs of its manager. */
export interface ReaderHost<S extends string> {
  readonly mirrors: Pick<Mirrors<S>, 'take' | 'takeFollowed'>
  /** Events from the store's log. */
  readonly fetch: (key: TaskKey, after: number, limit: number) => Promise<readonly TaskEvent<S>[]>
  /** Somebody wants to hear of what others do. */
  readonly onWaiting: () => void
}

/**
 * Reads from the mirror what it has of the log, and from the store what it has not. A reader that is slow costs nothing: the
 * store's log is the buffer. Between two reads nothing but the task's key is kept: one that is left is forgotten.
 */
export class StoreReader<S extends string> implements TaskSubscription<S> {
  readonly #host: ReaderHost<S>
  readonly #taskId: string
  readonly #signal: AbortSignal | undefined
  /** The task, once it has been found. */
  #key: TaskKey | undefined
  #cursor: number | undefined
  #fetched: TaskEvent<S>[] = []
  #pageSize = 1
  #isOver = false
  /** Each `next()` comes after the one before it. */
  #latest: Promise<unknown> = Promise.resolve()
  #wake: () => void = () => {}
  /** Ends the `next()` that waits, whatever it waits for. */
  #leave: () => void = () => {}

  constructor(host: ReaderHost<S>, taskId: string, options: SubscribeOptions) {
    const given = read(options, ['after', 'signal'], 'subscribe')
    this.#host = host
    this.#taskId = taskId
    this.#cursor = takeGeneration(given.after, 'after')
    this.#signal = takeSignal(given.signal)
    this.#signal?.addEventListener('abort', this.#stop, { once: true })
  }

  next(): Promise<Result<S>> {
    const next = this.#latest.then(
      () =>
        new Promise<Result<S>>((resolve, reject) => {
          this.#leave = () => resolve({ done: true, value: undefined })
          this.#next().then(resolve, reject)
        }),
    )
    this.#latest = next.catch(() => undefined)
    return next
  }

  /** All that there is now, and ends. */
  async rest(): Promise<TaskStreamEvent<S>[]> {
    const entries: TaskStreamEvent<S>[] = []
    const mirror = await this.#find()
    this.#pageSize = MAX_PAGE
    try {
      while (this.#cursor !== mirror.record.task.generation) {
        const entry = await this.#entryAfter(mirror)
        this.#cursor = entry.generation
        entries.push(entry)
      }
      return entries
    } finally {
      mirror.uses -= 1
    }
  }

  return(): Promise<Result<S>> {
    this.#stop()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #next(): Promise<Result<S>> {
    if (this.#isStopped()) return await this.return()
    try {
      const mirror = await this.#find()
      try {
        const result = await this.#read(mirror)
        if (!this.#isOver) this.#linger(mirror)
        return result
      } finally {
        mirror.uses -= 1
      }
    } catch (error) {
      this.#end()
      throw error
    }
  }

  async #read(mirror: TaskMirror<S>): Promise<Result<S>> {
    const { record } = mirror
    while (!this.#isStopped()) {
      if (this.#cursor !== record.task.generation) {
        const entry = await this.#entryAfter(mirror)
        // It may have been left while the store was asked.
        if (this.#isStopped()) break
        this.#cursor = entry.generation
        // Nothing comes after it.
        if (mirror.hasEnded && this.#cursor === record.task.generation) this.#end()
        return { done: false, value: entry }
      }
      if (mirror.hasEnded) break
      if (record.over !== undefined) throw ended(record.over, this.#taskId)
      await this.#wait(mirror)
    }
    return await this.return()
  }

  #isStopped(): boolean {
    // It may have aborted before the first read, and fires but once.
    return this.#isOver || this.#signal?.aborted === true
  }

  /** The task, counted as in use until it is given back. */
  async #find(): Promise<TaskMirror<S>> {
    const { mirrors } = this.#host
    const key = this.#key
    const followed = key === undefined ? undefined : mirrors.takeFollowed(key)
    const mirror = followed ?? (await mirrors.take(this.#taskId, true))
    if (key !== undefined && mirror?.key.createdAt !== key.createdAt) {
      // Another task has its id.
      if (mirror !== undefined) mirror.uses -= 1
      throw ended('TASK_EXPIRED', this.#taskId)
    }
    if (mirror === undefined) throw taskNotFound(this.#taskId)
    this.#key = mirror.key
    return mirror
  }

  /** Most readers come back at once: it is looked after until then, for a while. */
  #linger(mirror: TaskMirror<S>): void {
    mirror.linger()
    this.#host.onWaiting()
  }

  /** What comes next, where the cursor is not where the task is. */
  async #entryAfter(mirror: TaskMirror<S>): Promise<TaskStreamEvent<S>> {
    const { record, logSize } = mirror
    const cursor = this.#cursor
    if (cursor === undefined) return caughtUp('snapshot', record)
    const event = this.#shift(cursor) ?? record.log.at(cursor + 1, record.task, logSize)
    if (event !== undefined) return freezeDeep(event)
    if (cursor > record.task.generation) return caughtUp('resync', record)
    // What the mirror does not know of yet is read when it does.
    const events = await this.#host.fetch(mirror.key, cursor, this.#pageSize)
    const fitting = Math.floor((events.length * PAGE_BYTES) / Math.max(1, sizeOf(events)))
    this.#pageSize = Math.max(1, Math.min(GROWTH * this.#pageSize, fitting, MAX_PAGE))
    this.#fetched = [...events]
    return this.#shift(cursor) ?? caughtUp('resync', record)
  }

  /** What was fetched after `cursor`. */
  #shift(cursor: number): TaskEvent<S> | undefined {
    return this.#fetched[0]?.generation === cursor + 1 ? this.#fetched.shift() : undefined
  }

  async #wait({ record }: TaskMirror<S>): Promise<void> {
    const { wakers } = record.follow()
    this.#host.onWaiting()
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      wakers.add(resolve)
    })
    wakers.delete(this.#wake)
  }

  readonly #stop = (): void => {
    this.#end()
    this.#leave()
    this.#wake()
  }

  #end(): void {
    this.#isOver = true
    this.#fetched = []
    this.#signal?.removeEventListener('abort', this.#stop)
  }
}
