/** Three processes over one Redis, killed at random, and the server with them. */
import { expect, it } from 'vitest'
import { skipWithoutRedis, startRedis } from '../../support/redis-server.js'
import { disturb, MIN_KILLS, TASKS } from './disturb.js'

it('loses, doubles and forgets nothing over one Redis', { timeout: 900_000 }, async (context) => {
  skipWithoutRedis(context)
  const server = await startRedis()
  try {
    const outcome = await disturb({
      ...{ name: 'redis', url: server.url, replicas: 3, killEveryMs: 600 },
      isEnough: ({ tasks, kills }) => tasks >= TASKS && kills >= MIN_KILLS,
      restart: () => server.restart('SIGKILL'),
    })
    expect(outcome.faults).toEqual([])
    expect(outcome.kills).toBeGreaterThanOrEqual(MIN_KILLS)
  } finally {
    await server.stop()
  }
})
