/** As `simulation.test.ts`, with other seeds and more of them. */
import { expect, test } from 'vitest'
import { reportOf } from './report.js'
import { WITH_KEYS } from './keys.js'
import { WITH_A_KEY, WITH_WORKERS } from './schedule.js'
import { playMany } from './workers.js'

const LIMIT = { timeout: 3_600_000 }

test.each([
  [90_000, 1_000_000],
  [10_000, WITH_WORKERS + 1_000],
  [5_000, WITH_A_KEY + 1_000],
])('%d schedules from %d on lead to what the rules say', LIMIT, async (count, from) => {
  const { played, failures } = await playMany({ from, count })
  const [first] = failures
  expect(first && (await reportOf(first.seed))?.text).toBeUndefined()
  expect(played).toBe(count)
})

test('in 5,000 schedules of keys no more turns of one are at work than may be', LIMIT, async () => {
  const count = 5_000
  expect(await playMany({ from: WITH_KEYS + 1_000, count })).toEqual({ played: count, failures: [] })
})
