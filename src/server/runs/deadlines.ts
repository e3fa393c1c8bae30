/**
 * When tasks have to have ended at the latest.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { Clock } from '../../runtime/clock.js'
import { unavailable } from '../unavailable.js'
import type { TaskKey } from '../../core/task.js'
import { TIMED_OUT } from './run-failures.js'
import { isPending, type ServedTasks } from '../tasks.js'

/** One for each task, whoever works on it, and while nobody does. */
export class Deadlines {
  readonly #clock: Clock
  readonly #stops = new Map<string, () => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `onTime` in `timeoutMs`, unless {@link clear} is called before. */
  set(task: TaskKey, timeoutMs: number, onTime: () => void): void {
    const name = nameOf(task)
    const stop = this.#clock.schedule(() => {
      this.#stops.delete(name)
      onTime()
    }, timeoutMs)
    this.#stops.set(name, stop)
  }

  clear(task: TaskKey): void {
    const name = nameOf(task)
    this.#stops.get(name)?.()
    this.#stops.delete(name)
  }

  close(): void {
    for (const stop of this.#stops.values()) stop()
    this.#stops.clear()
  }
}

/** All instants are written alike, so no two tasks have one name. */
function nameOf({ id, createdAt }: TaskKey): string {
  return createdAt + id
}

/** How often the task is looked at, while others change it. */
const MAX_ROUNDS = 100

/**
 * Fails a task that is late, whoever works on it. One that has ended is left as it is, and so is another that has its id.
 *
 * @throws {A2AError} As a rejection: what the manager throws; `UNAVAILABLE` when others change it all the time.
 */
export async function failLate(tasks: ServedTasks, { id, createdAt }: TaskKey): Promise<void> {
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const found = tasks.peekTask(id)
    const task = isPending(found) ? await found : found
    if (task?.createdAt !== createdAt || isTerminal(task.state)) return
    const { generation: expectedGeneration } = task
    try {
      const update = { state: 'failed', message: TIMED_OUT, expectedGeneration } as const
      const patched = tasks.patchTask(id, update)
      if (isPending(patched)) await patched
      return
    } catch (error) {
      if (!hasChanged(error)) throw error
    }
  }
  throw unavailable('cannot get hold of a task that is late')
}

/** It is looked at again. */
function hasChanged(error: unknown): boolean {
  const codes = ['TASK_GENERATION_MISMATCH', 'TASK_TERMINAL', 'TASK_NOT_FOUND'] as const
  return codes.some((code) => A2AError.is(error, code))
}
