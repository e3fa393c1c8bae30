/** Durable functions whose processes are killed, and the proof that all end right. */
import { expect } from 'vitest'
import { bookUnderKills, type Options } from './kill.js'

/** 500 where nothing is left out, fewer else; or `CHAOS_FUNCTIONS`. */
const TASKS = Number(process.env['CHAOS_FUNCTIONS'] ?? (process.env['CI'] ? 500 : 150))

/** Runs durable functions on processes that are killed: all end right, and no step that is stored runs again. */
export async function expectAllRight(
  name: string,
  url: string,
  replicas: number,
  by: Partial<Pick<Options, 'work' | 'env' | 'tasks'>> = {},
): Promise<void> {
  const { faults, kills, stepsRun, stepsNeeded, doubled } = await bookUnderKills({
    // Those with workers are half as many, so that all take no longer.
    ...{ name, url, replicas, tasks: by.work === undefined ? TASKS : TASKS / 2, ...by },
  })
  const ratio = stepsRun / stepsNeeded
  const counts = `${kills} kills, ${stepsRun} steps run, ${stepsNeeded} needed: ${ratio.toFixed(4)}`
  // Vitest shows what a console says only where a test fails.
  process.stderr.write(`${name} ${by.work ?? ''}: ${counts}\n`)
  expect({ faults, doubled }, counts).toEqual({ faults: [], doubled: 0 })
  expect(ratio, counts).toBeLessThan(1.05)
}
