/**
 * Pauses, and timers that keep the process alive.
 *
 * @module
 */
import { keepAliveClock, MAX_DELAY_MS, type Clock } from './clock.js'

/**
 * Resolves after `delayMs`, or as soon as `signal` aborts. A delay longer than timers allow is shortened to the longest.
 *
 * @param clock Default is the platform's, whose timer keeps the process alive until then.
 */
export function sleep(delayMs: number, signal?: AbortSignal, clock: Clock = keepAliveClock): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }
    const onAbort = (): void => {
      cancel()
      end()
    }
    const cancel = clock.schedule(end, Math.min(delayMs, MAX_DELAY_MS))
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
  })
}

/** Keeps the process alive until the returned function is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, 60_000)
  return () => clearInterval(timer)
}

/** Resolves after pending I/O and timers have had a chance to run. */
export const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0))
