/**
 * A task's stream for versions that have manners of their own.
 *
 * @module
 */
import { isTerminal } from '../../core/lifecycle.js'
import { artifactEvents } from '../../wire/view.js'
import type { StreamEntry, StreamManners } from '../../wire/dialect.js'
import type { Source } from './frame-stream.js'

type TaskEntry = Extract<StreamEntry, { readonly type: 'task' }>

/**
 * `entries` as `manners` will have them.
 *
 * @param after - The generation that the client has already: absent for none.
 */
export function inManner(
  manners: StreamManners | undefined,
  entries: Source<StreamEntry>,
  after: number | undefined,
): Source<StreamEntry> {
  return manners === undefined ? entries : new ManneredStream(manners, entries, after ?? 0)
}

class ManneredStream implements Source<StreamEntry> {
  readonly #manners: StreamManners
  readonly #entries: Source<StreamEntry>
  /** What the latest entry has become, as far as it has not been taken. */
  #queue: StreamEntry[] = []
  /** How many `next()` there are that have not been answered: each comes after the one before it. */
  #pending = 0
  #latest: Promise<unknown> = Promise.resolve()
  #isOver = false
  /** Of the latest entry that was read. */
  #generation: number

  constructor(manners: StreamManners, entries: Source<StreamEntry>, after: number) {
    this.#manners = manners
    this.#entries = entries
    this.#generation = after
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

  async return(): Promise<IteratorResult<StreamEntry, undefined>> {
    this.#isOver = true
    await this.#entries.return()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async #take<T>(map: (entry: StreamEntry) => T): Promise<IteratorResult<T, undefined>> {
    try {
      const entry = this.#queue.shift() ?? (await this.#read())
      if (entry === undefined || this.#isOver) return { done: true, value: undefined }
      if (entry.last) await this.return()
      return { done: false, value: map(entry) }
    } finally {
      this.#pending -= 1
    }
  }

  async #read(): Promise<StreamEntry | undefined> {
    const { value } = await this.#entries.next()
    if (value !== undefined) this.#queue = this.#adapt(value)
    return this.#queue.shift()
  }

  #adapt(entry: StreamEntry): StreamEntry[] {
    if (entry.type === 'message') return [entry]
    if (entry.type === 'task') {
      const artifacts = this.#manners.tellsArtifacts ? this.#artifactsOf(entry) : []
      this.#generation = entry.task.generation
      const endsHere = entry.isResync && this.#endsAt(entry.task.state)
      return [...artifacts, endsHere ? { ...entry, last: true } : entry]
    }
    const { event } = entry
    this.#generation = event.generation
    const endsHere = event.type === 'status' && this.#endsAt(event.to)
    return [endsHere ? { ...entry, last: true } : entry]
  }

  /** Who leaves before he has the task itself begins again where he was: so they count as no progress. */
  #artifactsOf({ task }: TaskEntry): StreamEntry[] {
    const source = { task: () => task }
    const { contextId, state } = task
    // The task does not keep which of its artifacts are done: of one that has not ended, any may grow.
    return artifactEvents(task, this.#generation, isTerminal(state)).map((event) => ({
      ...{ type: 'artifact', contextId, event },
      ...{ last: false, source },
    }))
  }

  #endsAt(state: string): boolean {
    return this.#manners.endsAtAuth === true && state === 'auth-required'
  }
}
