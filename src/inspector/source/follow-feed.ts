/**
 * Changes of all tasks of a manager, from its feed.
 *
 * @module
 */
import type { FeedEntry, TaskFeed } from '../../core/feed/types.js'
import type { OwnerFilter } from '../../core/queries.js'
import type { Clock } from '../../runtime/clock.js'
import type { InspectedTasks } from '../options.js'
import { Alarm } from './alarm.js'
import type { Change } from './source.js'

interface FollowOptions {
  readonly filter: OwnerFilter
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** Changes of more tasks at a time are a resync. */
const MAX_CHANGES = 500
/** Changes within this time are shown together, in ms. */
const SETTLE_MS = 250

/** The feed from now on; `undefined` for a manager that keeps none. */
export function openFeed(
  tasks: InspectedTasks,
  filter: OwnerFilter,
  signal: AbortSignal,
): TaskFeed<string> | undefined {
  try {
    return tasks.feed?.({ filter, signal })
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** Yields a resync, and then what changes from there on, at the pace of the reader, until the signal aborts. */
export async function* followFeed(
  tasks: InspectedTasks,
  feed: TaskFeed<string>,
  { filter, signal, clock }: FollowOptions,
): AsyncGenerator<Change> {
  const alarm = new Alarm(clock)
  const batch = new Batch()
  const reading = read(feed, batch, alarm)
  // It is awaited only where the feed ends first.
  reading.catch(() => undefined)
  signal.addEventListener('abort', alarm.ring)
  try {
    for (;;) {
      await alarm.wait()
      if (signal.aborted) return
      const { changed, removed, since, isResync } = batch.take()
      if (batch.isOver) return await reading
      if (isResync || changed.size > MAX_CHANGES) yield { type: 'resync' }
      else if (since === undefined) yield { type: 'tasks', tasks: [], removed: [...removed] }
      else {
        const page = await tasks.pageTasks({ ...filter, updatedSince: since, pageSize: 2 * MAX_CHANGES })
        const shown = page.tasks.filter(({ id }) => changed.has(id))
        yield page.nextCursor === undefined
          ? { type: 'tasks', tasks: shown, removed: [...removed] }
          : { type: 'resync' }
      }
    }
  } finally {
    signal.removeEventListener('abort', alarm.ring)
    alarm.stop()
    await feed.return()
  }
}

async function read(feed: TaskFeed<string>, batch: Batch, alarm: Alarm): Promise<void> {
  try {
    for await (const entry of feed) {
      batch.add(entry)
      if (entry.type === 'resync') alarm.ring()
      else alarm.ringIn(SETTLE_MS)
    }
  } finally {
    batch.isOver = true
    alarm.ring()
  }
}

interface Changes {
  readonly changed: ReadonlySet<string>
  readonly removed: ReadonlySet<string>
  /** The time of the earliest event. */
  readonly since: string | undefined
  readonly isResync: boolean
}

/** The ids of the tasks that have changed since the last look, of a bounded number. */
class Batch {
  isOver = false
  #changed = new Set<string>()
  #removed = new Set<string>()
  #since: string | undefined
  #isResync = false

  add(entry: FeedEntry<string>): void {
    if (entry.type === 'resync' || this.#changed.size + this.#removed.size > MAX_CHANGES) {
      this.#isResync = true
      return
    }
    const { taskId } = entry
    const isRemoved = entry.type === 'deleted'
    const [to, from] = isRemoved ? [this.#removed, this.#changed] : [this.#changed, this.#removed]
    from.delete(taskId)
    to.add(taskId)
    if (isRemoved) return
    const { timestamp } = entry.event
    if (this.#since === undefined || timestamp < this.#since) this.#since = timestamp
  }

  take(): Changes {
    const taken = {
      changed: this.#changed,
      removed: this.#removed,
      since: this.#since,
      isResync: this.#isResync,
    }
    this.#changed = new Set()
    this.#removed = new Set()
    this.#since = undefined
    this.#isResync = false
    return taken
  }
}
