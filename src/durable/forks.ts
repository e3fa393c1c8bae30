/**
 * Forks of tasks in a store.
 *
 * @module
 */
import { toFork, type Fork, type ForkOptions } from '../core/history/fork.js'
import { recordOf } from '../core/task-record.js'
import type { Task } from '../core/task.js'
import { LogReader } from './cache/log-reader.js'
import type { DurableContext } from './context.js'
import { requireUnused } from './create-task.js'
import { NO_NOTE, PARKED, toStoredNote } from './leases/lease-note.js'

export class StoredForks<S extends string> {
  readonly #context: DurableContext<S>
  readonly #recoverSoon: () => void

  /** @param recoverSoon - Continues the work of expired leases in this process. */
  constructor(context: DurableContext<S>, recoverSoon: () => void) {
    this.#context = context
    this.#recoverSoon = recoverSoon
  }

  async fork(taskId: string, options: ForkOptions): Promise<Task<S>> {
    const log = await new LogReader<S>(this.#context, taskId, { after: 0 }).rest()
    return await this.#make(toFork(log, options, this.#context.settings))
  }

  /** Stores the task with an expired lease, so that any process continues it, as it does a task that has slept. */
  async #make({ id, log, isWorking }: Fork<S>): Promise<Task<S>> {
    const { settings, timeline, cache, observers, storeClient } = this.#context
    storeClient.requireOpen()
    await requireUnused(cache, id)
    const now = timeline.now()
    const events = log(now.iso)
    const record = recordOf(events, now, settings.eventLogSize, false)
    const note = toStoredNote({ ...NO_NOTE, restarts: -1, trace: observers.trace() })
    const lease = isWorking ? { id: PARKED, ttlMs: 0, note } : undefined
    const task = await cache.create(record, events, lease).created
    if (isWorking) this.#recoverSoon()
    return task
  }
}
