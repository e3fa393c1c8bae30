/**
 * The platform's timers, for code that takes no clock.
 *
 * @module
 */

/** Resolves after `ms`, or as soon as `signal` aborts. Keeps the process alive until then. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
    if (signal?.aborted) end()
  })
}

/** Keeps the process alive until the returned function is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, 60_000)
  return () => clearInterval(timer)
}

/** Resolves after pending I/O and timers have had a chance to run. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
