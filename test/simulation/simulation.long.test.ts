/** As `simulation.test.ts`, with other seeds and more of them. */
import { expect, test } from 'vitest'
import { reportOf } from './report.js'
import { playMany } from './workers.js'

test('100,000 schedules lead to what the rules say', { timeout: 3_600_000 }, async () => {
  const { played, failures } = await playMany({ from: 1_000_000, count: 100_000 })
  const [first] = failures
  expect(first && (await reportOf(first.seed))?.text).toBeUndefined()
  expect(played).toBe(100_000)
})
