/** The channels of a client of ioredis, which subscribes again by itself after an interruption. */
import { EventEmitter } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { toConnection } from '../../../src/stores/redis/client.js'
import { gate } from '../../server/spec/support/agent.js'

class Subscriber extends EventEmitter {
  readonly subscribed: string[] = []
  /** Channels that Redis does not confirm yet. */
  readonly held = new Map<string, Promise<void>>()

  async subscribe(channel: string): Promise<void> {
    this.subscribed.push(channel)
    await this.held.get(channel)
  }

  unsubscribe(): Promise<void> {
    return Promise.resolve()
  }

  disconnect(): void {
    this.removeAllListeners()
  }
}

function listening() {
  const subscriber = new Subscriber()
  const { listener } = toConnection({ call: () => Promise.resolve(), duplicate: () => subscriber })
  const gaps: string[] = []
  const listen = (channel: string, signal?: AbortSignal): Promise<() => void> =>
    listener.listen(channel, { onMessage: () => undefined, onGap: () => void gaps.push(channel) }, signal)
  return { subscriber, listen, gaps }
}

test('an interruption is reported once, also if another channel came before', async () => {
  const { subscriber, listen, gaps } = listening()
  const stop = await listen('a')
  const confirmed = gate()
  subscriber.held.set('b', confirmed.opened)
  const next = listen('b')
  await turn()
  stop()
  await turn()
  confirmed.open()
  await next
  subscriber.emit('ready')
  await turn()
  expect(gaps).toEqual(['b'])
})

test('a channel that was left before it was confirmed is not subscribed again', async () => {
  const { subscriber, listen, gaps } = listening()
  await listen('a')
  const confirmed = gate()
  subscriber.held.set('b', confirmed.opened)
  const controller = new AbortController()
  const left = listen('b', controller.signal)
  await turn()
  controller.abort()
  await left
  confirmed.open()
  await turn()
  subscriber.emit('ready')
  await turn()
  expect(subscriber.subscribed).toEqual(['a', 'b', 'a'])
  expect(gaps).toEqual(['a'])
})
