/**
 * Those who wait for something to happen to a task, and how they hear of it.
 *
 * @module
 */
import { ended, type RemovalCode } from './errors.js'
import type { TaskRecord } from './task-record.js'

/** Has a job done after all that was told before. */
type Post = (job: () => void) => void

/** Wakes subscribers, and offers the task to those who wait for it to be where it is now. */
export function offerTask<S extends string>(record: TaskRecord<S>, post: Post): void {
  const { followers } = record
  record.wake()
  if (followers === undefined || followers.waiters.size === 0) return
  const { state } = record.task
  const waiters = [...followers.waiters].filter((waiter) => waiter.isCurious(state))
  if (waiters.length === 0) return
  const snapshot = record.show()
  post(() => {
    for (const waiter of waiters) if (followers.waiters.has(waiter)) waiter.offer(snapshot)
  })
}

/** The task has ended: its signal aborts, where that says that its work is not wanted any more. */
export function releaseSignal<S extends string>(record: TaskRecord<S>, post: Post): void {
  if (record.task.state === 'canceled') record.over ??= 'TASK_CANCELED'
  const { over, followers } = record
  const controller = followers?.controller
  if (followers === undefined || controller === undefined) return
  followers.controller = undefined
  if (over !== undefined) post(() => controller.abort(ended(over, record.task.id)))
}

/** The task is gone. One that had ended (`hasEnded`) keeps its reasons. */
export function abandonTask<S extends string>(
  record: TaskRecord<S>,
  code: RemovalCode,
  hasEnded: boolean,
  post: Post,
): void {
  if (!hasEnded) record.over = code
  record.wake()
  const { followers, task } = record
  if (followers === undefined) return
  post(() => {
    for (const waiter of [...followers.waiters]) waiter.abandon(code)
    followers.controller?.abort(ended(code, task.id))
  })
}

/** A task's signal: aborted already, where the task is over for a reason. */
export function signalOf<S extends string>(record: TaskRecord<S>, hasEnded: boolean): AbortSignal {
  const controller = record.followers?.controller ?? new AbortController()
  if (!hasEnded) record.follow().controller = controller
  else if (record.over !== undefined) controller.abort(ended(record.over, record.task.id))
  return controller.signal
}
