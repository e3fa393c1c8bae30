/**
 * Streams that are read while the page is visible: a browser has few connections to one server, which all tabs share.
 *
 * @module
 */
import { ApiError } from './api.js'

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 10_000
/** The status of a stream beyond those that a person may have open. */
const TOO_MANY = 429

/** Reads again and again, with pauses that grow while it fails, until the signal aborts or the server refuses. */
export async function readWhileVisible(
  signal: AbortSignal,
  read: (signal: AbortSignal) => Promise<void>,
  onState: (isLive: boolean) => void,
): Promise<void> {
  const isOver = (): boolean => signal.aborted
  for (let failures = 0; !isOver();) {
    await untilVisible(signal)
    const { signal: reading, stop } = untilHidden(signal)
    try {
      await read(reading)
      failures = 0
    } catch (error) {
      if (isOver()) return
      if (!reading.aborted) {
        failures += 1
        onState(false)
      }
      if (error instanceof ApiError && error.status < 500 && error.status !== TOO_MANY) return
    } finally {
      stop()
    }
    const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS)
    if (!isOver()) await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

function untilVisible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (document.hidden && !signal.aborted) return
      document.removeEventListener('visibilitychange', check)
      signal.removeEventListener('abort', check)
      resolve()
    }
    document.addEventListener('visibilitychange', check)
    signal.addEventListener('abort', check)
    check()
  })
}

/** A signal that also aborts when the page is hidden. */
function untilHidden(signal: AbortSignal): { readonly signal: AbortSignal; readonly stop: () => void } {
  const controller = new AbortController()
  const check = (): void => {
    if (document.hidden || signal.aborted) controller.abort()
  }
  document.addEventListener('visibilitychange', check)
  signal.addEventListener('abort', check)
  check()
  const stop = (): void => {
    document.removeEventListener('visibilitychange', check)
    signal.removeEventListener('abort', check)
    controller.abort()
  }
  return { signal: controller.signal, stop }
}
