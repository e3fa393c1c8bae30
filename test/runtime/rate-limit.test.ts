import { ManualClock } from 'a2a-tasks/testing'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { RateLimiter, type RateLimitOptions } from '../../src/runtime/rate-limit.js'

function setUp(options: Partial<RateLimitOptions> = {}) {
  const clock = new ManualClock()
  const limiter = new RateLimiter({ requests: 3, perMs: 1_000, ...options }, 'A2AGateway', clock)
  const take = (times: number, key = 'a'): number[] =>
    Array.from({ length: times }, () => limiter.consume(key))
  return { clock, limiter, take }
}

describe('a rate limit', () => {
  test('gives so many at once, and says when the next is', () => {
    const { take } = setUp()
    expect(take(5)).toEqual([0, 0, 0, 334, 334])
  })

  test('gives the next as soon as it said', () => {
    const { take, clock } = setUp()
    take(3)
    clock.advance(333)
    expect(take(1)).toEqual([1])
    clock.advance(1)
    expect(take(2)).toEqual([0, 333])
  })

  test('gives no more after a long time than at first', () => {
    const { take, clock } = setUp()
    take(3)
    clock.advance(1_000_000)
    expect(take(4)).toEqual([0, 0, 0, 334])
  })

  test('counts each owner by himself', () => {
    const { take } = setUp()
    take(3)
    expect(take(4, 'b')).toEqual([0, 0, 0, 334])
  })

  test('is independent of changes of the wall clock', () => {
    const { take, clock } = setUp()
    take(3)
    clock.set('2025-01-01T00:00:00Z')
    expect(take(1)).toEqual([334])
  })

  test('forgets an owner whose tokens are all back', () => {
    const { take, limiter, clock } = setUp()
    take(1)
    take(3, 'b')
    expect(limiter.size).toBe(2)
    clock.advance(334)
    take(1, 'c')
    expect(limiter.size).toBe(2)
    expect(take(1, 'b')).toEqual([0])
  })

  test('remembers a limited number of owners: the latest ones', () => {
    const { take, limiter } = setUp({ maxKeys: 2, requests: 2 })
    take(1)
    take(2, 'b')
    take(1)
    take(2, 'c')
    expect(limiter.size).toBe(2)
    expect([take(1), take(1, 'c'), take(1, 'b')].flat()).toEqual([500, 500, 0])
  })

  test('never grants more than its tokens and the refilled ones', () => {
    const waits = fc.array(fc.integer({ min: 0, max: 2_000 }), { maxLength: 60 })
    const number = fc.integer({ min: 1, max: 50 })
    fc.assert(
      fc.property(number, number, waits, (requests, perMs, pauses) => {
        const { clock, limiter } = setUp({ requests, perMs })
        let given = 0
        let passed = 0
        for (const pause of pauses) {
          const waitMs = limiter.consume('a')
          if (waitMs === 0) given += 1
          // After the reported time there is one.
          clock.advance(waitMs > 0 ? waitMs : pause)
          passed += waitMs > 0 ? waitMs : pause
          if (waitMs > 0) {
            expect(limiter.consume('a')).toBe(0)
            given += 1
          }
          expect(given).toBeLessThanOrEqual(requests + (passed * requests) / perMs)
        }
      }),
    )
  })

  test.each<[Partial<RateLimitOptions>, string]>([
    [{ requests: 0 }, '"rateLimit.requests" must be a positive integer, got 0'],
    [{ perMs: 0.5 }, '"rateLimit.perMs" must be a positive integer, got 0.5'],
    [{ maxKeys: -1 }, '"rateLimit.maxKeys" must be a positive integer, got -1'],
    // As an untyped caller may pass it.
    [{ perSecond: 1 } as Partial<RateLimitOptions>, 'Unknown option "rateLimit.perSecond" of A2AGateway'],
  ])('of %j is invalid', (options, message) => {
    expect(() => setUp(options)).toThrow(message)
  })
})
