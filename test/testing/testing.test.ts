import { describe, expect, test } from 'vitest'
import { ManualClock, sequentialIds } from 'a2a-tasks/testing'

describe('ManualClock', () => {
  test('fires timers on the way, each at its time, earliest first', () => {
    const clock = new ManualClock('2026-01-01T00:00:00Z')
    const start = clock.now()
    const fired: [string, number][] = []
    const mark = (name: string) => () => fired.push([name, clock.now() - start])
    clock.schedule(mark('late'), 20)
    clock.schedule(() => {
      mark('early')()
      clock.schedule(mark('nested'), 5)
    }, 10)
    const cancel = clock.schedule(mark('never'), 15)
    cancel()
    clock.advance(20)
    expect(fired).toEqual([
      ['early', 10],
      ['nested', 15],
      ['late', 20],
    ])
    expect(clock.pending).toBe(0)
    expect(clock.now()).toBe(start + 20)
  })

  test('may step back, as a system clock does, without changing the remaining time of timers', () => {
    const clock = new ManualClock(1_000)
    const fired: number[] = []
    clock.schedule(() => fired.push(clock.now()), 10)
    clock.set(500)
    clock.advance(9)
    expect(fired).toEqual([])
    clock.advance(1)
    expect(fired).toEqual([510])
  })
})

test('ManualClock refuses an invalid time', () => {
  const clock = new ManualClock(0)
  for (const run of [
    () => new ManualClock('hello'),
    () => clock.advance('5' as never),
    () => clock.advance(undefined as never),
    () => clock.advance(Infinity),
    () => clock.set(NaN),
  ]) {
    expect(run).toThrow(RangeError)
  }
  clock.set('2026-01-01T00:00:00Z')
  expect(clock.now()).toBe(Date.UTC(2026, 0))
})

test('sequentialIds counts, each generator for itself', () => {
  const [a, b] = [sequentialIds(), sequentialIds('run')]
  expect([a(), a(), b(), a()]).toEqual(['task-1', 'task-2', 'run-1', 'task-3'])
})
