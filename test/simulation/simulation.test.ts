/** Random functions in a world where everything goes wrong end as they do where nothing does. */
import { expect, test } from 'vitest'
import { reportOf } from './report.js'
import { playMany } from './workers.js'

test('2,000 schedules lead to what the rules say', { timeout: 600_000 }, async () => {
  const { played, failures } = await playMany({ count: 2_000 })
  const [first] = failures
  expect(first && (await reportOf(first.seed))?.text).toBeUndefined()
  expect(played).toBe(2_000)
})
