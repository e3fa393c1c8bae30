/** The store over clients whose options change what commands reach, or how replies come. */
import { Redis } from 'ioredis'
import { createClient, RESP_TYPES } from 'redis'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { redisStore, type IoRedisClient, type NodeRedisClient, type RedisStore } from 'a2a-tasks/stores/redis'
import { testTaskStore } from 'a2a-tasks/testing'
import { put } from '../../../src/testing/task-store-suite/samples.js'
import { skipWithoutRedis, startRedis, type RedisServer } from '../../support/redis-server.js'
import { whenRedis } from './clients.js'

it('redis-server is installed', (context) => skipWithoutRedis(context))

type Client = IoRedisClient | NodeRedisClient
type Open = (url: string) => Promise<{ readonly client: Client; readonly close: () => void }>

function byIoRedis(options: object): Open {
  return (url) => {
    const client = new Redis(url, { ...options })
    return Promise.resolve({ client, close: () => client.disconnect() })
  }
}

function byNodeRedis(options: object): Open {
  return async (url) => {
    const client = createClient({ url, ...options })
    await client.connect()
    return { client, close: () => client.destroy() }
  }
}

const TO_BYTES = { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.SIMPLE_STRING]: Buffer }

const CLIENTS: readonly [name: string, open: Open][] = [
  ['ioredis with keyPrefix', byIoRedis({ keyPrefix: 'app:' })],
  ['ioredis with stringNumbers', byIoRedis({ stringNumbers: true })],
  ['ioredis with enableAutoPipelining', byIoRedis({ enableAutoPipelining: true, keyPrefix: 'auto:' })],
  ['ioredis with RESP3', byIoRedis({ protocol: 3 })],
  ['ioredis with another database', byIoRedis({ db: 3 })],
  ['redis with keyPrefix', byNodeRedis({ keyPrefix: 'app:' })],
  ['redis with RESP2', byNodeRedis({ RESP: 2 })],
  ['redis with RESP3', byNodeRedis({ RESP: 3 })],
  ['redis that answers with bytes', byNodeRedis({ commandOptions: { typeMapping: TO_BYTES } })],
  [
    'redis that answers with texts of numbers',
    byNodeRedis({ RESP: 3, commandOptions: { typeMapping: { [RESP_TYPES.NUMBER]: String } } }),
  ],
  ['redis with another database', byNodeRedis({ database: 4 })],
]

whenRedis('redisStore', () => {
  let server: RedisServer
  let stores = 0
  beforeAll(async () => {
    server = await startRedis()
  })
  afterAll(() => server.stop())

  describe.each(CLIENTS)('over %s', (_, open) => {
    let tests = 0
    testTaskStore({
      test: (name, run) => {
        // The whole suite runs over clients without options.
        if ((tests += 1) % 8 === 0 || name.includes('hint')) it(name, run)
      },
      create: async (options) => {
        stores += 1
        const prefix = `options ${stores}`
        const closing: (() => void)[] = []
        const another = async (): Promise<RedisStore> => {
          const { client, close } = await open(server.url)
          closing.push(close)
          return redisStore(client, { ...options, prefix })
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

  it.each([
    ['ioredis', byIoRedis],
    ['redis', byNodeRedis],
  ])('by keyPrefix of %s, two environments share nothing', async (driver, by) => {
    const opened = await Promise.all(
      ['production', 'staging'].map((name) => by({ keyPrefix: `${driver} ${name}:` })(server.url)),
    )
    onTestFinished(() => {
      for (const { close } of opened) close()
    })
    const [production, staging] = opened.map(({ client }) => redisStore(client))
    await production?.migrate()
    await expect(staging?.get('a')).rejects.toThrow('Call migrate() first')
    await staging?.migrate()
    const heard: string[] = []
    const stop = await production?.hints.listen(
      ({ taskId }) => heard.push(taskId),
      () => undefined,
    )
    if (staging !== undefined) await put(staging, 'a')
    await staging?.hints.publish([{ taskId: 'a', generation: 1 }])
    await production?.hints.publish([{ taskId: 'b', generation: 1 }])
    await expect.poll(() => heard).toEqual(['b'])
    expect(await production?.list({ limit: 10 })).toEqual([])
    await stop?.()
  })

  it.each([
    ['ioredis', byIoRedis({})],
    ['redis', byNodeRedis({})],
  ])('listens over one connection of %s for all stores of a process', async (_, open) => {
    const { client, close } = await open(server.url)
    const admin = new Redis(server.url)
    onTestFinished(() => {
      close()
      admin.disconnect()
    })
    const subscribers = async (): Promise<number> =>
      String(await admin.call('client', 'list', 'type', 'pubsub'))
        .split('\n')
        .filter((line) => line.startsWith('id=')).length
    const before = await subscribers()
    const heard: string[] = []
    const stops = await Promise.all(
      ['one', 'one', 'two', 'two'].map((prefix, index) =>
        redisStore(client, { prefix }).hints.listen(
          ({ taskId }) => heard.push(`${index} ${taskId}`),
          () => undefined,
        ),
      ),
    )
    expect(await subscribers()).toBe(before + 1)
    await stops[0]?.()
    await redisStore(client, { prefix: 'one' }).hints.publish([{ taskId: 'a', generation: 1 }])
    await redisStore(client, { prefix: 'two' }).hints.publish([{ taskId: 'b', generation: 1 }])
    await expect.poll(() => heard.toSorted()).toEqual(['1 a', '2 b', '3 b'])
    await Promise.all(stops.map((stop) => stop()))
    await expect.poll(subscribers).toBe(before)
  })
})
