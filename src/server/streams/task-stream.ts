/**
 * A task's events as the protocol streams them.
 *
 * @module
 */
import type { TaskStreamEvent } from '../../core/events.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { TaskSubscription } from '../../core/subscription.js'
import type { TaskSnapshot } from '../../core/task.js'
import { outputEvent } from '../../wire/view.js'
import type { StreamEntry } from '../../wire/dialect.js'
import type { Source } from './frame-stream.js'

export interface EntryStreamOptions {
  /** Comes first: the task as it was when `subscription` begins. Absent where the subscription begins with it. */
  readonly opening?: TaskSnapshot | undefined
  readonly contextId: string
  readonly historyLength: number | undefined
  /** Whether the stream ends when the task waits for input (A2A 1.0 §3.1.2), or only when it ends (§3.1.6). */
  readonly endsAtInput: boolean
  /** The cursor that `subscription` begins after. */
  readonly after?: number | undefined
  /** The task as it is now; absent when it is gone. */
  readonly task: () => TaskSnapshot | undefined
  readonly onEnd: () => void
}

/**
 * The entries of one stream, each made when it is asked for: what the reader has not read lies in the task's log.
 * `return()` ends it, also while `next()` waits; the task goes on.
 */
export class EntryStream implements Source<StreamEntry> {
  readonly #subscription: TaskSubscription
  readonly #options: EntryStreamOptions
  #opening: TaskSnapshot | undefined
  /** How many `next()` there are that have not been answered: each comes after the one before it. */
  #pending = 0
  #latest: Promise<unknown> = Promise.resolve()
  #isOver = false
  #isClosing = false
  /** Of the latest event that was read. */
  #generation: number
  #failure: { readonly error: unknown } | undefined

  constructor(subscription: TaskSubscription, options: EntryStreamOptions) {
    this.#subscription = subscription
    this.#options = options
    this.#opening = options.opening
    this.#generation = options.after ?? 0
  }

  next(): Promise<IteratorResult<StreamEntry, undefined>> {
    return this.nextAs((entry) => entry)
  }

  nextAs<T>(map: (entry: StreamEntry) => T): Promise<IteratorResult<T, undefined>> {
    const take = (): Promise<IteratorResult<T, undefined>> => this.#take(map)
    const next = this.#pending === 0 ? take() : this.#latest.then(take, take)
    this.#pending += 1
    this.#latest = next
    return next
  }

  async #take<T>(map: (entry: StreamEntry) => T): Promise<IteratorResult<T, undefined>> {
    try {
      while (!this.#isOver && !this.#isClosed()) {
        const entry = this.#takeOpening() ?? this.#entryOf(await this.#subscription.next())
        if (entry === undefined) continue
        if (entry === 'end') break
        if (entry.last) this.#end()
        return { done: false, value: map(entry) }
      }
    } catch (error) {
      this.#end()
      throw error
    } finally {
      this.#pending -= 1
    }
    this.#end()
    if (this.#failure !== undefined) {
      const { error } = this.#failure
      this.#failure = undefined
      throw error
    }
    return { done: true, value: undefined }
  }

  /** The task that the entries are of, as it is now. */
  task(): TaskSnapshot | undefined {
    return this.#options.task()
  }

  /** Ends the stream as soon as all that has happened is read. */
  close(): void {
    this.#isClosing = true
    if (this.#isClosed()) this.#end()
  }

  #isClosed(): boolean {
    if (!this.#isClosing || this.#opening !== undefined) return false
    const task = this.task()
    // The log of a task that is gone comes to its end by itself.
    return task !== undefined && this.#generation >= task.generation
  }

  /** Ends the stream with an error: nothing will come any more. */
  fail(error: unknown): void {
    if (this.#isOver) return
    this.#failure = { error }
    this.#end()
  }

  return(): Promise<IteratorResult<StreamEntry, undefined>> {
    this.#end()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    void this.#subscription.return()
    this.#options.onEnd()
  }

  #takeOpening(): StreamEntry | undefined {
    const opening = this.#opening
    if (opening === undefined) return undefined
    this.#opening = undefined
    this.#generation = opening.generation
    return this.#taskEntry(opening, false)
  }

  /** `undefined` for what no stream tells: a message that joined the conversation. */
  #entryOf({ value: event }: IteratorResult<TaskStreamEvent, undefined>): StreamEntry | 'end' | undefined {
    if (event === undefined) return 'end'
    this.#generation = event.generation
    const { contextId, endsAtInput } = this.#options
    switch (event.type) {
      case 'snapshot':
      case 'resync':
        return this.#taskEntry(event.task, event.type === 'resync')
      case 'status': {
        const last = isTerminal(event.to) || (endsAtInput && event.to === 'input-required')
        return { type: 'status', contextId, event, last, source: this }
      }
      case 'artifact':
        return { type: 'artifact', contextId, event, last: false, source: this }
      case 'output':
        return { type: 'artifact', contextId, event: outputEvent(event), last: false, source: this }
      case 'created':
      case 'message':
        return undefined
    }
  }

  #taskEntry(task: TaskSnapshot, isResync: boolean): StreamEntry {
    const { historyLength, endsAtInput } = this.#options
    const last = isTerminal(task.state) || (endsAtInput && task.state === 'input-required')
    return { type: 'task', task, historyLength, isResync, last }
  }
}
