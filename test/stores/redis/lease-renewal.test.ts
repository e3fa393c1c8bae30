/** How many calls a client of Redis sends before their replies. */
import { expect, test } from 'vitest'
import { redisStore } from 'a2a-tasks/stores/redis'
import { ORPHANS, RENEW } from '../../../src/stores/redis/lease-scripts.js'
import { COUNT } from '../../../src/stores/redis/query-scripts.js'
import { turn } from '../../durable/support/durable.js'

const KEY = { id: 'task', createdAt: '2026-01-01T00:00:00.000Z' }

/** A client whose server loads scripts, and replies to none of them until it is told to. */
function silentClient() {
  const replies: (() => void)[] = []
  const sent: string[] = []
  const client = {
    call(command: string, [first = '', script = '']: string[]): Promise<unknown> {
      // The hash of a script is the script here.
      if (command === 'script') return Promise.resolve(script)
      sent.push(first)
      return new Promise((resolve) => replies.push(() => resolve(first === COUNT ? [null, 1] : [])))
    },
    duplicate: () => {
      throw new Error('It does not listen')
    },
  }
  const countOf = (script: string): number => sent.filter((each) => each === script).length
  return { client, replies, countOf }
}

test('a renewal is sent at once, behind no more than a few of the reads that wait', async () => {
  const { client, replies, countOf } = silentClient()
  const [store, other] = [redisStore(client), redisStore(client, { prefix: 'other' })]
  const counts = Array.from({ length: 33 }, (_, n) => (n % 2 === 0 ? store : other).count({}))
  await turn()
  expect(countOf(COUNT)).toBe(8)
  void store.renew([{ key: KEY, id: 'lease' }], 3_000)
  void store.orphans(10)
  await turn()
  expect([countOf(RENEW), countOf(ORPHANS)]).toEqual([1, 0])
  while (replies.length > 0) {
    for (const reply of replies.splice(0)) reply()
    await turn()
  }
  expect([countOf(COUNT), countOf(ORPHANS)]).toEqual([33, 1])
  expect(await Promise.all(counts)).toEqual(counts.map(() => 1))
})
