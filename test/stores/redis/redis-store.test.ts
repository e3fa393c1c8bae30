/** Options of the Redis store, without a Redis server. With a server: test/services/redis. */
import { Redis } from 'ioredis'
import { createClient, createClientPool, createCluster } from 'redis'
import { afterAll, describe, expect, expectTypeOf, it } from 'vitest'
import type { TaskStore } from 'a2a-tasks/durable'
import {
  redisStore,
  type IoRedisClient,
  type NodeRedisClient,
  type RedisStore,
  type RedisStoreOptions,
} from 'a2a-tasks/stores/redis'

describe('redisStore', () => {
  const client = new Redis({ lazyConnect: true })
  afterAll(() => client.disconnect())

  it('takes the clients of ioredis and redis by their types', () => {
    expectTypeOf<Redis>().toExtend<IoRedisClient>()
    expectTypeOf<Redis>().not.toExtend<NodeRedisClient>()
    expectTypeOf<ReturnType<typeof createClient>>().toExtend<NodeRedisClient>()
    expectTypeOf<ReturnType<typeof createClient>>().not.toExtend<IoRedisClient>()
    expectTypeOf<RedisStore>().toExtend<TaskStore>()
  })

  it('connects to nothing by itself', () => {
    redisStore(client, { prefix: 'a:b', now: () => 0 })
    expect(client.status).toBe('wait')
  })

  it.each([
    [null, {}, '"client" must be a Redis or a Cluster of ioredis, or the result of createClient(), '],
    ['redis://localhost', {}, 'createCluster() or createSentinel() of redis; got a string'],
    [{ get: () => null }, {}, '"client" must be a Redis or a Cluster of ioredis'],
    [createClientPool(), {}, 'the result of createClient(), createCluster() or createSentinel() of redis'],
    [createClient({ keyPrefix: Buffer.from('app:') }), {}, '"keyPrefix" of the client must be a text'],
    [
      createCluster({ rootNodes: [], keyPrefix: Buffer.from('app:') }),
      {},
      '"keyPrefix" of the client must be a text',
    ],
    [client, { prefix: '' }, '"prefix" must be a text that is not empty and has no braces'],
    [client, { prefix: 'a{b}' }, '"prefix" must be'],
    [client, { prefix: 1 }, '"prefix" must be'],
    [client, { now: 1 }, '"now" must be a function'],
    [client, { pre: 'x' }, 'Unknown option "pre" of redisStore; known are now, prefix, feedSize'],
  ])('refuses %o with %o', (given, options, text) => {
    // As who writes JavaScript may call it.
    const open = (): RedisStore => redisStore(given as Redis, options as RedisStoreOptions)
    expect(open).toThrow(TypeError)
    expect(open).toThrow(text)
  })
})
