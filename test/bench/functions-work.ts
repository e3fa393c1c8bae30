/**
 * What two processes do of which one dies.
 */
import type { Run } from 'a2a-tasks/server'

export const RUNS = 100
const STEPS = 20
export const LEASE = { leaseMs: 1_000, sweepIntervalMs: 100 }

export async function passSteps(run: Run): Promise<void> {
  for (let step = 0; step < STEPS; step++) await run.step('work', () => step)
}
