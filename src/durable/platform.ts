/**
 * Where the durable manager meets the platform, beside the core's clock and ids.
 *
 * @module
 */

/** Keeps the process alive, where there is one, until the returned function is called. */
export function keepAlive(): () => void {
  const timer = setInterval(() => undefined, 60_000)
  return () => clearInterval(timer)
}
