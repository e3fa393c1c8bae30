/**
 * Changes of all tasks of a manager, from its feed.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import { feed as feedOf, type FeedEntry, type TaskFeed } from '../../views/feed.js'
import type { OwnerFilter } from '../../core/queries.js'
import type { Clock } from '../../runtime/clock.js'
import type { InspectedTasks } from '../options.js'
import { Alarm, BUSY_MS, SETTLE_MS } from './alarm.js'
import type { Change } from './source.js'

interface FollowOptions {
  readonly filter: OwnerFilter
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** Changes of more tasks at a time are a resync. */
const MAX_CHANGES = 500
/** Further events in one look are not read: they cost more than to read the list again. */
const MAX_EVENTS = 500

/**
 * A resync, and then what changes from there on, at the pace of the reader, until the signal aborts. `undefined` for a manager
 * that keeps no feed.
 */
export function followFeed(
  tasks: InspectedTasks,
  options: FollowOptions,
): AsyncGenerator<Change> | undefined {
  const feed = openFeed(tasks, options)
  return feed && follow(tasks, feed, options)
}

/** The feed from now on. */
function openFeed(tasks: InspectedTasks, { filter, signal }: FollowOptions): TaskFeed<string> | undefined {
  try {
    return feedOf(tasks, { filter, signal })
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

async function* follow(
  tasks: InspectedTasks,
  first: TaskFeed<string>,
  options: FollowOptions,
): AsyncGenerator<Change> {
  const { signal, clock } = options
  const isOver = (): boolean => signal.aborted
  const alarm = new Alarm(clock)
  const ignore = onAbort(signal, alarm.ring)
  try {
    for (let feed: TaskFeed<string> | undefined = first; feed !== undefined && !isOver();) {
      const isBusy = yield* followOne(tasks, feed, alarm, options)
      if (!isBusy || isOver()) return
      await alarm.wait(BUSY_MS)
      feed = openFeed(tasks, options)
    }
  } finally {
    ignore()
    alarm.stop()
  }
}

/** Follows a feed to its end. @returns Whether it was left because too much has changed at a time. */
async function* followOne(
  tasks: InspectedTasks,
  feed: TaskFeed<string>,
  alarm: Alarm,
  { filter, signal }: FollowOptions,
): AsyncGenerator<Change, boolean> {
  const batch = new Batch()
  const reading = read(feed, batch, alarm)
  // It is awaited only where the feed ends first.
  reading.catch(() => undefined)
  try {
    for (;;) {
      await alarm.wait()
      if (signal.aborted || batch.isFull) return batch.isFull
      if (batch.isOver) {
        await reading
        return false
      }
      const { changed, removed, since, isResync } = batch.drain()
      if (isResync) yield { type: 'resync' }
      else if (since === undefined) yield { type: 'tasks', tasks: [], removed: [...removed] }
      else {
        const page = await tasks.pageTasks({ ...filter, updatedSince: since, pageSize: 2 * MAX_CHANGES })
        const shown = page.tasks.filter(({ id }) => changed.has(id))
        if (page.nextCursor !== undefined) return true
        yield { type: 'tasks', tasks: shown, removed: [...removed] }
      }
    }
  } finally {
    await feed.return()
  }
}

/** Reads until the feed ends, or the batch is full. */
async function read(feed: TaskFeed<string>, batch: Batch, alarm: Alarm): Promise<void> {
  try {
    for await (const entry of feed) {
      batch.add(entry)
      if (entry.type === 'resync') alarm.ring()
      else alarm.ringIn(SETTLE_MS)
      if (batch.isFull) return
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
  #events = 0

  get isFull(): boolean {
    return this.#events >= MAX_EVENTS || this.#changed.size + this.#removed.size >= MAX_CHANGES
  }

  add(entry: FeedEntry<string>): void {
    if (entry.type === 'resync') {
      this.#isResync = true
      return
    }
    this.#events += 1
    const { taskId } = entry
    const isRemoved = entry.type === 'deleted'
    const [to, from] = isRemoved ? [this.#removed, this.#changed] : [this.#changed, this.#removed]
    from.delete(taskId)
    to.add(taskId)
    if (isRemoved) return
    const { timestamp } = entry.event
    if (this.#since === undefined || timestamp < this.#since) this.#since = timestamp
  }

  drain(): Changes {
    const drained = {
      changed: this.#changed,
      removed: this.#removed,
      since: this.#since,
      isResync: this.#isResync,
    }
    this.#changed = new Set()
    this.#removed = new Set()
    this.#since = undefined
    this.#isResync = false
    this.#events = 0
    return drained
  }
}
