import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/core/ports.js'
import { Timeline, type Deadline } from '../../src/core/time.js'
import { ManualClock } from 'a2a-tasks/testing'

describe('Timeline', () => {
  test('runs what was added and not removed, in the order of the deadlines, each at its time', () => {
    const step = fc.record({ delay: fc.nat(50), remove: fc.boolean() })
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
      timeline.add(5, () => ran.push('added for now'))
      timeline.add(7, () => ran.push('added for later'))
    })
    clock.advance(5)
    expect(ran).toEqual(['added for now'])
    clock.advance(5)
    expect(ran).toEqual(['added for now', 'added for later'])
  })

  test('waits on when its timer fires too early', () => {
    const clock = new ManualClock(0)
    const impatient = {
      now: () => clock.now(),
      schedule: (run: () => void, ms: number) => clock.schedule(run, ms / 2),
    }
    const timeline = new Timeline(impatient)
    const ran: number[] = []
    timeline.add(64, () => ran.push(clock.now()))
    clock.advance(63)
    expect(ran).toEqual([])
    clock.advance(2)
    expect(ran).toHaveLength(1)
  })

  test('never runs backwards, and formats a millisecond once', () => {
    const clock = new ManualClock(1_000)
    const timeline = new Timeline(clock)
    const first = timeline.now()
    clock.advance(-500)
    expect(timeline.now()).toBe(first)
    clock.advance(501)
    expect(timeline.now()).toEqual({ ms: 1_001, iso: '1970-01-01T00:00:01.001Z' })
  })
})

describe('systemClock', () => {
  test('waits for longer than a timer of the runtime can', async () => {
    // setTimeout would run this in a millisecond, with a warning.
    const warnings: Error[] = []
    const warn = (warning: Error): number => warnings.push(warning)
    process.on('warning', warn)
    const cancel = systemClock.schedule(() => undefined, 2 ** 40)
    await new Promise(setImmediate)
    cancel()
    process.off('warning', warn)
    expect(warnings).toEqual([])
  })
})
