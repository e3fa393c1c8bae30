/**
 * Errors for the platform to report as uncaught.
 *
 * Apart from `report.ts`, whose users differ: the build would load another chunk with the core.
 *
 * @module
 */

/** Throws in a separate microtask, so that the platform reports the error as uncaught. */
export function throwLater(error: unknown): void {
  queueMicrotask(() => {
    throw error
  })
}

/** Calls a listener. What it throws becomes an uncaught error and does not disturb the caller. */
export function callSafely(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    throwLater(error)
  }
}
