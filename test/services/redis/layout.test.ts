/** Setup of a store, and migration from an older layout, on a Redis server. */
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { A2AError } from 'a2a-tasks'
import { redisStore, type RedisStore } from 'a2a-tasks/stores/redis'
import { toConnection } from '../../../src/stores/redis/client.js'
import { migrateLayout, type Step } from '../../../src/stores/redis/layout.js'
import { Scripts } from '../../../src/stores/redis/scripts.js'
import { creation, put } from '../../../src/testing/task-store-suite/samples.js'
import { skipWithoutRedis, startRedis, type RedisServer } from '../../support/redis-server.js'
import { whenRedis } from './clients.js'

/** Counts the tasks, two in a part. The list says which part was done how often. */
const COUNTING: Step = `
  redis.call('RPUSH', root .. ':parts', cursor)
  local from = tonumber(cursor == '' and '0' or cursor)
  local ids = redis.call('ZRANGE', root .. ':all', from, from + 1)
  for _, id in ipairs(ids) do redis.call('SADD', root .. ':counted', id) end
  return #ids < 2 and '' or tostring(from + 2)`

it('redis-server is installed', (context) => skipWithoutRedis(context))

whenRedis('migrate()', () => {
  let server: RedisServer
  let client: Redis
  let prefixes = 0
  let prefix: string
  let root: string
  let store: RedisStore

  beforeAll(async () => {
    server = await startRedis()
    client = new Redis(server.url)
  })
  afterAll(async () => {
    client.disconnect()
    await server.stop()
  })

  function openStore(): RedisStore {
    prefixes += 1
    prefix = `store-${prefixes}`
    root = `{${prefix}}`
    store = redisStore(client, { prefix })
    return store
  }

  function bring(...steps: readonly Step[]): Promise<void> {
    return migrateLayout(new Scripts(toConnection(client), root), [`return ''`, ...steps])
  }

  it('has to come first', async () => {
    openStore()
    const failed = (operation: string) => ({
      code: 'STORE_FAILED',
      message: expect.stringContaining(
        'is not set up: there is nothing under its prefix. Call migrate() first',
      ) as unknown,
      data: { operation },
    })
    await expect(store.create(creation('a'))).rejects.toMatchObject(failed('create'))
    await expect(store.get('a')).rejects.toMatchObject(failed('get'))
    await expect(store.count({})).rejects.toMatchObject(failed('count'))
    expect(await client.keys(`${root}*`)).toEqual([])
  })

  it('can be called by many at once, and again', async () => {
    openStore()
    await Promise.all(Array.from({ length: 20 }, () => redisStore(client, { prefix }).migrate()))
    const { task } = await put(store, 'a')
    await store.migrate()
    expect(await store.get('a')).toEqual({ checkpoint: task, events: [] })
    expect(await client.get(`${root}:layout`)).toBe('1')
  })

  it('refuses what a later release has set up, or is about to', async () => {
    openStore()
    for (const layout of ['2', '1>2']) {
      await client.set(`${root}:layout`, layout)
      const text = `has layout ${layout}, and this release knows them up to 1`
      await expect(store.migrate()).rejects.toThrow(text)
      await expect(store.migrate()).rejects.toMatchObject({ code: 'STORE_FAILED' })
      await expect(store.get('a')).rejects.toThrow(text)
      expect(await client.get(`${root}:layout`)).toBe(layout)
    }
  })

  it('is awaited by calls that arrive while it lasts, and by none when it is over', async () => {
    await openStore().migrate()
    const refused = async (layout: string): Promise<boolean> => {
      await client.set(`${root}:layout`, layout)
      return A2AError.is(await store.get('a').catch((thrown: unknown) => thrown))
    }
    expect([await refused('0>1'), await refused('1>2')]).toEqual([false, false])
    expect([await refused('0'), await refused('2')]).toEqual([true, true])
  })

  it('updates stored data part by part, though many processes do it at once', async () => {
    await openStore().migrate()
    for (let n = 0; n < 7; n += 1) await put(store, `task ${n}`)
    await Promise.all(Array.from({ length: 5 }, () => bring(COUNTING)))
    expect(await client.scard(`${root}:counted`)).toBe(7)
    expect(await client.get(`${root}:layout`)).toBe('2')
    const parts = await client.llen(`${root}:parts`)
    await bring(COUNTING)
    expect(await client.llen(`${root}:parts`)).toBe(parts)
  })

  it('repeats no part that another process has done by then', async () => {
    await openStore().migrate()
    for (let n = 0; n < 7; n += 1) await put(store, `task ${n}`)
    const connection = toConnection(client)
    let isBrought = false
    const command = async (name: string, args: string[]): Promise<unknown> => {
      // It has done the first of four parts, and the second one begins there.
      if (args.at(-1) === '2' && !isBrought) {
        isBrought = true
        await bring(COUNTING)
      }
      return await connection.command(name, args)
    }
    await migrateLayout(new Scripts({ ...connection, command }, root), [`return ''`, COUNTING])
    expect(isBrought).toBe(true)
    expect(await client.lrange(`${root}:parts`, 0, -1)).toEqual(['', '', '2', '4', '6'])
  })

  it('excludes other processes while it lasts, and continues where one died', async () => {
    await openStore().migrate()
    for (let n = 0; n < 3; n += 1) await put(store, `task ${n}`)
    const dying = `if cursor == '2' then error('GONE') end ${COUNTING}`
    await expect(bring(dying)).rejects.toThrow('GONE')
    expect(await client.get(`${root}:layout`)).toBe('1>2')
    await expect(store.create(creation('b'))).rejects.toThrow('has layout 1>2')
    await bring(COUNTING)
    expect(await client.scard(`${root}:counted`)).toBe(3)
    expect(await client.get(`${root}:layout`)).toBe('2')
  })

  it('takes several steps in their order', async () => {
    await openStore().migrate()
    const say = (word: string): Step => `redis.call('RPUSH', root .. ':said', '${word}') return ''`
    await bring(say('second'), say('third'))
    expect(await client.lrange(`${root}:said`, 0, -1)).toEqual(['second', 'third'])
    expect(await client.get(`${root}:layout`)).toBe('3')
  })
})
