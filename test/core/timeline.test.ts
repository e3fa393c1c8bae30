import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Timeline, type Deadline } from '../../src/core/timeline.js'
import { ManualClock } from 'a2a-tasks/testing'
import { uncaughtBy } from '../support/uncaught.js'

describe('Timeline', () => {
  test('runs the deadlines that were not removed, in order, each at its time', () => {
    const step = fc.record({ delay: fc.integer({ min: 1, max: 50 }), remove: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const clock = new ManualClock(0)
        const timeline = new Timeline(clock)
        const ran: number[] = []
        const deadlines = steps.map(({ delay }) => timeline.add(delay, () => ran.push(clock.now())))
        for (const [index, { remove }] of steps.entries()) {
          if (remove) timeline.remove(deadlines[index] as Deadline)
        }
        clock.advance(100)
        const kept = steps.filter(({ remove }) => !remove).map(({ delay }) => delay)
        expect(ran).toEqual(kept.toSorted((a, b) => a - b))
        expect(clock.pending).toBe(0)
      }),
    )
  })

  test('needs one timer, and none when nothing is left', () => {
    const clock = new ManualClock(0)
    const timeline = new Timeline(clock)
    const later = timeline.add(100, () => undefined)
    const sooner = timeline.add(50, () => undefined)
    expect(clock.pending).toBe(1)
    timeline.remove(sooner)
    timeline.remove(sooner)
    timeline.remove(later)
    expect(clock.pending).toBe(0)
  })

  test('lets a deadline add and remove others', () => {
    const clock = new ManualClock(0)
    const timeline = new Timeline(clock)
    const ran: string[] = []
    const other = timeline.add(10, () => ran.push('removed'))
    timeline.add(5, () => {
      timeline.remove(other)
      timeline.add(0, () => ran.push('added for at once'))
      timeline.add(7, () => ran.push('added for later'))
    })
    clock.advance(5)
    expect(ran).toEqual([])
    clock.advance(1)
    expect(ran).toEqual(['added for at once'])
    clock.advance(9)
    expect(ran).toEqual(['added for at once', 'added for later'])
  })

  test('waits in parts for longer than a timer can', () => {
    const clock = new ManualClock(0)
    const delays: number[] = []
    const schedule = (run: () => void, ms: number): (() => void) => {
      delays.push(ms)
      return clock.schedule(run, ms)
    }
    const timeline = new Timeline({ now: () => clock.now(), monotonic: () => clock.monotonic(), schedule })
    const ran: number[] = []
    timeline.add(2 ** 32, () => ran.push(clock.now()))
    clock.advance(2 ** 33)
    expect(delays).toEqual([2 ** 31 - 1, 2 ** 31 - 1, 2])
    expect(ran).toEqual([2 ** 32])
  })

  test('measures what has passed, whatever the clock is set to', () => {
    const clock = new ManualClock(1_000_000)
    const timeline = new Timeline(clock)
    const ran: number[] = []
    timeline.add(10, () => ran.push(1))
    clock.set(500_000) // a step back: what has passed has passed
    timeline.add(10, () => ran.push(2))
    clock.advance(9)
    expect(ran).toEqual([])
    clock.advance(1)
    expect(ran).toEqual([1, 2])
  })

  test('waits on when its timer fires too early', () => {
    const clock = new ManualClock(0)
    const hasty = {
      now: () => clock.now(),
      schedule: (run: () => void, ms: number) => clock.schedule(run, ms / 2),
    }
    const timeline = new Timeline(hasty)
    const ran: number[] = []
    timeline.add(64, () => ran.push(clock.now()))
    clock.advance(63)
    expect(ran).toEqual([])
    clock.advance(2)
    expect(ran).toHaveLength(1)
  })

  test('runs the others when one throws, which becomes an uncaught error', async () => {
    const clock = new ManualClock(0)
    const timeline = new Timeline(clock)
    const ran: number[] = []
    timeline.add(1, () => {
      throw new Error('boom')
    })
    timeline.add(1, () => ran.push(1))
    timeline.add(2, () => ran.push(2))
    const uncaught = await uncaughtBy(() => clock.advance(2))
    expect(ran).toEqual([1, 2])
    expect(uncaught).toEqual([new Error('boom')])
  })

  test.each([NaN, Infinity, 1e20, undefined])('refuses a clock that says %s', (time) => {
    const timeline = new Timeline({ now: () => time as number, schedule: () => () => undefined })
    expect(() => timeline.now()).toThrow('"clock" must give milliseconds since 1970')
  })

  test('never runs backwards, and formats a millisecond once', () => {
    const clock = new ManualClock(1_000)
    const timeline = new Timeline(clock)
    const first = timeline.now()
    clock.set(500)
    expect(timeline.now()).toBe(first)
    clock.advance(501)
    expect(timeline.now()).toEqual({ ms: 1_001, iso: '1970-01-01T00:00:01.001Z' })
  })
})
