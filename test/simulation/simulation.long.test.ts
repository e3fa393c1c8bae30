/** As `simulation.test.ts`, with other seeds and more of them. */
import { expect, test } from 'vitest'
import { reportOf } from './report.js'
import { WITH_WORKERS } from './schedule.js'
import { playMany } from './workers.js'

const LIMIT = { timeout: 3_600_000 }

test.each([
  [90_000, 1_000_000],
  [10_000, WITH_WORKERS + 1_000],
])('%d schedules from %d on lead to what the rules say', LIMIT, async (count, from) => {
  const { played, failures } = await playMany({ from, count })
  const [first] = failures
  expect(first && (await reportOf(first.seed))?.text).toBeUndefined()
  expect(played).toBe(count)
})
