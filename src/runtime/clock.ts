/**
 * The port for time, and the platform's clock behind it.
 *
 * @module
 */

/** A source of time and timers. `a2a-tasks/testing` has a clock that tests advance manually. */
export interface Clock {
  /** Milliseconds since the epoch. When it steps back, the time of tasks stands still until the clock catches up. */
  now(): number
  /** Milliseconds since an arbitrary moment, from a clock that is never adjusted; measures timeouts. Default is `now`. */
  monotonic?(): number
  /** Calls `callback` once, `delayMs` (0 to 2^31 - 1) from now, unless the returned function is called first. */
  schedule(callback: () => void, delayMs: number): () => void
}

/** The longest delay of `setTimeout`, in ms: 31 bits. For a longer one it fires at once. */
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

/** The clock for a pause of work: the platform's timers keep the process alive until then. Other clocks stay as they are. */
export function withKeepAlive(clock: Clock): Clock {
  return clock === systemClock ? keepAliveClock : clock
}

/** Milliseconds since an arbitrary moment. Changes of the system time have no effect if the clock has `monotonic`. */
export function elapsed(clock: Clock): number {
  return clock.monotonic?.() ?? clock.now()
}

/** Begins a time limit. The function returns what is left of it, in ms, at least 0. */
export function timeLeft(clock: Clock, limitMs: number): () => number {
  const end = elapsed(clock) + limitMs
  return () => Math.max(0, end - elapsed(clock))
}

/** Node and Bun return an object with `unref`; Deno returns a number for `Deno.unrefTimer`; browsers need neither. */
function unref(timer: unknown): void {
  const { Deno } = globalThis as { Deno?: { unrefTimer?: (id: number) => void } }
  if (typeof timer === 'number') Deno?.unrefTimer?.(timer)
  else (timer as { unref?: () => void } | undefined)?.unref?.()
}
