/**
 * The port for time, and the platform's clock behind it.
 *
 * @module
 */

/** A source of time and timers. `a2a-tasks/testing` has one that tests move by hand. */
export interface Clock {
  /** Milliseconds since the epoch. The core tolerates steps back: for the tasks, time stands still until it catches up. */
  now(): number
  /** Milliseconds since some moment, from a clock that is never set; timeouts are measured with it. Default is `now`. */
  monotonic?(): number
  /** Calls `callback` once, `delayMs` (0 to 2^31 - 1) from now, unless the returned function is called first. */
  schedule(callback: () => void, delayMs: number): () => void
}

/** The longest delay that `setTimeout` takes, in ms: 31 bits. It fires at once for a longer one. */
export const MAX_DELAY_MS = 2 ** 31 - 1

/** The platform's clock. Its timers never keep a process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(callback, delayMs) {
    const timer: unknown = setTimeout(callback, delayMs)
    unref(timer)
    // The type of a timer differs between platforms; clearTimeout accepts what setTimeout returned.
    return () => clearTimeout(timer as number)
  },
}

/** The platform's clock for work that a caller awaits: its timers keep the process alive. */
export const keepAliveClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(callback, delayMs) {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
}

/** Milliseconds since some moment, unaffected by changes of the system time where the clock has `monotonic`. */
export function elapsed(clock: Clock): number {
  return clock.monotonic?.() ?? clock.now()
}

/** Node and Bun return an object with `unref`; Deno returns a number for `Deno.unrefTimer`; browsers need neither. */
function unref(timer: unknown): void {
  if (typeof timer === 'object') {
    ;(timer as { unref?: () => void } | null)?.unref?.()
    return
  }
  const { Deno } = globalThis as { Deno?: { unrefTimer?: (id: unknown) => void } }
  Deno?.unrefTimer?.(timer)
}
