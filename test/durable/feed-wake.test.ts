/** What wakes the feed of a `DurableTaskManager`, what it does while the store fails, and what sweeps do with it. */
import { feed as feedOf } from 'a2a-tasks'
import type { FeedEntry, TaskFeed } from 'a2a-tasks'
import { DurableTaskManager, memoryStore, type StoreFeed, type TaskStore } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { withoutHints } from '../support/faulty-store.js'
import { replicas, turn } from './support/durable.js'

async function nextOf(feed: TaskFeed): Promise<FeedEntry | undefined> {
  return (await feed.next()).value
}

/** A store whose feed does what `change` says. */
function withFeed(store: TaskStore, change: (feed: StoreFeed) => Partial<StoreFeed>): TaskStore {
  const { feed } = store
  if (feed === undefined) throw new Error('The store has no feed')
  const changed: StoreFeed = {
    read: (...given) => feed.read(...given),
    trim: () => feed.trim(),
    ...change(feed),
  }
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = name === 'feed' ? changed : Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

describe('a feed that waits is woken', () => {
  test('by a change of this process, and by a hint of another, without a poll', async () => {
    const { a, b } = replicas(2, { store: memoryStore({ feedSize: 10 }) })
    const feed = feedOf(a)
    await feed.next()
    for (const [index, manager] of [a, b, b, a].entries()) {
      const pending = nextOf(feed)
      await turn()
      await manager.createTask({ id: `task-${index}`, skill: 's' })
      expect(await pending).toMatchObject({ taskId: `task-${index}` })
    }
  })

  test('by the next poll where the store has no hints', async () => {
    const store = withoutHints(memoryStore({ feedSize: 10 }))
    const { a, b, clock } = replicas(2, { store, pollIntervalMs: 500 })
    const feed = feedOf(a)
    await feed.next()
    for (const id of ['x', 'y']) {
      let entry: FeedEntry | undefined
      const pending = nextOf(feed).then((read) => (entry = read))
      await turn()
      await b.createTask({ id, skill: 's' })
      await turn()
      clock.advance(499)
      await turn()
      expect(entry).toBeUndefined()
      clock.advance(1)
      await pending
      expect(entry).toMatchObject({ taskId: id })
    }
  })

  test('by the next poll when a task is removed', async () => {
    const store = memoryStore({ feedSize: 10 })
    const { a, b, clock } = replicas(2, {
      store,
      retention: { completed: { maxCount: 0 } },
      sweepIntervalMs: false,
    })
    const feed = feedOf(a)
    await feed.next()
    await b.createTask({ id: 'x', skill: 's' })
    await b.updateTask('x', { state: 'working' })
    await b.updateTask('x', { state: 'completed' })
    for (let count = 0; count < 3; count += 1) await feed.next()
    const pending = nextOf(feed)
    await b.prune()
    await turn()
    clock.advance(5_000)
    expect(await pending).toMatchObject({ type: 'deleted', taskId: 'x' })
  })

  test('soon while the store holds entries back', async () => {
    let isHeld = true
    const store = withFeed(memoryStore({ feedSize: 10 }), (inner) => ({
      async read(after, limit) {
        const page = await inner.read(after, limit)
        const hasMore = isHeld && page.entries.length > 0
        return hasMore ? { entries: [], cursor: after ?? '', isBehind: true } : page
      },
    }))
    const { a, clock } = replicas(1, { store })
    const feed = feedOf(a)
    await feed.next()
    const pending = nextOf(feed)
    await a.createTask({ id: 'x', skill: 's' })
    for (let turns = 0; turns < 5; turns += 1) await turn()
    isHeld = false
    clock.advance(1_000)
    expect(await pending).toMatchObject({ taskId: 'x' })
  })
})

test('a feed outlasts a short failure of the store, and rejects after storeRetryMs', async () => {
  let failures = 0
  const store = withFeed(memoryStore({ feedSize: 10 }), (inner) => ({
    read(after, limit) {
      failures -= 1
      return failures < 0 ? inner.read(after, limit) : Promise.reject(new Error('no connection'))
    },
  }))
  const { a, clock } = replicas(1, { store, storeRetryMs: 1_000 })
  const feed = feedOf(a)
  failures = 2
  const first = feed.next()
  for (let turns = 0; turns < 5; turns += 1) {
    await turn()
    clock.advance(100)
  }
  expect((await first).value?.type).toBe('resync')
  failures = Infinity
  const failing = expect(feed.next()).rejects.toMatchObject({
    code: 'STORE_FAILED',
    data: { operation: 'feed' },
  })
  for (let turns = 0; turns < 30; turns += 1) {
    await turn()
    clock.advance(100)
  }
  await failing
  expect(await feed.next()).toEqual({ done: true, value: undefined })
})

test('a manager that is destroyed ends a feed whose read is pending', async () => {
  const store = withFeed(memoryStore({ feedSize: 10 }), () => ({ read: () => new Promise(() => undefined) }))
  const clock = new ManualClock()
  const manager = new DurableTaskManager({ store, clock, onError: () => undefined })
  const pending = feedOf(manager).next()
  await turn()
  const destroyed = manager.destroy()
  for (let turns = 0; turns < 10; turns += 1) {
    await turn()
    clock.advance(1_000)
  }
  expect(await pending).toEqual({ done: true, value: undefined })
  await destroyed
})

test('a sweep removes what the feed no longer has to keep', async () => {
  const store = memoryStore({ feedSize: 10 })
  const { a, clock } = replicas(1, { store })
  const start = await store.feed?.read(undefined, 1)
  for (let count = 0; count < 15; count += 1) await a.createTask({ skill: 's' })
  expect((await store.feed?.read(start?.cursor, 1))?.isResync).toBeUndefined()
  clock.advance(10_000)
  for (let turns = 0; turns < 10; turns += 1) await turn()
  expect((await store.feed?.read(start?.cursor, 1))?.isResync).toBe(true)
})
