/**
 * Waiting no longer than somebody wants to know.
 *
 * @module
 */

/** What `work` settles with, or the reason of the signal, also where `work` does not heed it. */
export async function unlessAborted<T>(signal: AbortSignal, work: PromiseLike<T>): Promise<T> {
  let settle = (): void => {}
  const end = new Promise<never>((_, reject) => {
    // Whatever it was aborted with: the gateway aborts with errors.
    const onAbort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', onAbort)
    settle = () => signal.removeEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
  })
  try {
    return await Promise.race([end, work])
  } finally {
    settle()
  }
}
