/** As `simulation.test.ts`, with other seeds and more of them. */
import { expect, test } from 'vitest'
import { reportOf } from './report.js'
import { playMany } from './workers.js'

/**
 * Schedules that show faults which are known and not mended yet, about 2 in 10,000. `npm run simulate -- --seed N` shows one.
 * A mend removes its seeds here.
 */
const OPEN: readonly (readonly [fault: string, seeds: readonly number[]])[] = [
  ['a task stays working', [1021607, 1023795]],
]

test(
  '40,000 schedules lead to what the rules say, except those with open faults',
  {
    timeout: 3_600_000,
  },
  async () => {
    const { played, failures } = await playMany({ from: 1_000_000, count: 40_000 })
    const open = OPEN.flatMap(([, seeds]) => seeds)
    const unknown = failures.find(({ seed }) => !open.includes(seed))
    expect(unknown && (await reportOf(unknown.seed))?.text).toBeUndefined()
    const mended = open.filter((seed) => failures.every((failure) => failure.seed !== seed))
    expect(mended, 'these are mended: remove them from the list').toEqual([])
    expect(played).toBe(40_000)
  },
)
