import { describe, expect, test } from 'vitest'
import { SharedListener } from '../../src/durable/shared-listener.js'

/** A listener whose connections do nothing, and their signals. */
function listener() {
  const opened: AbortSignal[] = []
  const shared = new SharedListener((_onMessage, _onGap, signal) => {
    opened.push(signal)
    return Promise.resolve({ add: () => Promise.resolve(), remove: () => Promise.resolve() })
  })
  return { shared, opened }
}

const subscriber = { onMessage: () => undefined, onGap: () => undefined }

describe('a listener that stores share', () => {
  test('opens no connection for a store that has stopped', async () => {
    const { shared, opened } = listener()
    const stop = await shared.listen('a', subscriber, AbortSignal.abort())
    stop()
    expect(opened).toEqual([])
  })

  test('closes its connection when the last store stops, by its function or its signal', async () => {
    const { shared, opened } = listener()
    const controller = new AbortController()
    const stop = await shared.listen('a', subscriber)
    await shared.listen('b', { ...subscriber }, controller.signal)
    controller.abort()
    expect(opened.map(({ aborted }) => aborted)).toEqual([false])
    stop()
    expect(opened.map(({ aborted }) => aborted)).toEqual([true])
  })
})
