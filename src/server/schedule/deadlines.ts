/**
 * Deadlines of tasks whose request limits their total time.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import { readLineage } from '../../core/lineage/lineage.js'
import type { Clock } from '../../runtime/clock.js'
import { unavailable } from '../unavailable.js'
import type { TaskKey } from '../../core/task.js'
import { scheduleAt } from '../journal/waits.js'
import { TIMED_OUT } from '../run/failure-texts.js'
import { isPromise, type ServedTasks } from '../tasks.js'
import type { SendRequest } from '../../wire/dialect.js'

interface Deadline {
  readonly at: number
  readonly stop: () => void
  readonly onTime: () => void
}

/** One timer for each task. It runs on between runs and while the task waits for the user. */
export class Deadlines {
  readonly #clock: Clock
  readonly #deadlines = new Map<string, Deadline>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `onTime` at `at`, in ms since 1970, unless {@link clear} is called before. The earliest deadline of a task counts. */
  set(task: TaskKey, at: number, onTime: () => void): void {
    const name = nameOf(task)
    const known = this.#deadlines.get(name)
    if (known !== undefined && known.at <= at) return
    known?.stop()
    const stop = scheduleAt(this.#clock, at, () => {
      this.#deadlines.delete(name)
      onTime()
    })
    this.#deadlines.set(name, { at, stop, onTime })
  }

  /**
   * Calls `onTime` of a task whose deadline has passed, without waiting for its timer.
   *
   * @returns Whether it was called.
   */
  check(task: TaskKey): boolean {
    const deadline = this.#deadlines.get(nameOf(task))
    if (deadline === undefined || deadline.at > this.#clock.now()) return false
    this.clear(task)
    deadline.onTime()
    return true
  }

  of(task: TaskKey): number | undefined {
    return this.#deadlines.get(nameOf(task))?.at
  }

  clear(task: TaskKey): void {
    const name = nameOf(task)
    this.#deadlines.get(name)?.stop()
    this.#deadlines.delete(name)
  }

  close(): void {
    for (const { stop } of this.#deadlines.values()) stop()
    this.#deadlines.clear()
  }
}

/** Unique: timestamps have a fixed length. */
function nameOf({ id, createdAt }: TaskKey): string {
  return createdAt + id
}

/** Attempts to fail a late task while others change it. */
const MAX_ATTEMPTS = 100

/**
 * Fails a task that is late, in whichever process it is worked on. Does nothing when the task is terminal or gone, or
 * when its id belongs to a newer task.
 *
 * @throws {A2AError} As a rejection: what the manager throws; `UNAVAILABLE` when others change the task again and again.
 */
export async function failLate(tasks: ServedTasks, { id, createdAt }: TaskKey): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    const found = tasks.peekTask(id)
    const task = isPromise(found) ? await found : found
    if (task?.createdAt !== createdAt || isTerminal(task.state)) return
    const { generation: expectedGeneration } = task
    try {
      const update = { state: 'failed', message: TIMED_OUT, expectedGeneration } as const
      const patched = tasks.patchTask(id, update)
      if (isPromise(patched)) await patched
      return
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
  throw unavailable('cannot get hold of a task that is late')
}

/** Whether another change came first, so the task has to be read again. */
function isConflict(error: unknown): boolean {
  const codes = ['TASK_GENERATION_MISMATCH', 'TASK_TERMINAL', 'TASK_NOT_FOUND'] as const
  return codes.some((code) => A2AError.is(error, code))
}

/** When the work on a message has to end, in ms since 1970. */
export function deadlineIn({ message, timeoutMs = Infinity }: SendRequest, clock: Clock): number | undefined {
  const handedOn = Date.parse(readLineage(message.metadata)?.deadline ?? '')
  const at = Math.min(clock.now() + timeoutMs, Number.isNaN(handedOn) ? Infinity : handedOn)
  return at === Infinity ? undefined : at
}
