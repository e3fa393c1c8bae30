/** The simulation finds faults of the past, each put back alone, within 10,000 schedules. */
import { expect, test } from 'vitest'
import { MUTATIONS } from './mutations.js'
import { playMany } from './workers.js'

test.each(MUTATIONS)('finds that $name', { timeout: 1_800_000 }, async ({ changes, from }) => {
  const { failures } = await playMany({ from, count: 10_000, stops: true }, changes)
  expect(failures).not.toEqual([])
})
