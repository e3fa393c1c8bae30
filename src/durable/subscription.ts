/**
 * A task's events as they come, whichever process they come from.
 *
 * @module
 */
import { ended, taskNotFound } from '../core/errors.js'
import type { TaskEvent, TaskStreamEvent } from '../core/events.js'
import { read, takeGeneration, takeSignal } from '../core/intake.js'
import { freezeDeep } from '../core/json.js'
import { isTerminal } from '../core/lifecycle.js'
import { caughtUp, type SubscribeOptions, type TaskSubscription } from '../core/subscription.js'
import type { TaskMirror } from './task-mirror.js'

type Result<S extends string> = IteratorResult<TaskStreamEvent<S>, undefined>

/** What a reader needs of its manager. */
export interface ReaderHost<S extends string> {
  /** The task, with all that others had done by now, counted as in use until it is given back. */
  readonly take: (taskId: string) => Promise<TaskMirror<S> | undefined>
  /** Events from the store's log. */
  readonly fetch: (mirror: TaskMirror<S>, after: number) => Promise<readonly TaskEvent<S>[]>
  readonly onWaiting: () => void
}

/**
 * Reads from the mirror what it has of the log, and from the store what it has not. A reader that is slow costs nothing: the
 * store's log is the buffer.
 */
export class StoreReader<S extends string> implements TaskSubscription<S> {
  readonly #host: ReaderHost<S>
  readonly #taskId: string
  readonly #signal: AbortSignal | undefined
  #mirror: TaskMirror<S> | undefined
  #cursor: number | undefined
  #fetched: TaskEvent<S>[] = []
  #isOver = false
  /** Each `next()` comes after the one before it. */
  #latest: Promise<unknown> = Promise.resolve()
  #wake: () => void = () => {}

  constructor(host: ReaderHost<S>, taskId: string, options: SubscribeOptions) {
    const given = read(options, ['after', 'signal'], 'subscribe')
    this.#host = host
    this.#taskId = taskId
    this.#cursor = takeGeneration(given.after, 'after')
    this.#signal = takeSignal(given.signal)
    this.#signal?.addEventListener('abort', this.#stop, { once: true })
  }

  next(): Promise<Result<S>> {
    const next = this.#latest.then(() => this.#next())
    this.#latest = next.catch(() => undefined)
    return next
  }

  /** All that there is now, and ends. */
  async rest(): Promise<TaskStreamEvent<S>[]> {
    const entries: TaskStreamEvent<S>[] = []
    try {
      const mirror = await this.#find()
      while (this.#cursor !== mirror.record.task.generation) {
        const entry = await this.#entryAfter(mirror)
        this.#cursor = entry.generation
        entries.push(entry)
      }
      return entries
    } finally {
      this.#stop()
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
    try {
      while (!this.#isStopped()) {
        const mirror = this.#mirror ?? (await this.#find())
        const { record } = mirror
        if (this.#cursor !== record.task.generation) {
          const entry = await this.#entryAfter(mirror)
          // It may have been left while the store was asked.
          if (this.#isStopped()) break
          this.#cursor = entry.generation
          return { done: false, value: entry }
        }
        if (isTerminal(record.task.state, mirror.lifecycle)) break
        if (record.over !== undefined) throw ended(record.over, this.#taskId)
        await this.#wait(mirror)
      }
    } catch (error) {
      this.#stop()
      throw error
    }
    return await this.return()
  }

  #isStopped(): boolean {
    // It may have aborted before the first read, and fires but once.
    return this.#isOver || this.#signal?.aborted === true
  }

  async #find(): Promise<TaskMirror<S>> {
    const mirror = await this.#host.take(this.#taskId)
    if (mirror === undefined) throw taskNotFound(this.#taskId)
    this.#mirror = mirror
    if (this.#isOver) this.#giveBack()
    return mirror
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
    this.#fetched = [...(await this.#host.fetch(mirror, cursor))]
    return this.#shift(cursor) ?? caughtUp('resync', record)
  }

  /** What was fetched after `cursor`. */
  #shift(cursor: number): TaskEvent<S> | undefined {
    return this.#fetched[0]?.generation === cursor + 1 ? this.#fetched.shift() : undefined
  }

  #wait({ record }: TaskMirror<S>): Promise<void> {
    const woken = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    record.follow().wakers.add(this.#wake)
    this.#host.onWaiting()
    return woken
  }

  readonly #stop = (): void => {
    if (this.#isOver) return
    this.#isOver = true
    this.#signal?.removeEventListener('abort', this.#stop)
    this.#giveBack()
    this.#wake()
  }

  #giveBack(): void {
    const mirror = this.#mirror
    if (mirror === undefined) return
    mirror.uses -= 1
    mirror.record.followers?.wakers.delete(this.#wake)
    this.#mirror = undefined
  }
}
