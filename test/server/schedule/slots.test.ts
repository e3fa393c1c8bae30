/** The order of the turns of one key, and when those that wait look again. */
import { describe, expect, test } from 'vitest'
import {
  entered,
  forgotten,
  freed,
  isEmpty,
  MAX_WAITING,
  NO_SLOTS,
  tidied,
  told,
  untold,
  type Bounds,
  type Entered,
  type Slots,
} from '../../../src/server/schedule/slots.js'

const ONE: Bounds = { max: 1 }
const createdAt = '2026-01-01T00:00:00.000Z'

/** The turn of task `id` would begin, under a lease that is named after it. */
function enter(slots: Slots, id: string, bounds: Bounds, now: number, since = now): Entered {
  return entered(slots, { id, createdAt, since, leaseId: `lease of ${id}` }, bounds, now)
}

/** Several turns, one after the other. */
function enterAll(ids: readonly string[], bounds: Bounds, now: number): Slots {
  return ids.reduce((slots, id) => enter(slots, id, bounds, now).slots, NO_SLOTS)
}

const held = (slots: Slots): string[] => slots.held.map(({ id }) => id)
const waiting = (slots: Slots): string[] => slots.waiting.map(({ id }) => id)
const newsOf = (slots: Slots, bounds: Bounds, now: number): string[] =>
  told(slots, bounds, now).news.map(({ id }) => id)

describe('turns of one key', () => {
  test('begin while there is room, and wait in their order then', () => {
    const slots = enterAll(['a', 'b', 'c', 'd'], { max: 2 }, 0)
    expect([held(slots), waiting(slots)]).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
    expect(enter(slots, 'e', { max: 2 }, 5)).toMatchObject({ waitMs: 60_000, before: [] })
  })

  test('that have a head start wait before the others', () => {
    let slots = enter(NO_SLOTS, 'a', ONE, 0).slots
    slots = enter(slots, 'b', ONE, 10).slots
    slots = enter(slots, 'c', ONE, 20, 20 - 60_000).slots
    expect(waiting(slots)).toEqual(['c', 'b'])
  })

  test('keep their place when they look again', () => {
    let slots = enterAll(['a', 'b', 'c'], ONE, 0)
    slots = enter(slots, 'b', ONE, 30_000).slots
    expect(waiting(slots)).toEqual(['b', 'c'])
  })

  test('come after one that was told to begin, for ten seconds', () => {
    const ended = freed(enterAll(['a', 'b', 'c'], ONE, 0), ['lease of a'])
    const { slots, news } = told(ended, ONE, 1_000)
    expect(news).toMatchObject([{ id: 'b', since: 0 }])
    expect(newsOf(slots, ONE, 1_001)).toEqual([])
    expect(enter(slots, 'd', ONE, 2_000)).toMatchObject({ waitMs: 30_000 })
    expect(enter(slots, 'c', ONE, 2_000)).toMatchObject({ waitMs: 20_000 })
    const late = enter(slots, 'c', ONE, 11_001)
    expect([late.waitMs, held(late.slots), waiting(late.slots)]).toEqual([0, ['c'], []])
    const { waitMs, slots: begun } = enter(slots, 'b', ONE, 2_000)
    expect([waitMs, held(begun), waiting(begun)]).toEqual([0, ['b'], ['c']])
  })

  test('keep the slot of their process that has died', () => {
    const slots = enterAll(['a', 'b'], ONE, 0)
    const again = entered(slots, { id: 'a', createdAt, since: 9, leaseId: 'another' }, ONE, 9)
    expect(again).toMatchObject({ waitMs: 0, slots: { held: [{ id: 'a', leaseId: 'another' }] } })
    // What the dead process would still remove is not there.
    expect(held(freed(again.slots, ['lease of a']))).toEqual(['a'])
  })

  test('look at those before them only when they come next, and have waited', () => {
    const slots = enterAll(['a', 'b', 'c'], ONE, 0)
    expect(enter(slots, 'd', ONE, 1).before).toEqual([])
    expect(enter(slots, 'c', ONE, 30_000).before).toEqual([])
    expect(enter(slots, 'b', ONE, 30_000).before).toMatchObject([{ id: 'a', leaseId: 'lease of a' }])
  })

  test('that hear nothing although they come next can be told again', () => {
    const { slots } = told(freed(enterAll(['a', 'b'], ONE, 0), ['lease of a']), ONE, 1)
    expect(newsOf(untold(slots, { id: 'b', createdAt }), ONE, 2)).toEqual(['b'])
  })

  test('beyond the most that are listed look again by themselves, not all at once', () => {
    const ids = Array.from({ length: MAX_WAITING + 40 }, (_, at) => `task ${at}`)
    const slots = enterAll(['first', ...ids], ONE, 0)
    expect(slots.waiting).toHaveLength(MAX_WAITING)
    const times = ids.slice(MAX_WAITING).map((id) => enter(slots, id, ONE, 0).waitMs)
    expect(new Set(times).size).toBeGreaterThan(20)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(60_000)
    expect(Math.max(...times)).toBeLessThanOrEqual(120_000)
    expect(enter(slots, 'task 499', ONE, 0).waitMs).toBe(600_000)
  })

  test('leave nothing behind', () => {
    const slots = enterAll(['a', 'b'], ONE, 0)
    expect(isEmpty(forgotten(freed(slots, ['lease of a']), ['b']))).toBe(true)
  })
})

describe('a rate', () => {
  const RATE: Bounds = { max: 10, rate: { max: 2, perMs: 1_000 } }

  test('lets so many turns begin within any time of its length', () => {
    let slots = enter(NO_SLOTS, 'a', RATE, 0).slots
    slots = enter(slots, 'b', RATE, 600).slots
    const third = enter(slots, 'c', RATE, 700)
    expect(third.waitMs).toBe(300)
    expect(enter(third.slots, 'c', RATE, 1_000).waitMs).toBe(0)
    expect(enter(enter(third.slots, 'c', RATE, 1_000).slots, 'd', RATE, 1_000).waitMs).toBe(600)
  })

  test('has each turn that waits come at its own time', () => {
    let slots = enterAll(['a', 'b'], RATE, 100)
    const times = ['c', 'd', 'e', 'f', 'g'].map((id) => {
      const made = enter(slots, id, RATE, 200)
      slots = made.slots
      return made.waitMs
    })
    expect(times).toEqual([900, 900, 1_900, 1_900, 2_900])
  })

  test('counts turns that can begin now among those before', () => {
    const given: Slots = {
      ...NO_SLOTS,
      starts: [0],
      waiting: ['a', 'b', 'c'].map((id) => ({ id, createdAt, since: 1, toldAt: 0 })),
    }
    expect(enter(given, 'd', RATE, 500).waitMs).toBe(1_500)
  })

  test('forgets starts that are too long ago, and those of a clock that was far ahead', () => {
    const given: Slots = { ...NO_SLOTS, starts: [0, 900_000] }
    expect(isEmpty(tidied(given, RATE, 5_000))).toBe(true)
  })

  test('does not count a turn twice whose process has died', () => {
    const slots = enterAll(['a', 'b'], RATE, 0)
    expect(enter(slots, 'a', RATE, 10)).toMatchObject({ waitMs: 0, slots: { starts: [0, 0] } })
  })
})
