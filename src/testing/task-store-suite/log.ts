/**
 * Conformance tests of creations and commits.
 *
 * @module
 */
import { equal, identical, rejects } from './checks.js'
import { at, change, commitId, creation, holder, move, put, storedOf, UNWRITABLE } from './samples.js'
import { keyOf } from '../../core/task.js'
import type { StoreTests } from './kit.js'

const creationTests: StoreTests = {
  'a created task can be read, with its events': async ({ store }) => {
    const created = creation('a', { updatedAt: at(5), owner: 'alice' })
    equal('create()', await store.create(created), true)
    identical('get()', await store.get('a'), storedOf(created))
    identical('events()', await store.events(keyOf(created.task), 0, 10), created.events)
    equal('heads()', await store.heads(['a']), [{ ...keyOf(created.task), generation: 2 }])
  },

  'a task that was not created cannot be found': async ({ store }) => {
    await put(store, 'a')
    equal('get()', await store.get('b'), undefined)
    equal('heads()', await store.heads(['b']), [])
    equal('heads() of none', await store.heads([]), [])
    equal('events()', await store.events({ id: 'b', createdAt: at(0) }, 0, 10), [])
    equal('count()', await store.count({}), 1)
  },

  'an id in use is refused, and nothing changes': async ({ store }) => {
    const created = await put(store, 'a', { owner: 'alice' })
    equal('create()', await store.create(creation('a', { createdAt: at(1), owner: 'bob' })), false)
    equal('create() at the same time', await store.create(creation('a', { owner: 'bob' })), false)
    identical('get()', await store.get('a'), storedOf(created))
    equal('count()', await store.count({}), 1)
    equal('count() of the other owner', await store.count({ owner: 'bob' }), 0)
  },

  'a task that is restored without its log continues from its generation': async ({ store }) => {
    const { events, ...created } = creation('a', { updatedAt: at(5) })
    equal('create()', await store.create({ ...created, events: [] }), true)
    identical('get()', await store.get('a'), { checkpoint: created.task, events: [] })
    equal('events()', await store.events(keyOf(created.task), 0, 10), [])
    equal('heads()', await store.heads(['a']), [{ ...keyOf(created.task), generation: events.length }])
    const moved = await move(store, created.task)
    identical('events() after a commit', await store.events(keyOf(created.task), 0, 10), moved.events)
    identical('get() after a commit', await store.get('a'), {
      checkpoint: created.task,
      events: moved.events,
    })
  },

  'of fifty concurrent creations with one id, one succeeds': async ({ store, another }) => {
    const stores = [store, await another()]
    const creations = Array.from({ length: 50 }, (_, n) => creation('a', { createdAt: at(n % 3), input: n }))
    const results = await Promise.all(creations.map((each, n) => (stores[n % 2] ?? store).create(each)))
    const winners = creations.filter((_, n) => results[n])
    equal('how many create() said true to', winners.length, 1)
    identical('get()', await store.get('a'), winners[0] && storedOf(winners[0]))
  },

  'a repeated creation returns the same result and changes nothing': async ({ store }) => {
    const created = await put(store, 'a', { lease: { id: 'l', ttlMs: 1_000 } })
    equal('create() again', await store.create(created), true)
    const changed = await move(store, created.task)
    equal('create() again, after a commit', await store.create(created), true)
    identical('get()', await store.get('a'), storedOf(created, changed))
    equal('release()', await store.release(keyOf(created.task), 'l'), true)
    equal('create() again, after the lease was released', await store.create(created), true)
    equal('acquire()', await holder(store.acquire(keyOf(created.task), { id: 'm', ttlMs: 1_000 })), 'm')
  },

  'a creation that cannot be written leaves nothing behind': async ({ store }) => {
    const created = creation('a')
    const [first] = created.events
    const broken = { ...created, task: { ...created.task, input: UNWRITABLE } }
    await rejects('create() with a task that is no JSON', store.create(broken))
    // The value that cannot be serialized comes last, after the store may already have written the rest.
    const events = first === undefined ? [] : [first, { ...first, generation: 2, input: UNWRITABLE }]
    await rejects('create() with an event that is no JSON', store.create({ ...created, events }))
    const lease = { id: 'l', ttlMs: 1_000, note: UNWRITABLE }
    await rejects('create() with a note that is no JSON', store.create({ ...created, lease }))
    equal('get()', await store.get('a'), undefined)
    equal('count()', await store.count({}), 0)
    equal('create() as it should be', await store.create(created), true)
    identical('get() then', await store.get('a'), storedOf(created))
  },
}

const commitTests: StoreTests = {
  'a commit appends its events': async ({ store }) => {
    const created = await put(store, 'a')
    const second = await move(store, created.task)
    const third = await move(store, second.task, { outputs: ['x', 'y', 'z'], state: 'input-required' })
    identical('get()', await store.get('a'), storedOf(created, second, third))
    equal('heads()', await store.heads(['a']), [{ ...keyOf(created.task), generation: 6 }])
    equal('count() of the new state', await store.count({ state: 'input-required' }), 1)
    equal('count() of the old state', await store.count({ state: 'working' }), 0)
  },

  'a commit at another generation conflicts and changes nothing': async ({ store }) => {
    const created = await put(store, 'a')
    const second = await move(store, created.task)
    const third = change(second.task)
    for (const [relation, commit] of [
      ['behind', change(created.task, { state: 'completed', checkpoint: true })],
      ['ahead', change(third.task, { state: 'completed', checkpoint: true })],
    ] as const) {
      equal(`commit() to a generation ${relation}`, await store.commit(commit), 'conflict')
    }
    identical('get()', await store.get('a'), storedOf(created, second))
    equal('count() of the state that did not come', await store.count({ state: 'completed' }), 0)
    equal('commit() to the right one', await store.commit(third), 'committed')
  },

  'a commit to a missing task returns missing': async ({ store }) => {
    await put(store, 'a')
    equal('commit()', await store.commit(change(creation('b').task)), 'missing')
    equal('get()', await store.get('b'), undefined)
  },

  'a repeated commit returns committed and changes nothing': async ({ store, another }) => {
    const other = await another()
    const created = await put(store, 'a')
    const second = await move(store, created.task)
    equal('commit() again', await store.commit(second), 'committed')
    const third = await move(store, second.task, { checkpoint: true })
    const fourth = await move(store, third.task, { state: 'completed' })
    for (const commit of [second, third, fourth]) {
      const what = `commit() of generation ${commit.task.generation} again, after others`
      equal(what, await other.commit(commit), 'committed')
    }
    identical('get()', await store.get('a'), { checkpoint: third.task, events: fourth.events })
    const log = [created, second, third, fourth].flatMap(({ events }) => events)
    identical('events()', await store.events(second.key, 0, 10), log)
    equal('heads()', await store.heads(['a']), [{ ...second.key, generation: 5 }])
    equal('count() of the last state', await store.count({ state: 'completed' }), 1)
  },

  'a commit that is sent twice at once takes effect once': async ({ store, another }) => {
    const other = await another()
    let { task } = await put(store, 'a')
    for (let round = 0; round < 20; round += 1) {
      const commit = change(task)
      const results = await Promise.all([store.commit(commit), other.commit(commit)])
      equal(`both answers to commit ${round}`, results, ['committed', 'committed'])
      task = commit.task
    }
    const events = await store.events(keyOf(task), 0, 100)
    equal(
      'generations of events()',
      events.map(({ generation }) => generation),
      range(1, 21),
    )
  },

  'the id of a commit counts only for its own task': async ({ store }) => {
    const [one, two] = [await put(store, 'a'), await put(store, 'b')]
    const id = commitId()
    await move(store, one.task, { commitId: id })
    const commit = await move(store, two.task, { commitId: id })
    identical('get()', await store.get('b'), storedOf(two, commit))
  },

  'a commit that cannot be written changes nothing': async ({ store }) => {
    const created = await put(store, 'a')
    const next = change(created.task, { outputs: [1, 2, 3], state: 'completed', checkpoint: true })
    const [one, two, three] = next.events
    const unwritable = { ...two, output: UNWRITABLE } as (typeof next.events)[number]
    const events = [one, three, unwritable].filter((event) => event !== undefined)
    await rejects('commit() with an event that is no JSON', store.commit({ ...next, events }))
    const checkpoint = { ...next.task, output: UNWRITABLE }
    await rejects('commit() with a checkpoint that is no JSON', store.commit({ ...next, checkpoint }))
    identical('get()', await store.get('a'), storedOf(created))
    identical('events()', await store.events(next.key, 0, 10), created.events)
    equal('count() of the state that did not come', await store.count({ state: 'completed' }), 0)
    equal('commit() as it should be', await store.commit(next), 'committed')
    identical('get() then', await store.get('a'), { checkpoint: next.task, events: [] })
  },
}

const contentionTests: StoreTests = {
  'of fifty concurrent commits at one generation one succeeds, and the others conflict': async (kit) => {
    const { store, another } = kit
    const stores = [store, await another()]
    const created = await put(store, 'a')
    const commits = Array.from({ length: 50 }, (_, n) => change(created.task, { outputs: [n] }))
    const results = await Promise.all(commits.map((commit, n) => (stores[n % 2] ?? store).commit(commit)))
    const winners = commits.filter((_, n) => results[n] === 'committed')
    equal('how many were carried out', winners.length, 1)
    equal('how many conflicts', results.filter((result) => result === 'conflict').length, 49)
    identical('get()', await store.get('a'), storedOf(created, ...winners))
  },

  'fifty writers of one task, through two clients, lose and repeat no event': async ({ store, another }) => {
    const stores = [store, await another()]
    const created = await put(store, 'a')
    const write = async (writer: number): Promise<void> => {
      const client = stores[writer % 2] ?? store
      // A conflict means that another writer succeeded, so 50 tries suffice.
      for (let tries = 1; tries <= 50; tries += 1) {
        const [head] = await client.heads(['a'])
        const before = { ...created.task, generation: head?.generation ?? 0 }
        const result = await client.commit(change(before, { outputs: [writer] }))
        if (result === 'committed') return
        equal('the answer to who is late', result, 'conflict')
      }
      throw new Error('commit(): expected one of 50 writers to get through in 50 tries, but it did not')
    }
    await Promise.all(range(1, 50).map(write))
    const events = await store.events(keyOf(created.task), 1, 100)
    equal(
      'generations of events()',
      events.map(({ generation }) => generation),
      range(2, 51),
    )
    const writers = events.map((event) => (event.type === 'output' ? Number(event.output) : 0))
    equal(
      'writers in events()',
      writers.sort((a, b) => a - b),
      range(1, 50),
    )
  },
}

/** Commits that arrive together may share one call of the database. */
const neighbourTests: StoreTests = {
  'each of many commits at once, of different tasks, has its own answer': async ({ store, another }) => {
    const other = await another()
    const lease = { id: 'l', ttlMs: 1_000 }
    const made = await Promise.all(
      range(1, 60).map((n) => put(store, `task ${n}`, n % 6 === 3 ? { lease } : {})),
    )
    await other.delete(made.filter((_, index) => index % 6 === 4).map(({ task }) => keyOf(task)))
    const commits = made.map(({ task }, index) => {
      const kinds = [
        change(task, { outputs: ['x', 'y', 'z'] }),
        change(task, { checkpoint: true, state: 'completed' }),
        change(task, { leaseId: 'l', expires: 'l' }),
        change({ ...task, generation: 7 }, { state: 'failed' }),
        change(task),
        change(task, { leaseId: 'another' }),
      ]
      return kinds[index % 6] ?? change(task)
    })
    const results = await Promise.all(commits.map((commit) => store.commit(commit)))
    const expected = ['committed', 'committed', 'committed', 'conflict', 'missing', 'lease-lost']
    equal(
      'answers to commit()',
      results,
      commits.map((_, index) => expected[index % 6]),
    )
    for (const [index, commit] of commits.entries()) {
      const created = made[index]
      const isWritten = expected[index % 6] === 'committed'
      const found = created && storedOf(created, ...(isWritten ? [commit] : []))
      const whole = commit.checkpoint && { checkpoint: commit.checkpoint, events: [] }
      const stored = expected[index % 6] === 'missing' ? undefined : (isWritten && whole) || found
      identical(`get() of task ${index + 1}`, await other.get(commit.key.id), stored)
      const log = [...(created?.events ?? []), ...(isWritten ? commit.events : [])]
      const events = expected[index % 6] === 'missing' ? [] : log
      identical(`events() of task ${index + 1}`, await other.events(commit.key, 0, 10), events)
    }
    equal('count() of the ended', await other.count({ state: 'completed' }), 10)
    equal(
      'orphans()',
      (await other.orphans(100)).map(({ leaseId }) => leaseId),
      Array(10).fill('l'),
    )
  },

  'a commit that cannot be written fails alone, and its neighbours are stored': async ({ store }) => {
    const made = await Promise.all(range(1, 9).map((n) => put(store, `task ${n}`)))
    const commits = made.map(({ task }, index) => {
      const commit = change(task)
      const [event] = commit.events
      const broken = { ...event, output: UNWRITABLE } as (typeof commit.events)[number]
      return index % 3 === 1 ? { ...commit, events: [broken] } : commit
    })
    const results = await Promise.allSettled(commits.map((commit) => store.commit(commit)))
    equal(
      'how commit() ended',
      results.map((result) => (result.status === 'fulfilled' ? result.value : 'rejected')),
      commits.map((_, index) => (index % 3 === 1 ? 'rejected' : 'committed')),
    )
    for (const [index, created] of made.entries()) {
      const written = index % 3 === 1 ? [] : commits.slice(index, index + 1)
      identical(`get() of task ${index + 1}`, await store.get(created.task.id), storedOf(created, ...written))
    }
  },

  'a commit that is sent twice among others takes effect once, and one that is late conflicts': async ({
    store,
  }) => {
    const [one, two] = [await put(store, 'a'), await put(store, 'b')]
    const [first, other] = [change(one.task), change(two.task)]
    const second = change(first.task)
    const late = change(one.task, { outputs: ['late'] })
    const answers = await Promise.all([first, other, first].map((commit) => store.commit(commit)))
    equal('answers', answers, ['committed', 'committed', 'committed'])
    const again = await Promise.all([late, second, first, second].map((commit) => store.commit(commit)))
    equal('answers to the next', again, ['conflict', 'committed', 'committed', 'committed'])
    identical('get()', await store.get('a'), storedOf(one, first, second))
    identical('get() of the other', await store.get('b'), storedOf(two, other))
  },
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}

export const logTests: StoreTests = {
  ...creationTests,
  ...commitTests,
  ...contentionTests,
  ...neighbourTests,
}
