/**
 * The end of an agent: what goes on is given time, and what comes is refused.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { Clock } from '../core/ports.js'

/** Waits until all of `work` is done, well or not, for `graceMs` at most. */
export async function settled(
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

/** The agent cannot do it now. `reason` goes on after "The agent". */
export function unavailable(reason = 'is shutting down'): A2AError<'UNAVAILABLE'> {
  return new A2AError('UNAVAILABLE', `The agent ${reason}; try again later`, { reason })
}
