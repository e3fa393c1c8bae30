/**
 * Conformance tests of lists, counts, filters and the selection of old tasks.
 *
 * @module
 */
import type { TaskState } from '../../core/lifecycle.js'
import type { StoredTask, StoreFilter, StoreQuery, TaskStore } from '../../durable/task-store.js'
import { type TaskKey, keyOf } from '../../core/task.js'
import { equal, identical } from './checks.js'
import { at, creation, HOSTILE_NAMES, move, put, storedOf } from './samples.js'
import type { StoreTests } from './kit.js'

const ALL = 1_000

async function idsOf(store: TaskStore, filter: StoreFilter = {}, limit = ALL): Promise<string[]> {
  return (await store.list({ ...filter, limit })).map(({ checkpoint }) => checkpoint.id)
}

/** Checks `list` and `count` of one filter. The order of the tasks does not count. */
async function finds(store: TaskStore, filter: StoreFilter, ids: readonly string[]): Promise<void> {
  const shown = JSON.stringify(filter)
  equal(`ids of list() with ${shown}`, (await idsOf(store, filter)).sort(), [...ids].sort())
  equal(`count() with ${shown}`, await store.count(filter), ids.length)
}

function cursorOf({ checkpoint, events }: StoredTask): NonNullable<StoreQuery['after']> {
  return { updatedAt: events.at(-1)?.timestamp ?? checkpoint.updatedAt, id: checkpoint.id }
}

/** Reads all pages. `between` runs after each page. */
async function pages(
  store: TaskStore,
  query: StoreQuery,
  between: (page: readonly StoredTask[]) => Promise<void> = () => Promise.resolve(),
): Promise<StoredTask[]> {
  const all: StoredTask[] = []
  for (let after: StoreQuery['after']; ;) {
    const page = await store.list({ ...query, after })
    const last = page.at(-1)
    if (last === undefined) return all
    equal('whether a page is too long', page.length > query.limit, false)
    all.push(...page)
    if (all.length > ALL) throw new Error(`list(): expected an end of the pages, but got ${all.length} tasks`)
    after = cursorOf(last)
    await between(page)
  }
}

const orderTests: StoreTests = {
  'tasks are listed completely, latest change first': async ({ store }) => {
    const a = await put(store, 'a', { updatedAt: at(30), createdAt: at(1) })
    const b = await put(store, 'b', { updatedAt: at(10), createdAt: at(9) })
    const c = await put(store, 'c', { createdAt: at(20) })
    identical('list()', await store.list({ limit: 10 }), [storedOf(a), storedOf(c), storedOf(b)])
    const later = await move(store, b.task, { updatedAt: at(40) })
    const last = await move(store, c.task, { updatedAt: at(50), checkpoint: true })
    const now = [{ checkpoint: last.task, events: [] }, storedOf(b, later), storedOf(a)]
    identical('list() after changes', await store.list({ limit: 10 }), now)
    identical('list() of at most two', await store.list({ limit: 2 }), now.slice(0, 2))
    equal('list() after the last', await store.list({ limit: 2, after: { updatedAt: at(30), id: 'a' } }), [])
  },

  'a task whose time of change moves back moves back in the order': async ({ store }) => {
    const a = await put(store, 'a', { createdAt: at(100) })
    await put(store, 'b', { createdAt: at(50) })
    equal('ids of list()', await idsOf(store), ['a', 'b'])
    const changed = await move(store, a.task, { updatedAt: at(10) })
    equal('ids of list() then', await idsOf(store), ['b', 'a'])
    identical('get()', await store.get('a'), storedOf(a, changed))
    await finds(store, { updatedSince: at(20) }, ['b'])
    const [, last] = await store.list({ limit: 10 })
    equal('list() after it', last && (await store.list({ limit: 10, after: cursorOf(last) })), [])
  },

  'tasks that changed at the same time are in descending order of their ids': async ({ store }) => {
    const ascending = ['0', '10', '9', 'A', 'B', 'Z', '_', 'a', 'a-b', 'a.b', 'aB', 'ab', 'b', 'z'].sort()
    const ids = [...ascending].reverse()
    for (const [n, id] of ascending.entries())
      await put(store, ids[(n * 5) % ids.length] ?? id, { owner: 'alice' })
    equal('ids of list()', await idsOf(store), ids)
    equal('ids of list() of the owner', await idsOf(store, { owner: 'alice' }), ids)
    const listed = (await pages(store, { limit: 3 })).map(({ checkpoint }) => checkpoint.id)
    equal('ids in pages', listed, ids)
  },

  'an empty store lists nothing': async ({ store }) => {
    equal('list()', await store.list({ limit: 10 }), [])
    equal('count()', await store.count({}), 0)
    equal('unended()', await store.unended(at(1), 10), [])
    equal('ended()', await store.ended({ state: 'completed', updatedBefore: at(1), limit: 10 }), [])
    equal('ended() beyond none', await store.ended({ state: 'completed', beyond: 0, limit: 10 }), [])
    equal('orphans()', await store.orphans(10), [])
    equal('allDocuments()', await store.allDocuments('kind', undefined, 10), [])
    equal('delete()', await store.delete([{ id: 'a', createdAt: at(0) }]), [])
    equal('delete() of none', await store.delete([]), [])
  },
}

const filterTests: StoreTests = {
  'filters select the tasks that have every property': async ({ store }) => {
    const states = ['working', 'completed'] as const
    for (const state of states) {
      for (const skill of ['s', 't']) {
        for (const contextId of ['c', 'd'])
          await put(store, state + skill + contextId, { state, skill, contextId })
      }
    }
    await finds(store, { state: 'working' }, ['workingsc', 'workingsd', 'workingtc', 'workingtd'])
    await finds(store, { skill: 's' }, ['workingsc', 'workingsd', 'completedsc', 'completedsd'])
    await finds(store, { contextId: 'd' }, ['workingsd', 'workingtd', 'completedsd', 'completedtd'])
    await finds(store, { state: 'completed', skill: 't' }, ['completedtc', 'completedtd'])
    await finds(store, { state: 'completed', skill: 't', contextId: 'c' }, ['completedtc'])
    await finds(store, { state: 'failed', skill: 't' }, [])
    await finds(store, { contextId: 's' }, [])
  },

  'a filter by state uses the present state': async ({ store }) => {
    const { task } = await put(store, 'a')
    const second = await move(store, task, { state: 'input-required' })
    await finds(store, { state: 'working' }, [])
    await finds(store, { state: 'input-required' }, ['a'])
    await move(store, second.task, { state: 'completed', checkpoint: true })
    await finds(store, { state: 'input-required' }, [])
    await finds(store, { state: 'completed' }, ['a'])
  },

  'a filter by owner never returns tasks of others': async ({ store }) => {
    const owners = [
      'alice',
      'Alice',
      'alice ',
      ' alice',
      'alic',
      'alice%',
      'al_ce',
      'a*',
      'null',
      'undefined',
    ]
    const names = [...new Set([...owners, ...HOSTILE_NAMES])]
    for (const [n, owner] of names.entries()) await put(store, `task ${n}`, { owner, createdAt: at(n) })
    await put(store, 'unowned')
    for (const [n, owner] of names.entries()) await finds(store, { owner }, [`task ${n}`])
    await finds(store, { owner: 'bob' }, [])
    await finds(store, { owner: null }, ['unowned'])
    await finds(store, { owner: undefined }, [...names.keys()].map((n) => `task ${n}`).concat('unowned'))
    await finds(store, { owner: 'alice', state: 'completed' }, [])
    await finds(store, { owner: 'alice', updatedSince: at(1) }, [])
    await finds(store, { owner: 'alice', updatedSince: at(0), skill: 'echo', state: 'working' }, ['task 0'])
  },

  'skills, contexts and states are compared exactly': async ({ store }) => {
    for (const [n, name] of HOSTILE_NAMES.entries()) {
      await put(store, `task ${n}`, { skill: name, contextId: name })
    }
    for (const [n, name] of HOSTILE_NAMES.entries()) {
      await finds(store, { skill: name }, [`task ${n}`])
      await finds(store, { contextId: name }, [`task ${n}`])
      await finds(store, { skill: name, contextId: name }, [`task ${n}`])
      await finds(store, { state: name }, [])
    }
  },

  'tasks can be filtered by their time of change': async ({ store }) => {
    await put(store, 'a', { createdAt: at(0), updatedAt: at(30) })
    await put(store, 'b', { createdAt: at(20) })
    await put(store, 'c', { createdAt: at(10), owner: 'alice' })
    await finds(store, { updatedSince: at(31) }, [])
    await finds(store, { updatedSince: at(30) }, ['a'])
    await finds(store, { updatedSince: at(11) }, ['a', 'b'])
    await finds(store, { updatedSince: at(10) }, ['a', 'b', 'c'])
    await finds(store, { updatedSince: at(10), owner: null }, ['a', 'b'])
    await finds(store, { updatedSince: at(10), owner: 'alice' }, ['c'])
    await finds(store, { updatedSince: at(-86_400_000) }, ['a', 'b', 'c'])
  },

  'a count since a time combines with every other property': async ({ store }) => {
    const of = { state: 'working', skill: 's', contextId: 'c', owner: 'alice' } as const
    // Before, within and after the second of the time that is searched for.
    for (const [n, ms] of [-3_000, 0, 499, 500, 501, 4_000].entries()) {
      await put(store, `mine ${n}`, { ...of, createdAt: at(ms) })
      await put(store, `other ${n}`, { state: 'submitted', skill: 't', contextId: 'd', createdAt: at(ms) })
    }
    const ids = ['mine 3', 'mine 4', 'mine 5']
    for (const [name, value] of Object.entries(of)) {
      await finds(store, { [name]: value, updatedSince: at(500) }, ids)
      await finds(store, { [name]: value, updatedSince: at(4_001) }, [])
    }
    await finds(store, { ...of, updatedSince: at(500) }, ids)
    await finds(store, { ...of, state: 'submitted', updatedSince: at(500) }, [])
    const { task } = creation('mine 0', { ...of, createdAt: at(-3_000) })
    await move(store, task, { state: 'completed', updatedAt: at(6_000) })
    await finds(store, { ...of, updatedSince: at(500) }, ids)
    await finds(store, { owner: 'alice', updatedSince: at(500) }, [...ids, 'mine 0'])
    equal('count() of the tasks of all owners', await store.count({ updatedSince: at(500) }), 7)
  },
}

const pageTests: StoreTests = {
  'pages contain every task once, even when many changed at the same time': async ({ store }) => {
    const ids = Array.from({ length: 30 }, (_, n) => `task ${n}`).concat(HOSTILE_NAMES)
    for (const [n, id] of ids.entries()) await put(store, id, { createdAt: at(Math.floor(n / 20)) })
    const whole = await idsOf(store)
    equal('ids of list(), sorted', [...whole].sort(), [...ids].sort())
    for (const limit of [1, 3, 7, ids.length]) {
      const listed = (await pages(store, { limit })).map(({ checkpoint }) => checkpoint.id)
      equal(`ids in pages of ${limit}`, listed, whole)
    }
  },

  'pages of filtered tasks contain every task once': async ({ store }) => {
    for (let n = 0; n < 40; n += 1) {
      const owner = n % 2 === 0 ? 'alice' : 'bob'
      const skill = n % 4 < 2 ? 'echo' : 'sum'
      await put(store, `task ${n}`, { createdAt: at(n % 5), owner, skill })
    }
    const filter = { owner: 'alice', skill: 'sum', updatedSince: at(1), state: 'working' }
    const whole = await idsOf(store, filter)
    equal('how many there are', whole.length, 8)
    const listed = await pages(store, { ...filter, limit: 3 })
    equal(
      'ids in pages',
      listed.map(({ checkpoint }) => checkpoint.id),
      whole,
    )
  },

  'pages neither skip nor repeat an unchanged task while others are created, changed and deleted': async ({
    store,
  }) => {
    const tasks = []
    for (let n = 0; n < 40; n += 1) {
      tasks.push((await put(store, `task ${n}`, { createdAt: at(Math.floor(n / 3)) })).task)
    }
    const changing = tasks.filter((_, n) => n % 4 === 0)
    const leaving = tasks.filter((_, n) => n % 4 === 1)
    let round = 0
    const listed = await pages(store, { limit: 5 }, async (page) => {
      const [changed, gone] = [changing.pop(), leaving.shift()]
      if (changed) await move(store, changed, { updatedAt: at(1_000 + round) })
      if (gone) await store.delete([keyOf(gone)])
      // Also deletes the task that the cursor names.
      const last = page.at(-1)?.checkpoint
      if (last && Number(last.id.slice(5)) % 4 === 1) await store.delete([keyOf(last)])
      await put(store, `new ${round}`, { createdAt: at(2_000 + round) })
      round += 1
    })
    const still = (id: string): boolean => Number(id.slice(5)) % 4 > 1
    const seen = listed.map(({ checkpoint }) => checkpoint.id).filter(still)
    const unchanged = tasks.map(({ id }) => id).filter(still)
    equal('those that did not change', [...seen].sort(), [...unchanged].sort())
  },
}

const ageTests: StoreTests = {
  'unended tasks are selected by their creation, oldest first': async ({ store }) => {
    const states: TaskState[] = ['submitted', 'working', 'input-required', 'auth-required']
    for (const [n, state] of states.entries()) {
      await put(store, state, { state, createdAt: at(40 - n * 10), updatedAt: at(100 + n) })
    }
    for (const state of ['completed', 'failed', 'canceled', 'rejected'] as const)
      await put(store, state, { state })
    const ids = async (createdBefore: string, limit: number): Promise<string[]> =>
      (await store.unended(createdBefore, limit)).map(({ id }) => id)
    equal('ids of unended() at last', await ids(at(41), 10), [...states].reverse())
    equal('ids of unended() before the latest', await ids(at(40), 10), [...states].reverse().slice(0, 3))
    equal('ids of unended() of the oldest two', await ids(at(41), 2), [...states].reverse().slice(0, 2))
    equal('ids of unended() before the oldest', await ids(at(10), 10), [])
    const [oldest] = await store.unended(at(41), 1)
    equal('unended(…, 1)', oldest, { id: 'auth-required', createdAt: at(10) })
    const { task } = creation('auth-required', {
      state: 'auth-required',
      createdAt: at(10),
      updatedAt: at(103),
    })
    await move(store, task, { state: 'failed' })
    equal('ids of unended() when one has ended', await ids(at(41), 1), ['input-required'])
  },

  'ended tasks of a state are selected by age, least recently changed first': async ({ store }) => {
    for (const [id, ms] of Object.entries({ b: 30, d: 10, a: 40, c: 20 })) {
      const { task } = await put(store, id, { createdAt: at(-ms) })
      await move(store, task, { state: 'completed', updatedAt: at(ms) })
    }
    await put(store, 'failed', { state: 'failed' })
    await put(store, 'working', { state: 'working' })
    const ids = async (state: string, updatedBefore: string, limit: number): Promise<string[]> =>
      (await store.ended({ state, updatedBefore, limit })).map(({ id }) => id)
    equal('ids of ended() at last', await ids('completed', at(41), 10), ['d', 'c', 'b', 'a'])
    equal('ids of ended() before the latest', await ids('completed', at(40), 10), ['d', 'c', 'b'])
    equal('ids of ended(), two of them', await ids('completed', at(41), 2), ['d', 'c'])
    equal('ids of ended() in another state', await ids('failed', at(41), 10), ['failed'])
    equal('ids of ended() in one that none is in', await ids('canceled', at(41), 10), [])
    const [oldest] = await store.ended({ state: 'completed', updatedBefore: at(41), limit: 1 })
    equal('ended() with limit 1', oldest, { id: 'd', createdAt: at(-10) })
  },

  'ended tasks of a state beyond a count are the least recently changed ones': async ({ store }) => {
    const ids = Array.from({ length: 20 }, (_, n) => `task ${n}`)
    for (const [n, id] of ids.entries()) {
      const { task } = await put(store, id, { createdAt: at(n) })
      await move(store, task, { state: 'completed', updatedAt: at(1_000 - n) })
    }
    await put(store, 'failed', { state: 'failed' })
    await put(store, 'working', { state: 'working' })
    const beyond = async (count: number, limit = ALL, state = 'completed'): Promise<readonly TaskKey[]> =>
      await store.ended({ state, beyond: count, limit })
    const sorted = (keys: readonly TaskKey[]): string[] => keys.map(({ id }) => id).sort()
    equal('ids of ended() beyond 15', sorted(await beyond(15)), ids.slice(15).sort())
    equal('ids of ended() beyond none', sorted(await beyond(0)), [...ids].sort())
    equal('ids of ended() beyond all', sorted(await beyond(20)), [])
    equal('ids of ended() in another state', sorted(await beyond(0, ALL, 'failed')), ['failed'])
    const some = sorted(await beyond(15, 2))
    equal('how many with limit 2', some.length, 2)
    equal(
      'how many of them are to be left',
      some.filter((id) => ids.indexOf(id) < 15),
      [],
    )
    // In batches, as a manager does.
    for (const left of [2, 2, 1, 0]) {
      equal('how many were deleted', (await store.delete(await beyond(15, 2))).length, left)
    }
    await finds(store, { state: 'completed' }, ids.slice(0, 15))
  },

  'of tasks that changed at the same time, each is either within or beyond a count': async ({ store }) => {
    for (let n = 0; n < 10; n += 1) await put(store, `task ${n}`, { state: 'completed' })
    const beyond = await store.ended({ state: 'completed', beyond: 4, limit: ALL })
    equal('how many are beyond', new Set(beyond.map(({ id }) => id)).size, 6)
    equal('how many were deleted', (await store.delete(beyond)).length, 6)
    equal('what is beyond then', await store.ended({ state: 'completed', beyond: 4, limit: ALL }), [])
  },
}

export const queryTests: StoreTests = { ...orderTests, ...filterTests, ...pageTests, ...ageTests }
