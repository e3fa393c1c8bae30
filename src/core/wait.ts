/**
 * Waiting for a task to get somewhere.
 *
 * @module
 */
import { A2AError, ended } from './errors.js'
import { copyTask } from './evolve.js'
import { isInterrupted, isTerminal, type Lifecycle, type TaskState } from './lifecycle.js'
import { duration } from './limits.js'
import type { TaskRecord, Waiter } from './task-record.js'
import type { Task, TaskSnapshot } from './task.js'
import type { Deadline, Timeline } from './time.js'

/**
 * What to wait for. `'terminal'`: the task's end. `'interrupted'`: that it waits for somebody, or its end. A state, or
 * several: that it enters one of them. A function: that it returns `true`.
 */
export type WaitUntil<S extends string = TaskState> =
  'terminal' | 'interrupted' | S | readonly S[] | ((task: TaskSnapshot<S>) => boolean)

export interface WaitOptions<S extends string = TaskState> {
  /** Default is `'terminal'`. */
  readonly until?: WaitUntil<S> | undefined
  /** Gives up with `WAIT_ABORTED` when it aborts. */
  readonly signal?: AbortSignal | undefined
  /** Gives up with `WAIT_TIMED_OUT` after as many milliseconds. Default is never. */
  readonly timeoutMs?: number | undefined
}

function toCondition<S extends string>(
  until: WaitUntil<S> | undefined,
  lifecycle: Lifecycle<S>,
): (task: TaskSnapshot<S>) => boolean {
  if (typeof until === 'function') return until
  if (until === undefined || until === 'terminal') return () => false
  if (until === 'interrupted') return ({ state }) => isInterrupted(state, lifecycle)
  // What is no array is one state: the two words above are taken.
  const states = (Array.isArray(until) ? until : [until]) as readonly S[]
  for (const state of states) {
    if (lifecycle.states.includes(state)) continue
    const known = ['terminal', 'interrupted', ...lifecycle.states].join(', ')
    throw new TypeError(`"until" must be a function, a state or several, got ${state}; known are ${known}`)
  }
  return ({ state }) => states.includes(state)
}

/** Resolves with a copy of the task as it was when it first met the condition, or ended. */
export function waitFor<S extends string>(
  record: TaskRecord<S>,
  timeline: Timeline,
  lifecycle: Lifecycle<S>,
  { until, signal, timeoutMs }: WaitOptions<S>,
): Promise<Task<S>> {
  const isMet = toCondition(until, lifecycle)
  const patience = duration('timeoutMs', timeoutMs)
  const taskId = record.task.id
  return new Promise((resolve, reject: (error: Error) => void) => {
    let deadline: Deadline | undefined
    const settle = (how: () => void): void => {
      record.followers?.waiters.delete(waiter)
      if (deadline !== undefined) timeline.remove(deadline)
      signal?.removeEventListener('abort', abort)
      how()
    }
    const abort = (): void => {
      const cause: unknown = signal?.reason
      const error = new A2AError(
        'WAIT_ABORTED',
        `Waiting for task ${taskId} was aborted`,
        { taskId },
        { cause },
      )
      settle(() => reject(error))
    }
    const expire = (): void => {
      const data = { taskId, timeoutMs: patience ?? Infinity }
      const error = new A2AError('WAIT_TIMED_OUT', `Task ${taskId} took longer than ${patience} ms`, data)
      settle(() => reject(error))
    }
    const waiter: Waiter<S> = {
      offer(task) {
        try {
          if (isMet(task) || isTerminal(task.state, lifecycle)) settle(() => resolve(copyTask(task)))
        } catch (error) {
          // Whatever the predicate threw.
          settle(() => reject(error as Error))
        }
      },
      abandon: (code) => settle(() => reject(ended(code, taskId))),
    }

    record.follow().waiters.add(waiter)
    signal?.addEventListener('abort', abort, { once: true })
    if (patience !== undefined && Number.isFinite(patience)) {
      deadline = timeline.add(timeline.now().ms + patience, expire)
    }
    if (signal?.aborted) abort()
    else waiter.offer(record.show())
  })
}
