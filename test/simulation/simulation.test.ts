/** Random functions in a world where everything goes wrong end as they do where nothing does. */
import { expect, test } from 'vitest'
import { read } from '../support/repository.js'
import { WIDE, WIDEST } from './functions.js'
import { MUTATIONS } from './mutations.js'
import { reportOf } from './report.js'
import { WITH_PRODUCERS, WITH_WORKERS } from './schedule.js'
import { playMany } from './workers.js'

test.each([
  [500, 1],
  [150, WIDE],
  [150, WIDEST],
  [150, WITH_WORKERS],
  [150, WITH_PRODUCERS],
  // A task whose turn was handed out is canceled, while an agent waits for its answer.
  [1, 80_009_893],
])('%d schedules from %d on lead to what the rules say', { timeout: 600_000 }, async (count, from) => {
  const { played, failures } = await playMany({ from, count })
  const [first] = failures
  expect(first && (await reportOf(first.seed))?.text).toBeUndefined()
  expect(played).toBe(count)
})

test.each(MUTATIONS)('the fault that $name can be put back', ({ changes }) => {
  // The long tests do so, and show that the simulation finds it.
  for (const { file, text } of changes) expect(read(`src/${file}`).split(text), text).toHaveLength(2)
})
