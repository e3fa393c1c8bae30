import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { A2AError } from '../../../src/core/errors.js'
import { Admission, type AdmissionOptions } from '../../../src/gateway/admission/admission.js'

function setUp(options: AdmissionOptions = {}) {
  const clock = new ManualClock()
  const admission = new Admission({ clock, ...options })
  const enter = (id: string, others: { max?: number; owner?: string } = {}): (() => void) => {
    const { max, owner } = others
    return admission.admit({ agent: { id, ...(max !== undefined && { maxConcurrentTasks: max }) }, owner })
  }
  const refusal = (...given: Parameters<typeof enter>): unknown => {
    try {
      enter(...given)
    } catch (error) {
      return A2AError.is(error) ? { code: error.code, message: error.message, ...error.data } : error
    }
    return undefined
  }
  return { clock, admission, enter, refusal }
}

describe('a task is let in', () => {
  test('and counts until it leaves, once', () => {
    const { admission, enter } = setUp()
    const leave = enter('a')
    enter('a')
    enter('b')
    expect(['a', 'b', 'c'].map((id) => admission.loadOf(id))).toEqual([2, 1, 0])
    leave()
    leave()
    expect(admission.loadOf('a')).toBe(1)
  })

  test('up to as many as the gateway lets, of all agents', () => {
    const { enter, refusal } = setUp({ maxConcurrentTasks: 2 })
    const leave = enter('a')
    enter('b')
    expect(refusal('c')).toEqual({
      code: 'AGENT_BUSY',
      message: 'Agent is busy: c',
      agentId: 'c',
      reason: 'the gateway has too much to do',
      retryable: true,
      retryAfterMs: 5_000,
    })
    leave()
    expect(refusal('c')).toBeUndefined()
  })

  test('100 by default, or without end', () => {
    const { enter, refusal } = setUp()
    const all = setUp({ maxConcurrentTasks: Infinity })
    for (let count = 0; count < 100; count += 1) {
      enter('a')
      all.enter('a')
    }
    expect(refusal('a')).toMatchObject({ code: 'AGENT_BUSY' })
    expect(all.refusal('a')).toBeUndefined()
  })

  test('up to as many as the agent takes', () => {
    const { enter, refusal } = setUp()
    const leave = enter('a', { max: 1 })
    expect(refusal('a', { max: 1 })).toMatchObject({
      code: 'AGENT_BUSY',
      message: 'Agent is busy: a',
      reason: 'it has too much to do',
    })
    expect(refusal('b', { max: 1 })).toBeUndefined()
    leave()
    expect(refusal('a', { max: 1 })).toBeUndefined()
  })

  test('so many of one owner in so much time', () => {
    const { enter, refusal, clock } = setUp({ rateLimit: { requests: 2, perMs: 10_000 } })
    enter('a', { owner: 'x' })
    enter('b', { owner: 'x' })
    expect(refusal('a', { owner: 'x' })).toEqual({
      code: 'RATE_LIMITED',
      message: 'Rate limited: retry after 5 seconds',
      retryable: true,
      retryAfterMs: 5_000,
    })
    expect(refusal('a', { owner: 'y' })).toBeUndefined()
    clock.advance(5_000)
    expect(refusal('a', { owner: 'x' })).toBeUndefined()
  })

  test('so many of callers without an owner in a time', () => {
    const { enter, refusal } = setUp({ rateLimit: { requests: 1, perMs: 10_000 } })
    enter('a')
    expect(refusal('b')).toMatchObject({ code: 'RATE_LIMITED', retryAfterMs: 10_000 })
  })
})

describe('the agent of a service that keeps failing', () => {
  function broken(options: AdmissionOptions = {}) {
    const all = setUp({ circuitBreaker: { failures: 2, resetMs: 1_000 }, ...options })
    for (let count = 0; count < 2; count += 1) {
      const leave = all.enter('a')
      all.admission.failed('a')
      leave()
    }
    return all
  }

  test('gets no task for a while, and others do', () => {
    const { refusal, clock } = broken()
    clock.advance(200)
    expect(refusal('a')).toEqual({
      code: 'AGENT_BUSY',
      message: 'Agent is busy: a',
      agentId: 'a',
      reason: 'its service keeps failing',
      retryable: true,
      retryAfterMs: 800,
    })
    expect(refusal('b')).toBeUndefined()
  })

  test('gets one then, and more when it succeeds', () => {
    const { admission, enter, refusal, clock } = broken()
    clock.advance(1_000)
    const leave = enter('a')
    expect(refusal('a')).toMatchObject({ reason: 'its service keeps failing', retryAfterMs: 1_000 })
    admission.succeeded('a')
    leave()
    expect([refusal('a'), refusal('a')]).toEqual([undefined, undefined])
  })

  test('gets another one when the first finds out nothing', () => {
    const { enter, refusal, clock } = broken()
    clock.advance(1_000)
    enter('a')()
    expect(refusal('a')).toBeUndefined()
  })

  test('gets tasks when the circuit breaker is turned off', () => {
    expect(broken({ circuitBreaker: false }).refusal('a')).toBeUndefined()
  })

  test('starts with a closed breaker when it is registered again', () => {
    const { admission, refusal } = broken()
    admission.forget('a')
    expect(refusal('a')).toBeUndefined()
  })
})

describe('a refusal', () => {
  test('by an agent that is busy takes no token', () => {
    const { enter, refusal } = setUp({ rateLimit: { requests: 2, perMs: 10_000 } })
    enter('a', { max: 1 })
    expect(refusal('a', { max: 1 })).toMatchObject({ code: 'AGENT_BUSY' })
    expect(refusal('b')).toBeUndefined()
    expect(refusal('c')).toMatchObject({ code: 'RATE_LIMITED' })
  })

  test('by the rate limit counts nowhere, and leaves the try to others', () => {
    const rateLimit = { requests: 2, perMs: 1_000_000 }
    const { admission, enter, refusal, clock } = setUp({
      circuitBreaker: { failures: 1, resetMs: 1_000 },
      rateLimit,
      maxConcurrentTasks: 3,
    })
    enter('a', { owner: 'x' })()
    admission.failed('a')
    enter('b', { owner: 'x' })
    clock.advance(1_000)
    expect(refusal('a', { owner: 'x' })).toMatchObject({ code: 'RATE_LIMITED' })
    expect(admission.loadOf('a')).toBe(0)
    expect(refusal('a', { owner: 'y' })).toBeUndefined()
    expect(refusal('b', { owner: 'y' })).toBeUndefined()
  })
})

describe('an agent that is gone', () => {
  test('leaves nothing but what its tasks are to the gateway', () => {
    const { admission, enter, refusal } = setUp({ maxConcurrentTasks: 1 })
    const leave = enter('a')
    admission.forget('a')
    expect(admission.loadOf('a')).toBe(0)
    expect(refusal('b')).toMatchObject({ reason: 'the gateway has too much to do' })
    admission.failed('a')
    admission.succeeded('a')
    leave()
    expect(refusal('b')).toBeUndefined()
    expect(admission.loadOf('a')).toBe(0)
  })
})

test.each<[AdmissionOptions, string]>([
  [{ maxConcurrentTasks: 0 }, '"maxConcurrentTasks" must be a positive integer, got 0'],
  [{ circuitBreaker: { failures: -1 } }, '"circuitBreaker.failures" must be'],
  [{ rateLimit: { requests: 1, perMs: 0 } }, '"rateLimit.perMs" must be'],
])('%j is refused before the first task', (options, message) => {
  expect(() => new Admission(options)).toThrow(message)
})
