import { A2AError } from 'a2a-tasks'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, it } from 'vitest'
import { timeLeft } from '../../src/runtime/clock.js'
import { pause, pauseMs, retry, retryAfterMs, abortableSleep, type Pacing } from '../../src/http/retry.js'

const LONGEST = 2 ** 31 - 1

function pacing(random: number, options: Partial<Pacing> = {}): Pacing & { readonly clock: ManualClock } {
  const clock = new ManualClock()
  return { random: () => random, attempts: 4, baseDelayMs: 250, maxDelayMs: 10_000, ...options, clock }
}

function unavailable(retryAfterMs?: number): A2AError {
  return new A2AError('UNAVAILABLE', 'Busy', {
    reason: 'Busy',
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  })
}

/** Lets what has been settled continue. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
}

describe('a pause', () => {
  it.each([
    [1, 125, 250],
    [2, 250, 500],
    [3, 500, 1_000],
    [6, 4_000, 8_000],
    [7, 5_000, 10_000],
    [1_000, 5_000, 10_000],
    [Infinity, 5_000, 10_000],
  ])('after attempt %d takes from %d to %d ms', (attempt, least, most) => {
    expect(pauseMs(pacing(0), attempt)).toBe(least)
    expect(pauseMs(pacing(1), attempt)).toBe(most)
    expect(pauseMs(pacing(0.5), attempt)).toBe((least + most) / 2)
  })

  it('takes as long as the agent asks for, up to the limit, and never less than without', () => {
    expect(pauseMs(pacing(1), 1, 3_000)).toBe(3_000)
    expect(pauseMs(pacing(1), 1, 10 ** 12)).toBe(10_000)
    expect(pauseMs(pacing(1), 1, 1)).toBe(250)
    expect(pauseMs(pacing(1), 1)).toBe(250)
  })

  it.each([
    [unavailable(3_000), 3_000],
    [unavailable(10 ** 12), 10_000],
    [unavailable(), 250],
    [new A2AError('INTERNAL', 'Oops', {}), 250],
  ])('after %s lasts %d ms', async (error, delayMs) => {
    const given = pacing(1)
    let isOver = false
    const over = pause(given, undefined, 1, error).then(() => (isOver = true))
    given.clock.advance(delayMs - 1)
    await turns()
    expect(isOver).toBe(false)
    given.clock.advance(1)
    await over
  })

  it('is over when its time has come, and leaves no timer', async () => {
    const given = pacing(1)
    let isOver = false
    const over = pause(given, undefined, 1).then(() => (isOver = true))
    given.clock.advance(249)
    await turns()
    expect(isOver).toBe(false)
    given.clock.advance(1)
    await over
    expect(given.clock.pending).toBe(0)
  })

  it.each([10 ** 12, Infinity])('of %d ms is no shorter than the longest that a timer takes', async (ms) => {
    const clock = new ManualClock()
    const delays: number[] = []
    const schedule = (callback: () => void, delayMs: number): (() => void) => {
      delays.push(delayMs)
      return clock.schedule(callback, delayMs)
    }
    const controller = new AbortController()
    const sleeping = abortableSleep({ now: () => 0, schedule }, ms, controller.signal)
    expect(delays).toEqual([LONGEST])
    controller.abort()
    await expect(sleeping).rejects.toMatchObject({ code: 'REQUEST_ABORTED' })
  })

  it('ends with an abort, whose reason is the cause, and leaves neither timer nor listener', async () => {
    const given = pacing(1)
    const reason = new Error('Enough')
    const controller = new AbortController()
    const pausing = pause(given, controller.signal, 1)
    expect(given.clock.pending).toBe(1)
    controller.abort(reason)
    await expect(pausing).rejects.toMatchObject({ code: 'REQUEST_ABORTED', cause: reason })
    expect(given.clock.pending).toBe(0)
    await expect(pause(given, controller.signal, 1)).rejects.toMatchObject({ code: 'REQUEST_ABORTED' })
    expect(given.clock.pending).toBe(0)
  })
})

describe('Retry-After', () => {
  it.each([
    ['seconds', '7', 7_000],
    ['no wait', '0', 0],
    ['many seconds', '999999999', 999_999_999_000],
    ['a date', 'Thu, 01 Jan 2026 00:01:30 GMT', 90_000],
    ['a date of RFC 850', 'Thursday, 01-Jan-26 00:01:30 GMT', 90_000],
    ['a past date', 'Wed, 31 Dec 2025 23:59:59 GMT', 0],
    ['too many seconds', '1000000000', undefined],
    ['hundreds of digits', '9'.repeat(400), undefined],
    ['a date of another form', '2026-01-01T00:01:30Z', undefined],
    ['no date', 'soon GMT', undefined],
    ['a negative number', '-1', undefined],
    ['a fraction', '1.5', undefined],
    ['no number', 'soon', undefined],
    ['nothing', '', undefined],
  ])('with %s: %s', (_, value, expected) => {
    const clock = new ManualClock('2026-01-01T00:00:00Z')
    expect(retryAfterMs(new Headers({ 'retry-after': value }), clock)).toBe(expected)
  })

  it('is absent', () => {
    expect(retryAfterMs(new Headers(), new ManualClock())).toBeUndefined()
  })
})

describe('retry', () => {
  /** Fails with the errors, then succeeds; every pause is over at once. */
  async function tried(errors: readonly A2AError[], mayRepeat: (error: unknown) => boolean = () => true) {
    const given = pacing(1)
    const left = [...errors]
    let calls = 0
    const work = (): Promise<string> => {
      calls += 1
      const error = left.shift()
      return error === undefined ? Promise.resolve('done') : Promise.reject(error)
    }
    const result = retry(given, undefined, mayRepeat, work).then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    )
    const waits: number[] = []
    await turns()
    while (given.clock.pending > 0) {
      const before = given.clock.monotonic()
      while (given.clock.pending > 0) given.clock.advance(1)
      waits.push(given.clock.monotonic() - before)
      await turns()
    }
    return { ...(await result), calls, waits }
  }

  it('succeeds as soon as the work does', async () => {
    expect(await tried([])).toEqual({ value: 'done', calls: 1, waits: [] })
    expect(await tried([unavailable(), unavailable(2_000)])).toEqual({
      value: 'done',
      calls: 3,
      waits: [250, 2_000],
    })
  })

  it('gives up after the last attempt, with the last error', async () => {
    const errors = [1, 2, 3, 4, 5].map(() => unavailable())
    const { error, calls, waits } = (await tried(errors)) as {
      error: unknown
      calls: number
      waits: number[]
    }
    expect(error).toBe(errors[3])
    expect(calls).toBe(4)
    expect(waits).toEqual([250, 500, 1_000])
  })

  it('gives up with the last error where a pause has taken all the time', async () => {
    const given = pacing(1)
    const error = unavailable()
    let calls = 0
    const work = (): Promise<never> => {
      calls += 1
      return Promise.reject(error)
    }
    const result = retry(given, undefined, () => true, work, timeLeft(given.clock, 1_000)).catch(
      (reason: unknown) => reason,
    )
    await turns()
    given.clock.advance(5_000)
    expect(await result).toBe(error)
    expect(calls).toBe(1)
  })

  it('gives up at once where the error is no reason to continue', async () => {
    const errors = [unavailable(), new A2AError('INTERNAL', 'Oops', {})]
    const result = await tried(errors, (error) => A2AError.is(error, 'UNAVAILABLE'))
    expect(result).toMatchObject({ error: errors[1], calls: 2 })
  })
})
