/** The conformance suite over a real Redis, by both clients. */
import { afterAll, beforeAll, describe, it } from 'vitest'
import type { RedisStore } from 'a2a-tasks/stores/redis'
import { testTaskStore } from 'a2a-tasks/testing'
import { skipWithoutRedis, startRedis, type RedisServer } from '../../support/redis-server.js'
import { CLIENTS, whenRedis } from './clients.js'

it('redis-server is installed', (context) => skipWithoutRedis(context))

whenRedis('redisStore', () => {
  let server: RedisServer
  let stores = 0

  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())

  describe.each(CLIENTS)('over $name', ({ open }) => {
    testTaskStore({
      test: (name, run) => it(name, run),
      create: async (options) => {
        stores += 1
        const prefix = `store ${stores}`
        const closing: (() => void)[] = []
        const another = async (): Promise<RedisStore> => {
          const { store, close } = await open(server, { ...options, prefix })
          closing.push(close)
          return store
        }
        const store = await another()
        await store.migrate()
        return {
          store,
          reopen: another,
          close: () => {
            for (const close of closing) close()
            return Promise.resolve()
          },
        }
      },
      supports: { hints: true, reopen: true, feed: true, leaseCounts: true },
    })
  })
})
