/**
 * Waiting for a task: `waitFor`, abort signals, and the notification of both.
 *
 * @module
 */
import { onAbort } from '../runtime/abort.js'
import { endError, type RemovalCode, A2AError, invalidParams } from './errors.js'
import type { TaskRecord, Waiter } from './task-record.js'
import { copyTask } from './evolve.js'
import { readParams, readSignal } from './validate.js'
import { describe, quote } from '../runtime/describe.js'
import { isInterrupted, isTerminal, type Lifecycle, type TaskState } from './lifecycle.js'
import type { Task, TaskSnapshot } from './task.js'
import type { Deadline, Timeline } from './timeline.js'

/**
 * The condition to wait for. `'terminal'`: the task has ended. `'interrupted'`: the task waits for the client, or has
 * ended. One or several states: the task is in one of them. A function: it returns `true`.
 */
export type WaitUntil<S extends string = TaskState> =
  'terminal' | 'interrupted' | S | readonly S[] | ((task: TaskSnapshot<S>) => boolean)

/** Options of `waitFor`. */
export interface WaitOptions<S extends string = TaskState> {
  /** Default is `'terminal'`. */
  readonly until?: WaitUntil<S> | undefined
  /** Rejects with `WAIT_ABORTED` when it aborts. */
  readonly signal?: AbortSignal | undefined
  /** Rejects with `WAIT_TIMED_OUT` after this many milliseconds. Default is never. */
  readonly timeoutMs?: number | undefined
}

/** A condition on the state, or on the whole task. */
type Condition<S extends string> =
  | { readonly onState: (state: S) => boolean; readonly onTask?: never }
  | { readonly onState?: never; readonly onTask: (task: TaskSnapshot<S>) => boolean }

function toCondition<S extends string>(
  until: WaitUntil<S> | undefined,
  lifecycle: Lifecycle<S>,
): Condition<S> {
  if (typeof until === 'function') return { onTask: (task) => requireBoolean(until(task)) }
  if (until === undefined || until === 'terminal') return { onState: () => false }
  if (until === 'interrupted') return { onState: (state) => isInterrupted(state, lifecycle) }
  // Any other value that is not an array is one state: states cannot have the names handled above.
  const states = (Array.isArray(until) ? [...(until as readonly S[])] : [until]) as readonly S[]
  const unknown = states.find((state) => !lifecycle.states.includes(state))
  if (unknown === undefined && states.length > 0) return { onState: (state) => states.includes(state) }
  const known = ['terminal', 'interrupted', ...lifecycle.states].join(', ')
  throw invalidParams(
    'until',
    `must be a function, a state or several (${known}), got ${quote(unknown ?? until)}`,
  )
}

/** A promise would count as true. */
function requireBoolean(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw invalidParams('until', `must return a boolean, got ${describe(value)}`)
}

function toTimeout(timeoutMs: unknown = Infinity): number {
  if (typeof timeoutMs === 'number' && timeoutMs > 0) return timeoutMs
  throw invalidParams('timeoutMs', `must be a positive number of milliseconds, got ${quote(timeoutMs)}`)
}

/**
 * Resolves with a copy of the task as it was when it first met the condition, or ended. `find` passes the record to its
 * callback, now or later. The timeout starts now.
 */
export function waitFor<S extends string>(
  taskId: string,
  find: (found: (record: TaskRecord<S>) => void) => unknown,
  timeline: Timeline,
  lifecycle: Lifecycle<S>,
  options: WaitOptions<S>,
): Promise<Task<S>> {
  const given = readParams(options, ['until', 'signal', 'timeoutMs'], 'waitFor')
  const { onState, onTask } = toCondition(given.until, lifecycle)
  const timeoutMs = toTimeout(given.timeoutMs)
  const signal = readSignal(given.signal)
  return new Promise((resolve, reject: (error: Error) => void) => {
    let deadline: Deadline | undefined
    let record: TaskRecord<S> | undefined
    let isSettled = false
    let ignore = (): void => {}
    const settle = (how: () => void): void => {
      isSettled = true
      record?.watchers?.waiters.delete(waiter)
      if (deadline !== undefined) timeline.remove(deadline)
      ignore()
      how()
    }
    const fail = (error: Error): void => settle(() => reject(error))
    const abort = (): void => {
      const cause: unknown = signal?.reason
      fail(new A2AError('WAIT_ABORTED', `Waiting for task ${taskId} was aborted`, { taskId }, { cause }))
    }
    const expire = (): void => {
      const text = `Waiting for task ${taskId} took longer than ${timeoutMs} ms; the task continues`
      fail(new A2AError('WAIT_TIMED_OUT', text, { taskId, timeoutMs }))
    }
    const waiter: Waiter<S> = {
      accepts: (state) => isTerminal(state, lifecycle) || (onState?.(state) ?? true),
      offer(task) {
        try {
          const isMet = onTask === undefined || onTask(task) || isTerminal(task.state, lifecycle)
          if (isMet) settle(() => resolve(copyTask(task)))
        } catch (error) {
          // The error that the condition threw.
          fail(error as Error)
        }
      },
      abandon: (code) => fail(endError(code, taskId)),
    }

    if (timeoutMs < Infinity) deadline = timeline.add(timeoutMs, expire)
    ignore = onAbort(signal, abort)
    if (!signal?.aborted)
      Promise.resolve(
        find((found) => {
          if (isSettled) return
          record = found
          found.watch().waiters.add(waiter)
          if (waiter.accepts(found.head.state)) waiter.offer(found.snapshot())
        }),
      ).catch(fail)
  })
}

/** Runs a job after all jobs that were posted before. */
type Post = (job: () => void) => void

/**
 * Wakes subscribers, offers the changed task to waiters that accept its state, and aborts the signal of a task that was
 * canceled or timed out.
 */
export function notifyWatchers<S extends string>(
  record: TaskRecord<S>,
  isInTerminalState: boolean,
  post: Post,
): void {
  record.wake()
  const { watchers, head: task } = record
  const { state, id } = task
  if (state === 'canceled') record.endReason ??= 'TASK_CANCELED'
  if (watchers === undefined) return
  const waiters = [...watchers.waiters].filter((waiter) => waiter.accepts(state))
  if (waiters.length > 0) {
    const snapshot = record.snapshot()
    post(() => {
      for (const waiter of waiters) if (watchers.waiters.has(waiter)) waiter.offer(snapshot)
    })
  }
  if (!isInTerminalState) return
  const { endReason } = record
  const { controller } = watchers
  watchers.controller = undefined
  if (endReason !== undefined) post(() => controller?.abort(endError(endReason, id)))
}

/** Rejects the waiters and aborts the signal of a removed task. A task that had ended keeps its reason. */
export function rejectWatchers<S extends string>(
  record: TaskRecord<S>,
  code: RemovalCode,
  isInTerminalState: boolean,
  post: Post,
): void {
  const { watchers, head: task } = record
  if (!isInTerminalState) record.endReason = code
  record.wake()
  if (watchers === undefined) return
  post(() => {
    for (const waiter of [...watchers.waiters]) waiter.abandon(code)
    watchers.controller?.abort(endError(code, task.id))
  })
}

/** The signal of a task. Already aborted if the task has ended with a reason. */
export function signalOf<S extends string>(record: TaskRecord<S>, isInTerminalState: boolean): AbortSignal {
  const controller = record.watchers?.controller ?? new AbortController()
  const { endReason, head: task } = record
  if (!isInTerminalState) record.watch().controller = controller
  else if (endReason !== undefined) controller.abort(endError(endReason, task.id))
  return controller.signal
}
