/**
 * Feed of the tasks in the memory of this process.
 *
 * @module
 */
import { freezeDeep } from '../json.js'
import type { Settings } from '../options.js'
import type { TaskRecord } from '../task-record.js'
import type { FeedPage, FeedSource, FeedTask } from './feed.js'

/** The most entries in a page. */
const PAGE = 100

/** A task in the feed. Its record is read while the manager has it. */
interface Subject<S extends string> {
  readonly task: FeedTask
  record: TaskRecord<S> | undefined
  /** That of the latest event in the feed. */
  generation: number
}

interface Entry<S extends string> {
  readonly subject: Subject<S>
  /** That of the event; 0 when the task was removed. */
  readonly generation: number
}

/** The feed of a new manager; `undefined` when none is kept. */
export function localFeed<S extends string>(settings: Settings<S>): LocalFeed<S> | undefined {
  const { feedSize, eventLogSize, clock } = settings
  return feedSize > 0 ? new LocalFeed(feedSize, eventLogSize, clock.now()) : undefined
}

/** Keeps the order of the events. The events themselves are in the logs of the tasks. */
export class LocalFeed<S extends string> implements FeedSource<S> {
  isClosed = false
  readonly #size: number
  readonly #logSize: number
  /** Between one and two times `size` of them: dropping entries costs O(1) each. */
  readonly #entries: Entry<S>[] = []
  /** The position before the first entry. */
  #start: number
  readonly #subjects = new Map<TaskRecord<S>, Subject<S>>()
  readonly #wakers = new Set<() => void>()

  /**
   * @param size - How many of the latest entries are kept at least.
   * @param logSize - How many events the log of a task keeps.
   * @param startedAt - In ms. Cursors of an earlier process are before it, and therefore not known.
   */
  constructor(size: number, logSize: number, startedAt: number) {
    this.#size = size
    this.#logSize = logSize
    this.#start = Math.floor(startedAt) * 1_000
  }

  /** Adds the events of a change, which the record has by now. */
  update(record: TaskRecord<S>): void {
    const subject = this.#subjectOf(record)
    const { generation } = record.task
    while (subject.generation < generation) this.#push({ subject, generation: ++subject.generation })
  }

  /** A task that comes with a past, which the feed leaves out. */
  restore(record: TaskRecord<S>): void {
    this.#subjectOf(record).generation = record.task.generation
  }

  remove(record: TaskRecord<S>): void {
    const subject = this.#subjectOf(record)
    subject.record = undefined
    this.#subjects.delete(record)
    this.#push({ subject, generation: 0 })
  }

  close(): void {
    this.isClosed = true
    this.wake()
  }

  wake(): void {
    for (const wake of this.#wakers) wake()
    this.#wakers.clear()
  }

  async page(after: string | undefined, isStopped: () => boolean): Promise<FeedPage<S>> {
    for (;;) {
      const page = this.#read(Number(after))
      if (page.cursor !== after || isStopped()) return page
      await new Promise<void>((resolve) => this.#wakers.add(resolve))
    }
  }

  #read(after: number): FeedPage<S> {
    const index = after - this.#start
    const end = this.#start + this.#entries.length
    // Also for what is not a number.
    if (!(index >= 0 && after <= end)) return { entries: [], cursor: String(end), isResync: true }
    const entries: FeedPage<S>['entries'][number][] = []
    let position = after
    for (const { subject, generation } of this.#entries.slice(index, index + PAGE)) {
      const { task, record } = subject
      const event = generation > 0 ? record?.log.at(generation, record.task, this.#logSize) : undefined
      if (record !== undefined && event === undefined) {
        // The log of the task no longer keeps the event.
        return position > after ? { entries, cursor: String(position) } : this.#read(NaN)
      }
      position += 1
      if (event !== undefined || generation === 0) {
        entries.push({ cursor: String(position), task, event: event && freezeDeep(event) })
      }
    }
    return { entries, cursor: String(position) }
  }

  #push(entry: Entry<S>): void {
    this.#entries.push(entry)
    if (this.#entries.length >= 2 * this.#size) {
      this.#entries.splice(0, this.#size)
      this.#start += this.#size
    }
    if (this.#wakers.size > 0) this.wake()
  }

  #subjectOf(record: TaskRecord<S>): Subject<S> {
    const known = this.#subjects.get(record)
    if (known !== undefined) return known
    const { id, createdAt, skill, contextId, owner } = record.task
    const subject = { task: { id, createdAt, skill, contextId, owner }, record, generation: 0 }
    this.#subjects.set(record, subject)
    return subject
  }
}
