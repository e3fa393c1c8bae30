/**
 * Changes of all tasks of a manager that keeps no feed, as pages of those that changed last.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import type { OwnerFilter } from '../../core/queries.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { Clock } from '../../runtime/clock.js'
import type { InspectedTasks } from '../options.js'
import { Alarm, BUSY_MS, SETTLE_MS } from './alarm.js'
import type { Change } from './source.js'

interface PollOptions {
  readonly filter: OwnerFilter
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly intervalMs: number
}

/** Changes in one look beyond this are a resync. */
const MAX_CHANGES = 200
/** The clocks of processes that share a store differ by less than this. */
const OVERLAP_MS = 5_000

/** Yields a resync, and then the tasks that change from there on, at the pace of the reader, until the signal aborts. */
export async function* pollTasks(tasks: InspectedTasks, options: PollOptions): AsyncGenerator<Change> {
  const { filter, signal, clock, intervalMs } = options
  const seen = new SeenTasks()
  seen.addChanged((await tasks.pageTasks({ ...filter, pageSize: MAX_CHANGES })).tasks)
  const alarm = new Alarm(clock)
  let isBusy = false
  // Of many events, only the first one costs a call.
  const onEvent = (): void => {
    tasks.off('task:event', onEvent)
    alarm.ringIn(isBusy ? BUSY_MS : SETTLE_MS)
  }
  const ignore = onAbort(signal, alarm.ring)
  tasks.on('task:event', onEvent)
  try {
    yield { type: 'resync' }
    for (;;) {
      await alarm.wait(isBusy ? Math.max(intervalMs, BUSY_MS) : intervalMs)
      if (signal.aborted) return
      tasks.off('task:event', onEvent)
      tasks.on('task:event', onEvent)
      const page = await tasks.pageTasks({ ...filter, updatedSince: seen.since, pageSize: MAX_CHANGES })
      const changed = seen.addChanged(page.tasks)
      isBusy = page.nextCursor !== undefined && changed.length === page.tasks.length
      if (isBusy) yield { type: 'resync' }
      else if (changed.length > 0) yield { type: 'tasks', tasks: changed, removed: [] }
    }
  } finally {
    tasks.off('task:event', onEvent)
    ignore()
    alarm.stop()
  }
}

/** The tasks that were seen in the latest moments, by generation. */
class SeenTasks {
  #generations = new Map<string, TaskSnapshot<string>>()
  #latest = 0

  /** The time from which changes may be new. */
  get since(): string {
    return new Date(Math.max(0, this.#latest - OVERLAP_MS)).toISOString()
  }

  /** Records the tasks, and returns those that have changed. */
  addChanged(tasks: readonly TaskSnapshot<string>[]): readonly TaskSnapshot<string>[] {
    const changed = tasks.filter(({ id, generation, createdAt }) => {
      const known = this.#generations.get(id)
      return known?.generation !== generation || known.createdAt !== createdAt
    })
    for (const task of changed) {
      this.#generations.set(task.id, task)
      this.#latest = Math.max(this.#latest, Date.parse(task.updatedAt))
    }
    for (const [id, { updatedAt }] of this.#generations) {
      if (Date.parse(updatedAt) < this.#latest - OVERLAP_MS) this.#generations.delete(id)
    }
    return changed
  }
}
