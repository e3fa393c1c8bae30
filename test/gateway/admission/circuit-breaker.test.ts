import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { CircuitBreaker, type CircuitBreakerOptions } from '../../../src/gateway/admission/circuit-breaker.js'

function setUp() {
  const clock = new ManualClock()
  const breaker = new CircuitBreaker({ failures: 3, resetMs: 1_000 }, clock)
  const fail = (times: number): void => {
    for (let done = 0; done < times; done += 1) breaker.failed()
  }
  return { clock, breaker, fail }
}

describe('a closed breaker', () => {
  test('lets pass until enough have failed, one after the other', () => {
    const { breaker, fail } = setUp()
    fail(2)
    breaker.succeeded()
    fail(2)
    expect(breaker.waitMs).toBe(0)
    fail(1)
    expect(breaker.waitMs).toBe(1_000)
  })

  test('opens after 5 for 30 seconds by default', () => {
    const clock = new ManualClock()
    const breaker = new CircuitBreaker({}, clock)
    for (let done = 0; done < 4; done += 1) breaker.failed()
    expect(breaker.waitMs).toBe(0)
    breaker.failed()
    expect(breaker.waitMs).toBe(30_000)
  })
})

describe('an open breaker', () => {
  test('says how long it is open', () => {
    const { breaker, fail, clock } = setUp()
    fail(3)
    clock.advance(400)
    expect(breaker.waitMs).toBe(600)
  })

  test('ignores the results of tasks that began before it opened', () => {
    const { breaker, fail, clock } = setUp()
    fail(3)
    clock.advance(400)
    breaker.failed()
    breaker.succeeded()
    expect(breaker.waitMs).toBe(600)
  })

  test('stays open when the wall clock is set', () => {
    const { breaker, fail, clock } = setUp()
    fail(3)
    clock.set('2025-01-01T00:00:00Z')
    expect(breaker.waitMs).toBe(1_000)
  })
})

describe('a half open breaker', () => {
  function halfOpen() {
    const all = setUp()
    all.fail(3)
    all.clock.advance(1_000)
    return all
  }

  test('lets one task pass, and no other until it has ended', () => {
    const { breaker } = halfOpen()
    expect(breaker.waitMs).toBe(0)
    breaker.enter()
    expect(breaker.waitMs).toBe(1_000)
  })

  test('closes when that succeeds', () => {
    const { breaker, fail } = halfOpen()
    const leave = breaker.enter()
    breaker.succeeded()
    leave()
    expect(breaker.waitMs).toBe(0)
    fail(2)
    expect(breaker.waitMs).toBe(0)
  })

  test('opens for the whole time when that fails', () => {
    const { breaker, clock } = halfOpen()
    const leave = breaker.enter()
    clock.advance(5_000)
    breaker.failed()
    leave()
    expect(breaker.waitMs).toBe(1_000)
    clock.advance(1_000)
    expect(breaker.waitMs).toBe(0)
  })

  test('lets the next one try when that finds out nothing', () => {
    const { breaker } = halfOpen()
    breaker.enter()()
    expect(breaker.waitMs).toBe(0)
  })

  test('waits for the task that tries, not for one before', () => {
    const { breaker, clock } = halfOpen()
    const first = breaker.enter()
    breaker.failed()
    clock.advance(1_000)
    breaker.enter()
    first()
    expect(breaker.waitMs).toBe(1_000)
  })

  test('does not wait for tasks that passed while it was closed', () => {
    const { breaker, fail, clock } = setUp()
    const early = breaker.enter()
    fail(3)
    clock.advance(1_000)
    breaker.enter()
    early()
    expect(breaker.waitMs).toBe(1_000)
  })
})

test.each<[CircuitBreakerOptions, string]>([
  [{ failures: 0 }, '"circuitBreaker.failures" must be a positive integer, got 0'],
  [{ resetMs: Number.NaN }, '"circuitBreaker.resetMs" must be a positive integer, got NaN'],
  // As an untyped caller may pass it.
  [
    { reset: 1 } as CircuitBreakerOptions,
    'Unknown option "circuitBreaker.reset" of A2AGateway, did you mean "resetMs"?; known are failures, resetMs',
  ],
])('%j is invalid', (options, message) => {
  expect(() => new CircuitBreaker(options)).toThrow(message)
})

test('a slow trial of a failing service blocks no other task once it has ended', () => {
  const clock = new ManualClock()
  const breaker = new CircuitBreaker({ failures: 3, resetMs: 1_000 }, clock)
  for (let n = 0; n < 3; n += 1) breaker.failed()
  clock.advance(1_000)
  breaker.enter()
  expect(breaker.waitMs).toBe(1_000)
  breaker.answered()
  expect(breaker.waitMs).toBe(0)
  breaker.failed()
  expect(breaker.waitMs).toBe(1_000)
})
