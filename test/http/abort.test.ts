import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, it } from 'vitest'
import { AbortScope } from '../../src/http/abort.js'
import { listenersOf } from '../client/support/listeners.js'

function caller() {
  const controller = new AbortController()
  const { count, added } = listenersOf(controller.signal)
  return { controller, signal: controller.signal, listeners: count, added }
}

const never = (): Promise<never> => new Promise(() => undefined)

describe('an abort scope', () => {
  it('follows the caller’s signal until it is disposed of', () => {
    const { controller, signal, listeners } = caller()
    const scope = new AbortScope(new ManualClock(), signal)
    const other = new AbortScope(new ManualClock(), signal)
    // Both share the one listener of the signal.
    expect(listeners()).toBe(1)
    other.dispose()
    expect(listeners()).toBe(1)
    const reason = new Error('Enough')
    controller.abort(reason)
    expect(scope.signal.reason).toMatchObject({ code: 'REQUEST_ABORTED', cause: reason })
    expect(other.signal.aborted).toBe(false)
    scope.dispose()
    expect(listeners()).toBe(0)
  })

  it('does not begin where the caller’s signal is aborted', () => {
    const signal = AbortSignal.abort(new Error('Enough'))
    expect(() => new AbortScope(new ManualClock(), signal)).toThrow(
      expect.objectContaining({ code: 'REQUEST_ABORTED' }),
    )
  })

  it('comes when the time is over that was set last', () => {
    const clock = new ManualClock()
    const scope = new AbortScope(clock, undefined)
    scope.arm(100)
    clock.advance(99)
    scope.arm(100)
    clock.advance(99)
    expect(scope.signal.aborted).toBe(false)
    clock.advance(1)
    expect(scope.signal.reason).toMatchObject({ code: 'REQUEST_TIMED_OUT', data: { timeoutMs: 100 } })
    expect(clock.pending).toBe(0)
  })

  it.each([Infinity, 2 ** 31])('never comes after %d ms, which no timer takes', (ms) => {
    const clock = new ManualClock()
    const scope = new AbortScope(clock, undefined)
    scope.arm(100)
    scope.arm(ms)
    expect(clock.pending).toBe(0)
  })

  it('leaves no timer when it is disposed of', () => {
    const clock = new ManualClock()
    const scope = new AbortScope(clock, undefined)
    scope.arm(100)
    scope.dispose()
    expect(clock.pending).toBe(0)
    clock.advance(1_000)
    expect(scope.signal.aborted).toBe(false)
  })
})

describe('a race', () => {
  it('resolves to the result of the work', async () => {
    const scope = new AbortScope(new ManualClock(), undefined)
    expect(await scope.race(() => Promise.resolve(7))).toBe(7)
    const error = new Error('Broken')
    await expect(scope.race(() => Promise.reject(error))).rejects.toBe(error)
  })

  it('is lost by work that does not heed the signal, and by work that has not begun', async () => {
    const scope = new AbortScope(new ManualClock(), undefined)
    const reason = new Error('Enough')
    const racing = scope.race(never)
    scope.abort(reason)
    await expect(racing).rejects.toBe(reason)
    let hasBegun = false
    const late = scope.race(() => {
      hasBegun = true
      return never()
    })
    await expect(late).rejects.toBe(reason)
    expect(hasBegun).toBe(false)
  })

  it('is lost for the reason of the signal, whatever the work makes of it', async () => {
    const scope = new AbortScope(new ManualClock(), undefined)
    const reason = new Error('Enough')
    const racing = scope.race(async () => {
      await Promise.resolve()
      scope.abort(reason)
      throw new TypeError('fetch failed')
    })
    await expect(racing).rejects.toBe(reason)
  })

  it('that was run 10,000 times has added one listener to the caller’s signal, and none is left', async () => {
    const { signal, listeners, added } = caller()
    const scope = new AbortScope(new ManualClock(), signal)
    const own = listenersOf(scope.signal)
    for (let count = 0; count < 10_000; count += 1) {
      await scope
        .race(() => (count % 2 === 0 ? Promise.resolve() : Promise.reject(new Error('No'))))
        .catch(() => undefined)
    }
    expect(added()).toBe(1)
    expect(own.count()).toBe(0)
    scope.dispose()
    expect(listeners()).toBe(0)
  })
})
