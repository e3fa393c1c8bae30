/**
 * One client's stream of a task's events, as protocol entries.
 *
 * @module
 */
import type { TaskStreamEvent } from '../../core/events.js'
import { isTerminal, type TaskState } from '../../core/lifecycle.js'
import type { TaskSubscription } from '../../core/subscription.js'
import type { TaskSnapshot } from '../../core/task.js'
import { artifactEvents, outputEvent } from '../../wire/view.js'
import type { StreamEntry, StreamManners as StreamProfile } from '../../wire/dialect.js'
import type { Source } from './source.js'

type TaskEntry = Extract<StreamEntry, { readonly type: 'task' }>

export interface TaskStreamOptions {
  /** The first entry: the task where `subscription` begins. Absent where the subscription itself starts with the task. */
  readonly opening?: TaskSnapshot | undefined
  readonly contextId: string
  /** The number of latest messages in entries that hold the whole task. Absent for all. */
  readonly historyLength: number | undefined
  /** Whether the stream ends when the task waits for input (A2A 1.0 §3.1.2), or only with the task (§3.1.6). */
  readonly endsAtInput: boolean
  /** The cursor that `subscription` begins after. */
  readonly after?: number | undefined
  /** The current task; absent when it is gone. */
  readonly task: () => TaskSnapshot | undefined
  /** Called once, when the stream ends for any reason. */
  readonly onEnd: () => void
  /** Called with each `return()`. Readers call it after the last entry is written, too. */
  readonly onLeave?: (() => void) | undefined
}

/**
 * A pull stream: it makes each entry when the reader requests it, so unread events stay in the task's log and take no
 * memory here. `return()` ends the stream, also while `next()` waits; the task is not affected.
 */
export class TaskStream implements Source<StreamEntry> {
  /** Differences from a stream of A2A 1.0. Set it before the first read. */
  profile: StreamProfile | undefined
  readonly #subscription: TaskSubscription
  readonly #options: TaskStreamOptions
  #opening: TaskSnapshot | undefined
  /** Entries that the profile made of one event and that are not read yet. */
  #queued: StreamEntry[] | undefined
  /** The number of `next()` calls that are not settled: they settle in order. */
  #pending = 0
  #latest: Promise<unknown> = Promise.resolve()
  #isEnded = false
  #isClosing = false
  /** The generation of the latest event that was read from the log. */
  #readGeneration: number
  /** The generation of the latest event that led to an entry: messages lead to none. */
  #entryGeneration: number
  #failure: { readonly error: unknown } | undefined

  constructor(subscription: TaskSubscription, options: TaskStreamOptions) {
    this.#subscription = subscription
    this.#options = options
    this.#opening = options.opening
    this.#readGeneration = options.after ?? 0
    this.#entryGeneration = this.#readGeneration
  }

  next(): Promise<IteratorResult<StreamEntry, undefined>> {
    const read = (): Promise<IteratorResult<StreamEntry, undefined>> => this.#read()
    const next = this.#pending === 0 ? this.#read() : this.#latest.then(read, read)
    this.#pending += 1
    this.#latest = next
    return next
  }

  /** The current task, `undefined` when it is gone. */
  task(): TaskSnapshot | undefined {
    return this.#options.task()
  }

  /** Ends the stream once all events so far are read. */
  close(): void {
    this.#isClosing = true
    if (this.#isDrained()) this.#end()
  }

  /** Ends the stream: after the entries that are queued, `next()` rejects once with `error`. */
  fail(error: unknown): void {
    if (this.#isEnded) return
    this.#failure = { error }
    this.#end()
  }

  return(): Promise<IteratorResult<StreamEntry, undefined>> {
    this.#queued = undefined
    this.#end()
    this.#options.onLeave?.()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** One async function for all of a read: each further one would cost a promise for every chunk. */
  async #read(): Promise<IteratorResult<StreamEntry, undefined>> {
    try {
      for (;;) {
        let entry = this.#queued?.shift()
        if (entry === undefined) {
          if (this.#isEnded || this.#isDrained()) break
          const made = this.#takeOpening() ?? this.#entryOf(await this.#subscription.next())
          if (made === undefined) continue
          if (made === 'end') break
          if (made.last) this.#end()
          entry = this.profile === undefined ? made : this.#applyProfile(this.profile, made)
        }
        if (entry.last) this.#end()
        return { done: false, value: entry }
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

  #end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    void this.#subscription.return()
    this.#options.onEnd()
  }

  #isDrained(): boolean {
    if (!this.#isClosing || this.#opening !== undefined) return false
    const task = this.task()
    // The log of a task that is gone ends by itself.
    return task !== undefined && this.#readGeneration >= task.generation
  }

  #takeOpening(): StreamEntry | undefined {
    const opening = this.#opening
    if (opening === undefined) return undefined
    this.#opening = undefined
    this.#readGeneration = opening.generation
    return this.#taskEntry(opening, false)
  }

  /** `undefined` for events that streams do not show, such as a message that joined the conversation. */
  #entryOf({ value: event }: IteratorResult<TaskStreamEvent, undefined>): StreamEntry | 'end' | undefined {
    if (event === undefined) return 'end'
    this.#readGeneration = event.generation
    const { contextId } = this.#options
    switch (event.type) {
      case 'snapshot':
      case 'resync':
        return this.#taskEntry(event.task, event.type === 'resync')
      case 'status':
        return { type: 'status', contextId, event, last: this.#endsAt(event.to), source: this }
      case 'artifact':
        return { type: 'artifact', contextId, event, last: false, source: this }
      case 'output':
        return { type: 'artifact', contextId, event: outputEvent(event), last: false, source: this }
      case 'created':
      case 'message':
      case 'journal':
        return undefined
    }
  }

  #taskEntry(task: TaskSnapshot, isResync: boolean): StreamEntry {
    const { historyLength } = this.#options
    return { type: 'task', task, historyLength, isResync, last: this.#endsAt(task.state) }
  }

  #endsAt(state: TaskState): boolean {
    return isTerminal(state) || (this.#options.endsAtInput && state === 'input-required')
  }

  /** The first of the entries that `profile` makes of `entry`. Queues the others. */
  #applyProfile(profile: StreamProfile, entry: StreamEntry): StreamEntry {
    if (entry.type === 'message') return entry
    const after = this.#entryGeneration
    this.#entryGeneration = entry.type === 'task' ? entry.task.generation : entry.event.generation
    if (entry.type !== 'task') {
      const endsHere = entry.event.type === 'status' && endsAtAuth(profile, entry.event.to)
      return endsHere ? { ...entry, last: true } : entry
    }
    const endsHere = entry.isResync && endsAtAuth(profile, entry.task.state)
    const shown = endsHere ? { ...entry, last: true } : entry
    if (!profile.tellsArtifacts) return shown
    this.#queued = [...artifactEntries(entry, after), shown]
    return this.#queued.shift() ?? shown
  }
}

/**
 * The artifacts of a whole task, one entry each. They carry the generation before the task's: a client that leaves before
 * it has the task resumes where it was.
 */
function artifactEntries({ task }: TaskEntry, generation: number): StreamEntry[] {
  const source = { task: () => task }
  const { contextId, state } = task
  // Tasks do not store which of their artifacts are complete. Until the task ends, any of them may grow.
  return artifactEvents(task, generation, isTerminal(state)).map((event) => {
    return { type: 'artifact', contextId, event, last: false, source }
  })
}

function endsAtAuth(profile: StreamProfile, state: TaskState): boolean {
  return profile.endsAtAuth === true && state === 'auth-required'
}
