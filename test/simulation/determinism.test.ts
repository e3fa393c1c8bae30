/** A seed stands for one schedule, whose trace is the same each time. */
import { expect, test } from 'vitest'
import { scheduleOf } from './schedule.js'
import { simulate } from './simulate.js'

async function traceOf(seed: number): Promise<string> {
  const lines: string[] = []
  const { log } = await simulate(scheduleOf(seed), (line) => lines.push(line))
  return [...lines, ...log].join('\n')
}

test.each([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])('the trace of seed %i is the same twice', async (seed) => {
  const first = await traceOf(seed)
  expect(first.length).toBeGreaterThan(1_000)
  expect(await traceOf(seed)).toBe(first)
})

test('a schedule plays the same with the faults that happened as with those of its seed', async () => {
  const schedule = scheduleOf(11)
  const { happened, log } = await simulate(schedule)
  expect(happened).not.toEqual([])
  const again = await simulate({ ...schedule, only: new Set(happened) })
  expect(again).toMatchObject({ happened, log })
})
