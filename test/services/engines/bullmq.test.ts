/** The recipe for BullMQ, on a real Redis. */
import { Redis } from 'ioredis'
import { hasRedisServer, skipWithoutRedis, startRedis } from '../../support/redis-server.js'
import { testEngine } from './engine.js'

testEngine({
  heading: 'BullMQ',
  isKilled: true,
  packages: ['bullmq'],
  hasServer: hasRedisServer,
  skip: skipWithoutRedis,
  start: () => startRedis(),
  empty: async ({ url }) => {
    const client = new Redis(url)
    await client.flushall()
    await client.quit()
    return { REDIS_URL: url }
  },
})
