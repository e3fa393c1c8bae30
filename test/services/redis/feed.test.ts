/** The feed of a Redis store beyond the common suite: which processes write it, and where it begins. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { skipWithoutRedis, startRedis, type RedisServer } from '../../support/redis-server.js'
import { move, put } from '../../../src/testing/task-store-suite/samples.js'
import { keyOf } from '../../../src/core/task.js'
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

  async function endOf(store: Opened['store']): Promise<string> {
    return (await store.feed?.read(undefined, 1))?.cursor ?? ''
  }

  it('is written by a process without the option, too', async () => {
    const plain = await open('untold')
    expect(plain.feed).toBeUndefined()
    const before = await put(plain, 'before')
    const store = await open('untold', 10)
    const start = await endOf(store)
    await move(plain, before.task)
    await put(plain, 'a')
    const later = await open('untold')
    await later.delete([keyOf(before.task)])
    const { entries } = (await store.feed?.read(start, 10)) ?? {}
    expect(entries?.map(({ task, event }) => [task.id, event?.generation])).toEqual([
      ['a', 1],
      ['before', undefined],
    ])
  })

  it('ends with the size 0, and does not know the cursors of the one before when it begins again', async () => {
    const store = await open('ended', 10)
    const cursors = [await endOf(store)]
    await put(store, 'a')
    cursors.push(await endOf(store))
    const off = await open('ended', 0)
    expect(off.feed).toBeUndefined()
    await put(off, 'b')
    const again = await open('ended', 10)
    for (const cursor of cursors) {
      expect(await again.feed?.read(cursor, 10)).toMatchObject({ entries: [], isResync: true })
    }
    const start = await endOf(again)
    await put(off, 'c')
    expect((await again.feed?.read(start, 10))?.entries.map(({ task }) => task.id)).toEqual(['c'])
  })

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
