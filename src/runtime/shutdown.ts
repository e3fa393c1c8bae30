/**
 * Grace period for pending work at shutdown.
 *
 * @module
 */
import type { Clock } from './clock.js'

/** Resolves when all of `work` has settled, or after `graceMs`. Never rejects. */
export async function settleWithin(
  clock: Clock,
  graceMs: number,
  work: Iterable<Promise<unknown>>,
): Promise<void> {
  let stop = (): void => {}
  const grace = new Promise<void>((resolve) => {
    stop = clock.schedule(resolve, graceMs)
  })
  await Promise.race([grace, Promise.allSettled(work)])
  stop()
}
