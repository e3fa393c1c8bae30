/**
 * A reply as a stream that a front end reads.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { onAbort } from '../runtime/abort.js'

interface ReplyStreamOptions<T> {
  /** Cancels the task. */
  readonly abortSignal: AbortSignal | undefined
  /** Whether the abort is meant for the task, and not only for this stream. Default is that it is. */
  readonly isStopped?: () => boolean
  /** What the reader gets when the work fails. */
  readonly failure: (error: unknown) => T
}

/**
 * A stream of what `work` writes. Its signal aborts with `abortSignal`, so that the task is canceled. If the stream is only no
 * longer read, or `isStopped` says that something else goes on with the task, the signal leaves the task alone.
 */
export function replyStream<T>(
  { abortSignal, isStopped = () => true, failure }: ReplyStreamOptions<T>,
  work: (write: (chunk: T) => void, signal: AbortSignal) => Promise<void>,
): ReadableStream<T> {
  const scope = new AbortController()
  const leave = (): void =>
    scope.abort(new A2AError('LEASE_LOST', 'The reply is no longer read', { taskId: '' }))
  let isOpen = true
  return new ReadableStream<T>({
    start(controller) {
      const write = (chunk: T): void => {
        if (isOpen) controller.enqueue(chunk)
      }
      // What takes its place begins in the same turn of the event loop.
      const ignore = onAbort(abortSignal, () => {
        void Promise.resolve()
          .then(isStopped)
          .then((isLast) => (isLast ? scope.abort() : leave()))
      })
      void work(write, scope.signal)
        .catch((error: unknown) => write(failure(error)))
        .finally(() => {
          ignore()
          if (isOpen) controller.close()
        })
    },
    cancel() {
      isOpen = false
      if (abortSignal?.aborted !== true) leave()
    },
  })
}
