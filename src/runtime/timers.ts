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

/** As {@link sleep}, and keeps the process alive until then, whatever the clock. */
export async function pauseWork(delayMs: number, signal: AbortSignal, clock: Clock): Promise<void> {
  const letGo = keepAlive()
  await sleep(delayMs, signal, clock)
  letGo()
}

interface Immediate {
  readonly setImmediate?: (callback: () => void) => unknown
}

/** Resolves after pending I/O has had a chance to run. */
export function yieldToEventLoop(): Promise<void> {
  // Node, Bun and Deno have it: a timer would cost a millisecond each time.
  const { setImmediate: schedule = setTimeout } = globalThis as Immediate
  return new Promise((resolve) => {
    schedule(resolve)
  })
}
