/** How many calls a client of Redis sends before their replies. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { redisStore } from 'a2a-tasks/stores/redis'
import { ORPHANS, RENEW } from '../../../src/stores/redis/lease-scripts.js'
import { COUNT } from '../../../src/stores/redis/query-scripts.js'

const KEY = { id: 'task', createdAt: '2026-01-01T00:00:00.000Z' }

/** A client whose server knows all scripts, and replies to none of them until it is told to. */
function silentClient() {
  const replies: (() => void)[] = []
  const sent: string[] = []
  const client = {
    call(_: string, [hash = '']: string[]): Promise<unknown> {
      sent.push(hash)
      return new Promise((resolve) => replies.push(() => resolve(hash === hashOf(COUNT) ? [null, 1] : [])))
    },
    duplicate: () => {
      throw new Error('It does not listen')
    },
  }
  const countOf = (script: string): number => sent.filter((hash) => hash === hashOf(script)).length
  return { client, replies, countOf }
}

function hashOf(script: string): string {
  return createHash('sha1').update(script).digest('hex')
}

test('a renewal is sent at once, behind no more than a few of the reads that wait', async () => {
  const { client, replies, countOf } = silentClient()
  const [store, other] = [redisStore(client), redisStore(client, { prefix: 'other' })]
  const counts = Array.from({ length: 33 }, (_, n) => (n % 2 === 0 ? store : other).count({}))
  await expect.poll(() => countOf(COUNT)).toBe(8)
  void store.renew([{ key: KEY, id: 'lease' }], 3_000)
  void store.orphans(10)
  await expect.poll(() => [countOf(RENEW), countOf(ORPHANS)]).toEqual([1, 0])
  const replied = (): number[] => {
    for (const reply of replies.splice(0)) reply()
    return [countOf(COUNT), countOf(ORPHANS)]
  }
  await expect.poll(replied).toEqual([33, 1])
  replied()
  expect(await Promise.all(counts)).toEqual(counts.map(() => 1))
})
