/** Three processes over one Redis, killed at random, and the server with them. */
import { expect, it } from 'vitest'
import { skipWithoutRedis, startRedis } from '../../support/redis-server.js'
import { disturb, TASKS } from './disturb.js'

it('loses, doubles and forgets nothing over one Redis', { timeout: 900_000 }, async (context) => {
  skipWithoutRedis(context)
  const server = await startRedis()
  try {
    const outcome = await disturb({
      ...{ name: 'redis', url: server.url, replicas: 3, killEveryMs: 1_200 },
      isEnough: ({ tasks }) => tasks >= TASKS,
      restart: () => server.restart('SIGKILL'),
    })
    expect(outcome.faults).toEqual([])
    expect(outcome.kills).toBeGreaterThan(TASKS / 200)
  } finally {
    await server.stop()
  }
})
