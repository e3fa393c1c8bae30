/**
 * Limits on tasks that wait for the user: on their number, and on the time of each.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { StateChange } from '../../core/events.js'
import { isInterrupted } from '../../core/lifecycle.js'
import { NO_OWNER, type TaskQuery } from '../../core/queries.js'
import type { TaskSnapshot } from '../../core/task.js'
import { MAX_DELAY_MS } from '../../runtime/clock.js'
import { Heap, type HeapItem } from '../../runtime/heap.js'
import type { Settings } from '../options.js'
import { isShared } from '../tasks.js'

type Needed = 'clock' | 'limits' | 'onError' | 'tasks'
type Timed = Pick<Settings, 'clock' | 'limits' | 'tasks'>

const TOO_LONG = 'Canceled: no answer came in time'
const TOO_MANY = 'Canceled: too many tasks wait for an answer'
const PAGE_SIZE = 100
/** The bounds of the time between checks, in ms. */
const MIN_CHECK_MS = 100
const MAX_CHECK_MS = 60_000

/**
 * Cancels tasks that wait for too long, and of too many that wait those whose owner has most. Over a store all processes check
 * the tasks of all, from time to time: the first one cancels each.
 */
export class WaitingTasks {
  readonly #settings: Pick<Settings, Needed>
  #stopTimer: (() => void) | undefined
  #isChecking = false
  /** What to check when the present check is over: the number of tasks, and their times. */
  #needsCount = false
  #needsTimes = false
  #isClosed = false

  constructor(settings: Pick<Settings, Needed>) {
    this.#settings = settings
    const { tasks } = settings
    if (isShared(tasks)) {
      this.#schedule()
      return
    }
    tasks.on('task:stateChange', this.#onChange)
    // Not for a new manager: the first count by state has the manager keep an index of states.
    if (tasks.size() !== 0) void this.#check(true)
  }

  close(): void {
    this.#isClosed = true
    this.#stopTimer?.()
    this.#settings.tasks.off('task:stateChange', this.#onChange)
  }

  readonly #onChange = ({ to }: StateChange): void => {
    if (isInterrupted(to)) void this.#check(false)
  }

  #schedule(): void {
    const { clock, limits, tasks } = this.#settings
    if (this.#isClosed || (limits.waitingTimeoutMs === Infinity && !isShared(tasks))) return
    this.#stopTimer = clock.schedule(() => {
      this.#stopTimer = undefined
      if (isShared(this.#settings.tasks)) this.#schedule()
      void this.#check(true)
    }, checkMs(limits))
  }

  /** Never rejects. */
  async #check(isDue: boolean): Promise<void> {
    this.#needsCount = true
    this.#needsTimes ||= isDue
    if (this.#isChecking) return
    this.#isChecking = true
    try {
      while (this.#needsCount && !this.#isClosed) {
        const needsTimes = this.#needsTimes
        this.#needsCount = this.#needsTimes = false
        if (needsTimes) await this.#cancelLate()
        const count = await this.#makeRoom()
        // A manager without such tasks has no timer.
        if (count > 0 && this.#stopTimer === undefined) this.#schedule()
      }
    } catch (error) {
      this.#report(error)
    } finally {
      this.#isChecking = false
    }
  }

  async #cancelLate(): Promise<void> {
    const { clock, limits } = this.#settings
    const before = clock.now() - limits.waitingTimeoutMs
    if (!(before > 0)) return
    const late = waitingTasks(this.#settings, { updatedBefore: new Date(before).toISOString() })
    for await (const task of late) await this.#cancel(task, TOO_LONG)
  }

  /** @returns How many tasks wait. */
  async #makeRoom(): Promise<number> {
    const { tasks, limits } = this.#settings
    const { maxWaitingTasks } = limits
    let count = 0
    for (const state of tasks.lifecycle.interrupted) count += await tasks.countTasks({ state })
    if (count <= maxWaitingTasks) return count
    const all: TaskSnapshot[] = []
    for await (const task of waitingTasks(this.#settings, {})) all.push(task)
    // Some more than needed, so that not every question of a full store has all tasks read.
    const surplus = all.length - maxWaitingTasks + Math.floor(maxWaitingTasks / 100)
    for (const task of oldestOfMost(all, surplus)) await this.#cancel(task, TOO_MANY)
    return count
  }

  /** Unless the task has changed: an answer may have come. */
  async #cancel({ id, generation: expectedGeneration }: TaskSnapshot, message: string): Promise<void> {
    if (this.#isClosed) return
    try {
      await this.#settings.tasks.cancelTask(id, { message, expectedGeneration })
    } catch (error) {
      if (!isOvertaken(error)) this.#report(error, id)
    }
  }

  #report(error: unknown, taskId?: string): void {
    // The manager was destroyed before the handler was closed.
    if (A2AError.is(error, 'UNAVAILABLE') || A2AError.is(error, 'MANAGER_DESTROYED')) return
    this.#settings.onError(error, { during: 'waitingTasks', taskId })
  }
}

/** The time until a task that matches is canceled because it has waited too long, in ms. */
export async function untilTimeoutMs(settings: Timed, query: TaskQuery): Promise<number> {
  const { clock, limits } = settings
  let first = Infinity
  for await (const { updatedAt } of waitingTasks(settings, query))
    first = Math.min(first, Date.parse(updatedAt))
  const untilMs = first + limits.waitingTimeoutMs + checkMs(limits) - clock.now()
  return Math.min(Math.max(1, untilMs), MAX_DELAY_MS)
}

function checkMs({ waitingTimeoutMs }: Timed['limits']): number {
  return Math.min(Math.max(MIN_CHECK_MS, waitingTimeoutMs / 10), MAX_CHECK_MS)
}

async function* waitingTasks({ tasks }: Timed, query: TaskQuery): AsyncGenerator<TaskSnapshot> {
  for (const state of tasks.lifecycle.interrupted) {
    let cursor: string | undefined
    do {
      const page = await tasks.pageTasks({ ...query, state, cursor, pageSize: PAGE_SIZE })
      yield* page.tasks
      cursor = page.nextCursor
    } while (cursor !== undefined)
  }
}

/** Of the owner that has most, the task that has waited longest; and so on, `count` times. */
function oldestOfMost(tasks: readonly TaskSnapshot[], count: number): TaskSnapshot[] {
  const byOwner = new Map<string, TaskSnapshot[]>()
  for (const task of tasks.toSorted((a, b) => (a.updatedAt < b.updatedAt ? 1 : -1))) {
    const owner = task.owner ?? NO_OWNER
    const known = byOwner.get(owner)
    if (known === undefined) byOwner.set(owner, [task])
    else known.push(task)
  }
  const heap = new Heap<HeapItem & { readonly left: TaskSnapshot[] }>(
    ({ left: a }, { left: b }) =>
      a.length > b.length ||
      (a.length === b.length && (a.at(-1)?.updatedAt ?? '') < (b.at(-1)?.updatedAt ?? '')),
  )
  for (const left of byOwner.values()) heap.add({ index: -1, left })
  const oldest: TaskSnapshot[] = []
  while (oldest.length < count && heap.first !== undefined) {
    const { first } = heap
    const task = first.left.pop()
    if (task !== undefined) oldest.push(task)
    if (first.left.length === 0) heap.remove(first)
    else heap.fix(first)
  }
  return oldest
}

function isOvertaken(error: unknown): boolean {
  const codes = [
    'TASK_GENERATION_MISMATCH',
    'TASK_NOT_CANCELABLE',
    'TASK_TERMINAL',
    'TASK_NOT_FOUND',
  ] as const
  return codes.some((code) => A2AError.is(error, code))
}
