/**
 * Conformance tests of the feed of a store.
 *
 * @module
 */
import { keyOf, type TaskSnapshot } from '../../core/task.js'
import { yieldToEventLoop } from '../../runtime/timers.js'
import type { StoreFeed, StoreFeedEntry } from '../../durable/feed/store-feed.js'
import type { TaskStore } from '../../durable/task-store.js'
import { equal, identical } from './checks.js'
import type { StoreTests } from './kit.js'
import { at, creation, HOSTILE_NAMES, move, put } from './samples.js'

/** How many of the latest entries the stores of these tests keep at least. */
export const FEED_SIZE = 50
/** The most reads without a new entry. A store may hold entries back while other transactions run. */
const MAX_READS = 2_000

function feedOf(store: TaskStore): StoreFeed {
  if (store.feed !== undefined) return store.feed
  throw new Error('store.feed: expected to be there, as `supports` says, but got undefined')
}

/** The cursor of the end. */
async function endOf(store: TaskStore): Promise<string> {
  const { entries, cursor, isResync } = await feedOf(store).read(undefined, 10)
  equal('read() without a position', { entries, isResync }, { entries: [], isResync: true })
  return cursor
}

/** The next `count` entries, read in pages of `limit`. */
async function next(
  store: TaskStore,
  after: string,
  count: number,
  limit = 7,
): Promise<readonly StoreFeedEntry[]> {
  const found: StoreFeedEntry[] = []
  let cursor = after
  for (let reads = 0; found.length < count && reads < MAX_READS; reads += 1) {
    const page = await feedOf(store).read(cursor, Math.min(limit, count - found.length))
    equal('whether read() after a known position asks for a resync', page.isResync === true, false)
    found.push(...page.entries)
    if (page.cursor !== cursor) reads = 0
    cursor = page.cursor
    await yieldToEventLoop()
  }
  return found
}

/** The next entry of a task. The end of the feed may be before entries that the store held back. */
async function nextOf(store: TaskStore, after: string, taskId: string): Promise<StoreFeedEntry | undefined> {
  let [entry] = await next(store, after, 1)
  while (entry !== undefined && entry.task.id !== taskId) [entry] = await next(store, entry.cursor, 1)
  return entry
}

/** Fails unless the feed ends after the position. */
async function ends(store: TaskStore, after: string): Promise<void> {
  const { entries } = await feedOf(store).read(after, 10)
  equal('entries after the last one', entries, [])
}

function show({ task, event }: StoreFeedEntry): string {
  return event === undefined ? `${task.id} removed` : `${task.id} ${event.generation}`
}

async function changes(store: TaskStore, task: TaskSnapshot<string>, count: number): Promise<void> {
  let made = { task }
  for (let index = 0; index < count; index += 1) made = await move(store, made.task)
}

export const feedTests: StoreTests = {
  'the feed has every event once, with its task, in the order of the changes': async ({ store }) => {
    const start = await endOf(store)
    const a = await put(store, 'a', { owner: 'alice', skill: 'sum', contextId: 'c' })
    const b = await put(store, 'b', { updatedAt: at(5) })
    const second = await move(store, a.task, { outputs: [1, 2, 3], checkpoint: true })
    const third = await move(store, second.task, { state: 'completed' })
    const all = [a, b, second, third].flatMap(({ events }) => events)
    const entries = await next(store, start, all.length)
    identical(
      'the events',
      entries.map(({ event }) => event),
      all,
    )
    const [first, other] = entries
    equal('the task', first?.task, {
      ...keyOf(a.task),
      ...{ skill: 'sum', contextId: 'c', owner: 'alice' },
    })
    equal('the owner of a task without one', other?.task.owner, null)
    await ends(store, entries.at(-1)?.cursor ?? '')
  },

  'the feed continues after the cursor of any entry, also at another client': async ({ store, another }) => {
    const start = await endOf(store)
    const { task } = await put(store, 'a')
    await changes(store, task, 20)
    const entries = await next(store, start, 21)
    const other = await another()
    for (const [index, { cursor }] of entries.entries()) {
      const rest = entries.slice(index + 1)
      identical(`entries after ${index}`, await next(other, cursor, rest.length, 4), rest)
    }
  },

  'of a position that it does not know the feed says so, with its end': async ({ store }) => {
    await put(store, 'a')
    for (const after of ['', 'none', '-1', '0-0', '99999999999999', '🙂', '1-2-3', "'"]) {
      const { entries, isResync, cursor } = await feedOf(store).read(after, 10)
      equal(`read() after ${after}`, { entries, isResync }, { entries: [], isResync: true })
      const { task } = await put(store, `after ${after}`)
      const entry = await nextOf(store, cursor, task.id)
      equal('the entry after its end', entry && show(entry), `${task.id} 1`)
    }
  },

  'changes that are refused or repeated add nothing to the feed': async ({ store }) => {
    const start = await endOf(store)
    const a = await put(store, 'a')
    await store.create(a)
    await store.create(creation('a'))
    const second = await move(store, a.task)
    equal('commit() again', await store.commit(second), 'committed')
    equal('commit() of another', await store.commit({ ...second, commitId: 'other' }), 'conflict')
    equal('commit() with a lease', await store.commit({ ...second, leaseId: 'none' }), 'committed')
    await store.delete([{ ...keyOf(a.task), createdAt: at(1) }])
    const entries = await next(store, start, 2)
    equal('entries', entries.map(show), ['a 1', 'a 2'])
    await ends(store, entries.at(-1)?.cursor ?? '')
  },

  'the removal of a task is an entry, and says which task of its id it was': async ({ store }) => {
    const start = await endOf(store)
    const { task } = await put(store, 'a', { owner: 'alice', skill: 'sum' })
    const [created] = await next(store, start, 1)
    await store.delete([keyOf(task)])
    await store.delete([keyOf(task)])
    const again = await put(store, 'a', { createdAt: at(9) })
    await move(store, again.task)
    const [removed, ...others] = await next(store, created?.cursor ?? '', 3)
    equal('the removed task', removed?.task, {
      ...keyOf(task),
      ...{ skill: 'sum', contextId: 'context', owner: 'alice' },
    })
    equal('whether it has an event', removed?.event, undefined)
    equal('what follows', others.map(show), ['a 1', 'a 2'])
    equal(
      'whose',
      others.map((each) => each.task.createdAt),
      [at(9), at(9)],
    )
  },

  'the events of a removed task are those that were, or none': async ({ store }) => {
    const start = await endOf(store)
    const { task, events } = await put(store, 'a')
    await store.delete([keyOf(task)])
    await put(store, 'a', { createdAt: at(9), input: 'another' })
    const shown: StoreFeedEntry[] = []
    for (let cursor = start; shown.at(-1)?.task.createdAt !== at(9);) {
      const page = await feedOf(store).read(cursor, 1)
      shown.push(...page.entries)
      cursor = page.cursor
      await yieldToEventLoop()
    }
    const texts = shown.map(({ event }) => (event === undefined ? 'removed' : JSON.stringify(event)))
    const whole = texts.length === 3 ? [JSON.stringify(events[0])] : []
    equal('entries before those of the next task', texts.slice(0, -1), [...whole, 'removed'])
  },

  'a restored task has no events in the feed, and its later ones are': async ({ store }) => {
    const start = await endOf(store)
    const { task, head, commitId } = creation('a', { updatedAt: at(5) })
    await store.create({ task, head, commitId, events: [] })
    await move(store, task)
    equal('entries', (await next(store, start, 1)).map(show), ['a 3'])
  },

  'a reader beside concurrent changes of several clients has each event once': async ({ store, another }) => {
    const start = await endOf(store)
    const clients = [store, await another(), await another()]
    const ids = Array.from({ length: 12 }, (_, index) => `task ${index}`)
    let isDone = false
    const writing = Promise.all(
      ids.map(async (id, index) => {
        const client = clients[index % clients.length] ?? store
        const { task } = await put(client, id)
        await changes(client, task, 3)
      }),
    ).finally(() => (isDone = true))
    const seen: string[] = []
    const read = async (): Promise<void> => {
      let cursor = start
      for (let reads = 0; seen.length < 4 * ids.length && reads < MAX_READS; reads += Number(isDone)) {
        const page = await feedOf(clients[1] ?? store).read(cursor, 5)
        seen.push(...page.entries.map(show))
        cursor = page.cursor
        await yieldToEventLoop()
      }
    }
    await Promise.all([writing, read()])
    for (const id of ids) {
      const own = seen.filter((each) => each.startsWith(`${id} `))
      equal(`entries of ${id}`, own, [`${id} 1`, `${id} 2`, `${id} 3`, `${id} 4`])
    }
    const again = await next(store, start, seen.length)
    equal('the order of another reader', again.map(show), seen)
  },

  'trim() removes the oldest entries, and the feed says so': async ({ store }) => {
    const start = await endOf(store)
    const entries: StoreFeedEntry[] = []
    for (let tasks = 0; tasks < 15; tasks += 1) {
      const { task } = await put(store, `task ${tasks}`)
      await changes(store, task, FEED_SIZE / 5 - 1)
      // A store may remove entries before `trim` is called.
      entries.push(...(await next(store, entries.at(-1)?.cursor ?? start, FEED_SIZE / 5)))
    }
    await feedOf(store).trim()
    const [old] = entries
    equal('resync', (await feedOf(store).read(old?.cursor ?? '', 10)).isResync, true)
    const kept = entries.slice(-FEED_SIZE)
    equal('entries that are kept', await next(store, kept[0]?.cursor ?? '', kept.length - 1), kept.slice(1))
    await feedOf(store).trim()
    await ends(store, kept.at(-1)?.cursor ?? '')
  },

  'the feed carries names of any characters': async ({ store }) => {
    let cursor = await endOf(store)
    for (const name of HOSTILE_NAMES) {
      const { task } = await put(store, name, { owner: name, skill: name, contextId: name })
      await store.delete([keyOf(task)])
      const shown: StoreFeedEntry[] = []
      while (shown.at(-1)?.event !== undefined || shown.length === 0) {
        const page = await feedOf(store).read(cursor, 10)
        shown.push(...page.entries)
        cursor = page.cursor
        await yieldToEventLoop()
      }
      const expected = { ...keyOf(task), skill: name, contextId: name, owner: name }
      equal('the removed task', shown.at(-1)?.task, expected)
    }
  },
}
