/**
 * Where the core meets the platform: time, ids, and errors that nobody is there to take. No other file of the core
 * reads a clock, draws a random number or touches a global of the runtime.
 *
 * @module
 */
import { v4 } from 'uuid'

/** Time as the core sees it. `a2a-tasks/testing` has a manual one. */
export interface Clock {
  /** Milliseconds since the epoch. The core tolerates steps back: to it, time then stands still. */
  now(): number
  /** Milliseconds since some moment, by a clock that nobody sets: timeouts count by it. Default is `now`. */
  monotonic?(): number
  /** Calls `callback` once, `delayMs` (0 to 2^31 - 1) from now, unless the returned function is called before. */
  schedule(callback: () => void, delayMs: number): () => void
}

/** Makes an id that no other task, message or artifact has. */
export type GenerateId = () => string

/** The runtime's clock. Its timers never keep a process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  schedule(callback, delayMs) {
    const timer: unknown = setTimeout(callback, delayMs)
    unref(timer)
    // What setTimeout gave is what clearTimeout takes; its type is the runtime's own affair.
    return () => clearTimeout(timer as number)
  },
}

/** Node and Bun return an object with `unref`; Deno a number that `Deno.unrefTimer` takes; a browser has no need. */
function unref(timer: unknown): void {
  if (typeof timer === 'object') {
    ;(timer as { unref?: () => void } | null)?.unref?.()
    return
  }
  const { Deno } = globalThis as { Deno?: { unrefTimer?: (id: unknown) => void } }
  Deno?.unrefTimer?.(timer)
}

/** A UUID v4. */
export const randomId: GenerateId = () => v4()

/** Throws where no caller of ours can be hurt, so that the runtime reports it as it does any uncaught error. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}
