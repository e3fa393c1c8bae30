/**
 * Long polling: a `GetTask` that waits for a change.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import { A2AError } from '../../core/errors.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { StreamLimit } from '../streams/stream-limit.js'
import type { ServedTasks } from '../tasks.js'

export interface LongPoll {
  readonly task: Pick<TaskSnapshot, 'id' | 'owner'>
  /** The generation that the client knows. */
  readonly after: number
  readonly timeoutMs: number
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal | undefined
}

/**
 * Resolves when the task has a generation after `after` or has ended. Resolves without a change when the time is up, the
 * client disconnects, or the agent shuts down. Counts as an open stream while it waits.
 *
 * @throws {A2AError} As a rejection: `UNAVAILABLE` or `RATE_LIMITED` when too many streams are open; `TASK_EXPIRED` or
 *   `MANAGER_DESTROYED` when the task is removed.
 */
export async function waitForChange(
  tasks: ServedTasks,
  streams: StreamLimit,
  { task, after, timeoutMs, signal }: LongPoll,
): Promise<void> {
  const controller = new AbortController()
  const close = (): void => controller.abort()
  const slot = streams.open(streams.reserve(task.owner ?? null), (listeners) => ({ close, ...listeners }))
  const ignore = onAbort(signal, close)
  try {
    const until = ({ generation }: { readonly generation: number }): boolean => generation > after
    await tasks.waitFor(task.id, { until, timeoutMs, signal: controller.signal })
  } catch (error) {
    if (!A2AError.is(error, 'WAIT_TIMED_OUT') && !A2AError.is(error, 'WAIT_ABORTED')) throw error
  } finally {
    ignore()
    slot.onEnd()
    slot.onLeave()
  }
}
