import { describe, expect, test } from 'vitest'
import { onAbort } from '../../src/runtime/abort.js'
import { uncaughtBy } from '../support/uncaught.js'

describe('what listens to a signal', () => {
  test('is called also if what was called before it throws', async () => {
    const controller = new AbortController()
    const called: string[] = []
    onAbort(controller.signal, () => {
      throw new Error('a')
    })
    onAbort(controller.signal, () => called.push('b'))
    const uncaught = await uncaughtBy(() => controller.abort())
    expect(called).toEqual(['b'])
    expect(uncaught).toEqual([new Error('a')])
  })

  test('is called once, and not after it has left', () => {
    const controller = new AbortController()
    const called: string[] = []
    const leave = onAbort(controller.signal, () => called.push('left'))
    onAbort(controller.signal, () => called.push('stayed'))
    leave()
    controller.abort()
    onAbort(controller.signal, () => called.push('late'))
    expect(called).toEqual(['stayed', 'late'])
  })
})
