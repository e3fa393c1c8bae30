/**
 * Those who wait for something to happen to a task, and how they hear of it.
 *
 * @module
 */
import { ended, type RemovalCode } from './errors.js'
import type { TaskRecord } from './task-record.js'

/** Has a job done after all that was told before. */
type Post = (job: () => void) => void

/**
 * Wakes subscribers, and offers the task to those who wait for it to be where it is now. The signal of one that has
 * ended aborts, where that says that its work is not wanted any more.
 */
export function tellFollowers<S extends string>(record: TaskRecord<S>, hasEnded: boolean, post: Post): void {
  record.wake()
  const { followers, task } = record
  const { state, id } = task
  if (state === 'canceled') record.over ??= 'TASK_CANCELED'
  if (followers === undefined) return
  const waiters = [...followers.waiters].filter((waiter) => waiter.isCurious(state))
  if (waiters.length > 0) {
    const snapshot = record.show()
    post(() => {
      for (const waiter of waiters) if (followers.waiters.has(waiter)) waiter.offer(snapshot)
    })
  }
  if (!hasEnded) return
  const { over } = record
  const { controller } = followers
  followers.controller = undefined
  if (over !== undefined) post(() => controller?.abort(ended(over, id)))
}

/** The task is gone. One that had ended keeps its reasons. */
export function abandonTask<S extends string>(
  record: TaskRecord<S>,
  code: RemovalCode,
  hasEnded: boolean,
  post: Post,
): void {
  const { followers, task } = record
  if (!hasEnded) record.over = code
  record.wake()
  if (followers === undefined) return
  post(() => {
    for (const waiter of [...followers.waiters]) waiter.abandon(code)
    followers.controller?.abort(ended(code, task.id))
  })
}

/** A task's signal: aborted already, where the task is over for a reason. */
export function signalOf<S extends string>(record: TaskRecord<S>, hasEnded: boolean): AbortSignal {
  const controller = record.followers?.controller ?? new AbortController()
  const { over, task } = record
  if (!hasEnded) record.follow().controller = controller
  else if (over !== undefined) controller.abort(ended(over, task.id))
  return controller.signal
}
