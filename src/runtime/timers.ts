/**
 * Pauses, and timers that keep the process alive.
 *
 * @module
 */
import { onAbort } from './abort.js'
import { keepAliveClock, MAX_DELAY_MS, type Clock } from './clock.js'

/**
 * Resolves after `delayMs`, or as soon as `signal` aborts. A delay longer than timers allow is shortened to the longest.
 *
 * @param clock Default is the platform's, whose timer keeps the process alive until then.
 */
export function sleep(delayMs: number, signal?: AbortSignal, clock: Clock = keepAliveClock): Promise<void> {
  return new Promise((resolve) => {
    let stop = (): void => {}
    const cancel = clock.schedule(
      () => {
        stop()
        resolve()
      },
      Math.min(delayMs, MAX_DELAY_MS),
    )
    if (signal === undefined) return
    stop = onAbort(signal, () => {
      cancel()
      resolve()
    })
  })
}

/** Keeps the process alive until the returned function is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, 60_000)
  return () => clearInterval(timer)
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
