/**
 * Leases of tasks whose agents this process follows, one worker for each kind of work.
 *
 * @module
 */
import type { JsonValue } from '../core/json-types.js'
import type { LeasedTasks, LeasedTasksListener, LocalTasks, SharedTasks } from '../core/managers.js'
import type { Clock } from '../runtime/clock.js'
import { sleep } from '../runtime/timers.js'

type OnOrphan = LeasedTasksListener['onOrphan']

interface Worker {
  onOrphan: OnOrphan
  readonly leased: LeasedTasks
}

/** Pause between attempts to release a task whose store fails, in ms. */
const RETRY_MS = 10_000

const workersByManager = new WeakMap<SharedTasks, Map<string, Worker>>()

/** Whether other processes may share the tasks. */
export function isShared(tasks: LocalTasks | SharedTasks): tasks is SharedTasks {
  return 'lease' in tasks
}

/**
 * The leases of one worker. Clients of one process that do the same work for a manager share them, and the latest one
 * receives the tasks of processes that have died.
 */
export function leaseAs(tasks: SharedTasks, name: string, onOrphan: OnOrphan): LeasedTasks {
  const workers = workersByManager.get(tasks) ?? new Map<string, Worker>()
  workersByManager.set(tasks, workers)
  const known = workers.get(name)
  if (known !== undefined) {
    known.onOrphan = onOrphan
    return known.leased
  }
  const listener: LeasedTasksListener = {
    worker: name,
    // The signals of the tasks report their end and their loss. Other changes need no answer.
    onNews: () => undefined,
    onLost: () => undefined,
    onOrphan: (task, note: JsonValue | undefined) => worker.onOrphan(task, note),
  }
  const worker: Worker = { onOrphan, leased: tasks.lease(listener) }
  workers.set(name, worker)
  return worker.leased
}

/** A field of the note on a lease. */
export function inNote(note: JsonValue | undefined, field: string): JsonValue | undefined {
  return typeof note === 'object' && note !== null && !Array.isArray(note) ? note[field] : undefined
}

/** Releases a task when its changes are stored. Never rejects: while the store fails, attempts continue in the background. */
export async function letGo(leased: LeasedTasks, taskId: string, clock: Clock): Promise<void> {
  try {
    // Refused when another caller has changed the task first.
    while (!(await leased.release(taskId)));
  } catch {
    // A task that was lost is not held any more.
    if (leased.peekTask(taskId) !== null)
      void sleep(RETRY_MS, undefined, clock).then(() => letGo(leased, taskId, clock))
  }
}
