/** The feed of a Redis store beyond the common suite: which processes write it, and where it begins. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { skipWithoutRedis, startRedis, type RedisServer } from '../../support/redis-server.js'
import { put } from '../../../src/testing/task-store-suite/samples.js'
import { endOf, testWrittenFeed } from '../../stores/support/written-feed.js'
import { closedAfter, openIoRedis, whenRedis, type Opened } from './clients.js'

it('redis-server is installed', (context) => skipWithoutRedis(context))

whenRedis('the feed', () => {
  let server: RedisServer

  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())

  async function open(prefix: string, feedSize?: number): Promise<Opened['store']> {
    const { store } = await closedAfter(openIoRedis(server, { prefix, feedSize }))
    await store.migrate()
    return store
  }

  testWrittenFeed(open)

  it('ends a page after some megabytes of events', async () => {
    const store = await open('large', 100)
    const start = await endOf(store)
    for (let count = 0; count < 5; count += 1)
      await put(store, `task ${count}`, { input: 'x'.repeat(2_000_000) })
    const page = await store.feed?.read(start, 10)
    expect(page?.entries).toHaveLength(3)
    expect((await store.feed?.read(page?.cursor, 10))?.entries).toHaveLength(2)
  })
})
