/** Fairness of the limit on concurrent deliveries. */
import { describe, expect, test } from 'vitest'
import { ConcurrencyLimit } from '../../../src/server/push/concurrency.js'

const NEVER = new AbortController().signal

/** Takes a place for each, in this order; gives them back one after the other, and tells who got them when. */
async function orderOf(max: number, takers: readonly (readonly string[])[]): Promise<string[]> {
  const slots = new ConcurrencyLimit(max)
  const order: string[] = []
  const held: (() => void)[] = []
  const taken = takers.map(async (keys) => {
    held.push(await slots.acquire(keys, NEVER))
    order.push(keys.join(' '))
  })
  await Promise.resolve()
  while (order.length < takers.length) {
    await new Promise((resolve) => setImmediate(resolve))
    held.shift()?.()
  }
  await Promise.all(taken)
  return order
}

describe('the next place goes to', () => {
  test('the job that came first', async () => {
    expect(await orderOf(1, [['a'], ['b'], ['a'], ['c']])).toEqual(['a', 'b', 'a', 'c'])
  })

  test('the owner with the fewest, however many origins another has', async () => {
    const many = Array.from({ length: 4 }, (_, index) => ['eve', `h${index}`, `o${index}`])
    const order = await orderOf(2, [...many, ['bob', 'hook', 'hook:1']])
    expect(order.indexOf('bob hook hook:1')).toBe(2)
  })

  test('the host with the fewest, however many ports another has', async () => {
    const many = Array.from({ length: 4 }, (_, index) => ['', 'evil', `evil:${index}`])
    const order = await orderOf(2, [...many, ['', 'hook', 'hook:1']])
    expect(order.indexOf(' hook hook:1')).toBe(2)
  })

  test('the origin with the fewest of one host', async () => {
    const order = await orderOf(2, [...Array.from({ length: 4 }, () => ['', 'h', 'h:1']), ['', 'h', 'h:2']])
    expect(order.indexOf(' h h:2')).toBe(2)
  })

  test('no job that has stopped waiting', async () => {
    const slots = new ConcurrencyLimit(1)
    const giveBack = await slots.acquire(['a'], NEVER)
    const controller = new AbortController()
    const left = slots.acquire(['b'], controller.signal)
    const next = slots.acquire(['c'], NEVER)
    controller.abort(new Error('gone'))
    await expect(left).rejects.toThrow('gone')
    giveBack()
    // Releasing twice frees one slot only.
    giveBack()
    await next
    const controllers = new AbortController()
    const third = slots.acquire(['d'], controllers.signal)
    controllers.abort(new Error('full'))
    await expect(third).rejects.toThrow('full')
    await expect(slots.acquire(['e'], controllers.signal)).rejects.toThrow('full')
  })
})
