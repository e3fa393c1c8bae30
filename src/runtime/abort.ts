/**
 * Races of work against an abort signal or a timeout, with plain errors as reasons.
 *
 * @module
 */

/** The listener of a signal. */
interface Listener {
  readonly callbacks: Set<() => void>
  readonly stop: () => void
}

const listeners = new WeakMap<AbortSignal, Listener>()

/**
 * Calls `callback` when the signal aborts, or at once if it has aborted, unless the returned function is called first. A signal
 * has one listener for all callbacks: Node warns of more than ten, and each takes as long to add as there are others.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback()
    return () => undefined
  }
  const { callbacks, stop } = listeners.get(signal) ?? listen(signal)
  callbacks.add(callback)
  return () => {
    if (callbacks.delete(callback) && callbacks.size === 0) stop()
  }
}

function listen(signal: AbortSignal): Listener {
  const callbacks = new Set<() => void>()
  const onEvent = (): void => {
    for (const callback of callbacks) callback()
  }
  signal.addEventListener('abort', onEvent)
  const stop = (): void => {
    listeners.delete(signal)
    signal.removeEventListener('abort', onEvent)
  }
  const listener = { callbacks, stop }
  listeners.set(signal, listener)
  return listener
}

/** The result of `work`, or a rejection with the signal's reason as soon as it aborts, even if `work` ignores the signal. */
export async function raceAbort<T>(signal: AbortSignal, work: PromiseLike<T>): Promise<T> {
  let settle = (): void => {}
  const end = new Promise<never>((_, reject) => {
    // Abort reasons are of any type; callers of this function abort with errors.
    settle = onAbort(signal, () => reject(signal.reason as Error))
  })
  try {
    return await Promise.race([end, work])
  } finally {
    settle()
  }
}

/**
 * The result of `work`, or a rejection after `timeoutMs`, even if `work` ignores its signal, which aborts then. Unlike the
 * timer of `AbortSignal.timeout`, this one keeps the process alive: a caller awaits the result.
 */
export async function withTimeout<T>(
  timeoutMs: number,
  work: (signal: AbortSignal) => T | Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  let stop = (): void => {}
  const late = new Promise<never>((_, reject) => {
    const timer = setTimeout(() => {
      const error = new Error(`no answer within ${timeoutMs} ms`)
      reject(error)
      controller.abort(error)
    }, timeoutMs)
    stop = () => clearTimeout(timer)
  })
  try {
    return await Promise.race([work(controller.signal), late])
  } finally {
    stop()
  }
}

/** The promise, which is no unhandled rejection where code does not await it. */
export function observed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined)
  return promise
}
