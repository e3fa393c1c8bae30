/**
 * Races of work against an abort signal or a timeout, with plain errors as reasons.
 *
 * @module
 */
import { callSafely } from './uncaught.js'

const callbacksOf = new WeakMap<AbortSignal, Set<() => void>>()

/** The one listener of each signal. A signal aborts once. As with listeners, one that throws does not stop the others. */
function callAll(this: AbortSignal): void {
  this.removeEventListener('abort', callAll)
  for (const callback of callbacksOf.get(this) ?? []) callSafely(callback)
  callbacksOf.delete(this)
}

/**
 * Calls `callback` when the signal aborts, or at once if it has aborted, unless the returned function is called first. A signal
 * has one listener for all callbacks: Node warns of more than ten, and each takes as long to add as there are others. All code
 * of the library listens to signals through this function, since users pass one signal to many calls.
 */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): () => void {
  if (signal === undefined) return () => {}
  if (signal.aborted) {
    callback()
    return () => {}
  }
  const all = callbacksOf.get(signal) ?? new Set()
  if (all.size === 0) signal.addEventListener('abort', callAll)
  callbacksOf.set(signal, all.add(callback))
  return () => {
    if (all.delete(callback) && all.size === 0) signal.removeEventListener('abort', callAll)
  }
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
