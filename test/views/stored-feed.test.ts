/** The feed of every manager: no gap and no repetition, from any cursor, at any replica, until it ends. */
import { TaskManager, type FeedEntry, type FeedOptions, type TaskFeed, feed as feedOf } from 'a2a-tasks'
import { DurableTaskManager, memoryStore, type TaskStore } from 'a2a-tasks/durable'
import { sqliteStore } from 'a2a-tasks/stores/sqlite'
import Database from 'libsql'
import { describe, expect, onTestFinished, test } from 'vitest'
import { samples } from '../support/samples.js'

type Manager = TaskManager | DurableTaskManager

const stores = new WeakMap<Manager, TaskStore>()

/** Replicas that share their tasks; of a `TaskManager` there is one. */
type Open = (feedSize: number | undefined) => Promise<[Manager, ...Manager[]]>

const MANAGERS: [string, Open][] = [
  ['TaskManager', (feedSize) => Promise.resolve([closed(new TaskManager({ feedSize }))])],
  ['memoryStore', (feedSize) => replicas(memoryStore({ feedSize }))],
  [
    'sqliteStore',
    async (feedSize) => {
      const store = sqliteStore(new Database(':memory:'), { feedSize })
      await store.migrate()
      return replicas(store)
    },
  ],
]

function replicas(store: TaskStore): Promise<[Manager, ...Manager[]]> {
  const open = (): Manager => {
    const manager = closed(new DurableTaskManager({ store, pollIntervalMs: 10, sweepIntervalMs: false }))
    stores.set(manager, store)
    return manager
  }
  return Promise.resolve([open(), open(), open()])
}

function closed<M extends Manager>(manager: M): M {
  onTestFinished(() => manager.destroy())
  return manager
}

async function take(feed: TaskFeed, count: number): Promise<FeedEntry[]> {
  const entries: FeedEntry[] = []
  while (entries.length < count) {
    const { done, value } = await feed.next()
    if (done === true) break
    entries.push(value)
  }
  return entries
}

/** A feed whose first entry, the `resync` of its start, was read. */
async function started(manager: Manager, options: FeedOptions = {}): Promise<TaskFeed> {
  const feed = feedOf(manager, options)
  expect(await take(feed, 1)).toEqual([{ type: 'resync', cursor: expect.any(String) as unknown }])
  return feed
}

function show(entry: FeedEntry): string {
  if (entry.type === 'event') return `${entry.taskId} ${entry.event.generation}`
  return entry.type === 'deleted' ? `${entry.taskId} deleted` : 'resync'
}

/** xorshift32. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 || 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

describe.each(MANAGERS)('the feed of %s', (_name, open) => {
  test('begins now, and has the events that the tasks have', async () => {
    const [a, b = a] = await open(100)
    await a.createTask({ id: 'before', skill: 's' })
    const feed = await started(b)
    await a.createTask({ id: 'one', skill: 's' })
    await b.updateTask('before', { state: 'working', message: 'Hello' })
    await a.appendArtifact('before', { artifactId: 'x', parts: [{ text: 'a' }] })
    const entries = await take(feed, 3)
    expect(entries.map(show)).toEqual(['one 1', 'before 2', 'before 3'])
    const [, ...events] = await b.events('before')
    expect(entries.slice(1).map((entry) => entry.type === 'event' && entry.event)).toEqual(events)
    expect(Object.isFrozen(entries[1]?.type === 'event' && entries[1].event)).toBe(true)
  })

  test('continues after the cursor of an entry, at every replica', async () => {
    const [a, ...others] = await open(100)
    const start = await feedOf(a).next()
    for (const id of ['x', 'y', 'z']) await a.createTask({ id, skill: 's' })
    const entries = await take(feedOf(a, { after: start.value?.cursor }), 3)
    for (const manager of [a, ...others]) {
      for (const [index, { cursor }] of entries.entries()) {
        const rest = entries.slice(index + 1)
        expect(await take(feedOf(manager, { after: cursor }), rest.length)).toEqual(rest)
      }
    }
  })

  test.each(Array.from({ length: samples(10) }, (_, seed) => [seed]))(
    'has each event once and in order, while writers are concurrent and readers come and go (seed %i)',
    async (seed) => {
      const random = randomFrom(seed + 1)
      const managers = await open(10_000)
      const any = (): Manager => managers[random(managers.length)] ?? managers[0]
      let { cursor } = (await take(feedOf(managers[0]), 1))[0] ?? { cursor: '' }
      const ids = Array.from({ length: 8 }, (_, index) => `task-${index}`)
      const write = async (id: string): Promise<void> => {
        await any().createTask({ id, skill: 's' })
        for (let count = random(12); count > 0; count -= 1) {
          await any().patchTask(id, { artifacts: [{ artifactId: 'a', parts: [{ text: `${count}` }] }] })
          if (random(3) === 0) await new Promise((resolve) => setImmediate(resolve))
        }
        await any().cancelTask(id)
      }
      const done = new AbortController()
      const writing = Promise.all(ids.map(write)).finally(() => {
        // A reader may wait for more entries than there are.
        done.abort()
      })
      const isDone = (): boolean => done.signal.aborted
      const seen: string[] = []
      const total = async (): Promise<number> => {
        const tasks = await managers[0].listTasks()
        return tasks.reduce((sum, { generation }) => sum + generation, 0)
      }
      while (!isDone() || seen.length < (await total())) {
        const feed = feedOf(any(), { after: cursor, signal: isDone() ? undefined : done.signal })
        const limit = isDone() ? (await total()) - seen.length : 1 + random(5)
        for (const entry of await take(feed, limit)) {
          seen.push(show(entry))
          cursor = entry.cursor
        }
        await feed.return()
      }
      await writing
      for (const id of ids) {
        const own = seen.filter((each) => each.startsWith(`${id} `))
        const events = await managers[0].events(id)
        expect(own).toEqual(events.map(({ generation }) => `${id} ${generation}`))
      }
    },
  )

  test('shows only what its filter selects', async () => {
    const [a] = await open(100)
    const feeds = [
      await started(a, { filter: { owner: 'alice' } }),
      await started(a, { filter: { owner: null, skill: 's' } }),
      await started(a, { filter: { contextId: 'c' } }),
      await started(a, { filter: {} }),
    ]
    await a.createTask({ id: '1', skill: 's', owner: 'alice' })
    await a.createTask({ id: '2', skill: 's', contextId: 'c' })
    await a.createTask({ id: '3', skill: 'other' })
    await a.createTask({ id: '4', skill: 's', owner: 'bob', contextId: 'c' })
    for (const id of ['1', '2', '3', '4']) await a.updateTask(id, { state: 'working' })
    const wanted = [
      ['1 1', '1 2'],
      ['2 1', '2 2'],
      ['2 1', '4 1', '2 2', '4 2'],
      ['1 1', '2 1', '3 1', '4 1', '1 2', '2 2', '3 2', '4 2'],
    ]
    for (const [index, entries] of wanted.entries()) {
      const feed = feeds[index] ?? feedOf(a)
      expect((await take(feed, entries.length)).map(show)).toEqual(entries)
    }
  })

  test('ends when its signal aborts, by return(), and when the manager is destroyed', async () => {
    const [a] = await open(100)
    const abort = new AbortController()
    const [aborted, returned, destroyed] = [
      await started(a, { signal: abort.signal }),
      await started(a),
      await started(a),
    ]
    const pending = [aborted.next(), returned.next(), destroyed.next()]
    abort.abort()
    expect(await pending[0]).toEqual({ done: true, value: undefined })
    await returned.return()
    expect(await pending[1]).toEqual({ done: true, value: undefined })
    await a.destroy()
    expect(await pending[2]).toEqual({ done: true, value: undefined })
    for (const feed of [
      aborted,
      returned,
      destroyed,
      feedOf(a),
      feedOf(a, { signal: AbortSignal.abort() }),
    ]) {
      expect(await feed.next()).toEqual({ done: true, value: undefined })
    }
  })

  test('a reader that falls behind the feed receives a resync, and continues from there', async () => {
    const [a] = await open(5)
    const feed = await started(a)
    await a.createTask({ id: 'x', skill: 's' })
    expect((await take(feed, 1)).map(show)).toEqual(['x 1'])
    for (let count = 0; count < 30; count += 1) await a.patchTask('x', { message: `${count}` })
    // As a sweep does.
    await stores.get(a)?.feed?.trim()
    const entries = await take(feed, 1)
    // It may hold what it had read before.
    while (entries.at(-1)?.type === 'event') entries.push(...(await take(feed, 1)))
    const last = entries.at(-1)
    expect(entries.length).toBeLessThan(20)
    expect(last?.type).toBe('resync')
    await a.createTask({ id: 'y', skill: 's' })
    expect((await take(feed, 1)).map(show)).toEqual(['y 1'])
    expect((await take(feedOf(a, { after: last?.cursor }), 1)).map(show)).toEqual(['y 1'])
  })

  test('a cursor that it has not given leads to a resync', async () => {
    const [a] = await open(5)
    for (const after of ['', 'x', '1', '1-1', '0-0-0', 7, null, {}]) {
      // Not what the types allow.
      expect((await take(feedOf(a, { after: after as string }), 1)).map(show)).toEqual(['resync'])
    }
  })

  test('is refused without feedSize, and with options that it does not know', async () => {
    const [without] = await open(undefined)
    expect(() => feedOf(without)).toThrow(
      'feed() needs the option "feedSize" of the TaskManager, of openTasks(), or of the store of the DurableTaskManager',
    )
    const [a] = await open(5)
    const refused = [
      [{ afer: 'x' }, '"afer" is unknown, did you mean "after"?; known are after, filter, signal'],
      [{ filter: { state: 'working' } }, '"state" is unknown; known are skill, contextId, owner'],
      [{ filter: { owner: undefined } }, 'owner'],
      [{ signal: {} }, 'must be an AbortSignal'],
    ] as const
    // Not what the types allow.
    for (const [options, text] of refused) expect(() => feedOf(a, options as object)).toThrow(text)
  })
})
