/**
 * Subscription to the log of one stored task, whichever process writes it.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import { endError, taskNotFound } from '../../core/errors.js'
import type { TaskEvent, TaskStreamEvent } from '../../core/events.js'
import { readBoolean, readParams, readGeneration, readSignal } from '../../core/validate.js'
import { freezeDeep } from '../../core/json.js'
import { keepAlive } from '../../runtime/timers.js'
import {
  caughtUp,
  SUBSCRIBE_KEYS,
  type SubscribeOptions,
  type TaskSubscription,
} from '../../core/subscription.js'
import { sizeOf } from './checkpoint.js'
import type { CachedTask } from './cached-task.js'
import type { DurableContext } from '../context.js'
import type { TaskKey } from '../../core/task.js'

type Result<S extends string> = IteratorResult<TaskStreamEvent<S>, undefined>

/** Approximate limit of the events that a reader holds, in bytes, and the limit of their number. */
const PAGE_BYTES = 65_536
const MAX_PAGE = 500
/** Growth factor of pages. The first page has one event, since the size of the events is unknown. */
const GROWTH = 4

/** The collaborators of a {@link LogReader}. */
type ReaderContext<S extends string> = Pick<DurableContext<S>, 'cache' | 'listing' | 'watcher'>

/**
 * Reads the recent part of the log from memory and the rest from the store. The store's log is the buffer, so a slow reader
 * costs no memory: between two reads it keeps the task's key, its cursor and at most one page.
 */
export class LogReader<S extends string> implements TaskSubscription<S> {
  readonly #context: ReaderContext<S>
  readonly #taskId: string
  readonly #keepsAlive: boolean
  /** Set when the task is found. */
  #key: TaskKey | undefined
  #cursor: number | undefined
  #fetched: TaskEvent<S>[] = []
  #pageSize = 1
  #hasEnded = false
  /** Each `next()` starts after the previous one settles. */
  #previous: Promise<unknown> = Promise.resolve()
  #wake: () => void = () => {}
  /** Resolves the pending `next()` as done. */
  #finish: () => void = () => {}
  #ignore: () => void = () => {}

  constructor(context: ReaderContext<S>, taskId: string, options: SubscribeOptions) {
    const given = readParams(options, SUBSCRIBE_KEYS, 'subscribe')
    this.#keepsAlive = readBoolean(given.keepAlive ?? true, 'keepAlive')
    this.#context = context
    this.#taskId = taskId
    this.#cursor = readGeneration(given.after, 'after')
    this.#ignore = onAbort(readSignal(given.signal), () => this.#stop())
  }

  next(): Promise<Result<S>> {
    const next = this.#previous.then(
      () =>
        new Promise<Result<S>>((resolve, reject) => {
          this.#finish = () => resolve({ done: true, value: undefined })
          this.#next().then(resolve, reject)
        }),
    )
    this.#previous = next.catch(() => undefined)
    return next
  }

  /** Every event up to the present. */
  async rest(): Promise<TaskStreamEvent<S>[]> {
    const entries: TaskStreamEvent<S>[] = []
    const cached = await this.#find()
    this.#pageSize = MAX_PAGE
    try {
      while (this.#cursor !== cached.record.task.generation) {
        const entry = await this.#entryAfter(cached)
        this.#cursor = entry.generation
        entries.push(entry)
      }
      return entries
    } finally {
      cached.uses -= 1
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
      const cached = await this.#find()
      try {
        const result = await this.#read(cached)
        if (!this.#hasEnded) this.#linger(cached)
        return result
      } finally {
        cached.uses -= 1
      }
    } catch (error) {
      this.#end()
      throw error
    }
  }

  async #read(cached: CachedTask<S>): Promise<Result<S>> {
    const { record } = cached
    while (!this.#isStopped()) {
      if (this.#cursor !== record.task.generation) {
        const entry = await this.#entryAfter(cached)
        // The reader may have been stopped during the read.
        if (this.#isStopped()) break
        this.#cursor = entry.generation
        if (cached.hasEnded && this.#cursor === record.task.generation) this.#end()
        return { done: false, value: entry }
      }
      if (cached.hasEnded) break
      if (record.endReason !== undefined) throw endError(record.endReason, this.#taskId)
      await this.#wait(cached)
    }
    return await this.return()
  }

  #isStopped(): boolean {
    return this.#hasEnded
  }

  /** The task, with `uses` incremented. */
  async #find(): Promise<CachedTask<S>> {
    const { cache } = this.#context
    const key = this.#key
    const watched = key === undefined ? undefined : cache.retainWatched(key)
    const cached = watched ?? (await cache.retain(this.#taskId, true))
    if (key !== undefined && cached?.key.createdAt !== key.createdAt) {
      // A new task has the id.
      if (cached !== undefined) cached.uses -= 1
      throw endError('TASK_EXPIRED', this.#taskId)
    }
    if (cached === undefined) throw taskNotFound(this.#taskId)
    this.#key = cached.key
    return cached
  }

  /** Most readers return at once: the task is watched until the next poll at least. */
  #linger(cached: CachedTask<S>): void {
    cached.linger()
    this.#context.watcher.begin()
  }

  /** The entry after the cursor, which is not the task's generation. */
  async #entryAfter(cached: CachedTask<S>): Promise<TaskStreamEvent<S>> {
    const { record, logSize } = cached
    const cursor = this.#cursor
    if (cursor === undefined) return caughtUp('snapshot', record)
    const event = this.#shift(cursor) ?? record.log.at(cursor + 1, record.task, logSize)
    if (event !== undefined) return freezeDeep(event)
    if (cursor > record.task.generation) return caughtUp('resync', record)
    const events = await this.#context.listing.events(cached.key, cursor, this.#pageSize)
    const fitting = Math.floor((events.length * PAGE_BYTES) / Math.max(1, sizeOf(events)))
    this.#pageSize = Math.max(1, Math.min(GROWTH * this.#pageSize, fitting, MAX_PAGE))
    this.#fetched = [...events]
    return this.#shift(cursor) ?? caughtUp('resync', record)
  }

  /** The fetched event after `cursor`. */
  #shift(cursor: number): TaskEvent<S> | undefined {
    return this.#fetched[0]?.generation === cursor + 1 ? this.#fetched.shift() : undefined
  }

  async #wait({ record }: CachedTask<S>): Promise<void> {
    const { wakers } = record.watch()
    this.#context.watcher.begin()
    // The timer of polls does not keep the process alive.
    const letGo = this.#keepsAlive ? keepAlive() : undefined
    await new Promise<void>((resolve) => {
      this.#wake = resolve
      wakers.add(resolve)
    })
    letGo?.()
    wakers.delete(this.#wake)
  }

  readonly #stop = (): void => {
    this.#end()
    this.#finish()
    this.#wake()
  }

  #end(): void {
    this.#hasEnded = true
    this.#fetched = []
    this.#ignore()
  }
}
