/**
 * A `GetTask` that waits for news.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { StreamLimit } from '../streams/stream-limit.js'
import type { ServedTasks } from '../tasks.js'

export interface LongPoll {
  readonly taskId: string
  /** The generation that the client has. */
  readonly after: number
  readonly timeoutMs: number
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal | undefined
}

/**
 * Resolves when the task has a generation after `after`, or has ended; and also when the time is up, the client has
 * gone, or the agent shuts down: then the task is what it was. Takes a place among the streams meanwhile.
 *
 * @throws {A2AError} `UNAVAILABLE`; `TASK_EXPIRED` or `MANAGER_DESTROYED` when the task is removed.
 */
export async function waitForNews(
  tasks: ServedTasks,
  streams: StreamLimit,
  { taskId, after, timeoutMs, signal }: LongPoll,
): Promise<void> {
  const controller = new AbortController()
  const close = (): void => controller.abort()
  const place = streams.open(streams.reserve(), (leave) => ({ close, leave }))
  signal?.addEventListener('abort', close, { once: true })
  if (signal?.aborted) close()
  try {
    const until = ({ generation }: { readonly generation: number }): boolean => generation > after
    await tasks.waitFor(taskId, { until, timeoutMs, signal: controller.signal })
  } catch (error) {
    if (!A2AError.is(error, 'WAIT_TIMED_OUT') && !A2AError.is(error, 'WAIT_ABORTED')) throw error
  } finally {
    signal?.removeEventListener('abort', close)
    place.leave()
  }
}
