/**
 * Conformance tests of reads during changes, and of deletions.
 *
 * @module
 */
import { evolve } from '../../core/evolve.js'
import { type TaskSnapshot, type TaskKey, keyOf } from '../../core/task.js'
import { fromStored } from '../../durable/stored-events.js'
import type { StoredTask, TaskStore } from '../../durable/task-store.js'
import { equal, identical } from './checks.js'
import { at, change, creation, holder, move, put, storedOf, type Change } from './samples.js'
import type { StoreTests } from './kit.js'

/** Makes `count` commits one after the other. */
async function writeAll(store: TaskStore, first: TaskSnapshot<string>, count: number): Promise<Change[]> {
  const changes: Change[] = []
  let task = first
  for (let n = 0; n < count; n += 1) {
    const outputs = Array.from({ length: (n % 3) + 1 }, (_, index) => `${n}.${index}`)
    const made = await move(store, task, { outputs, checkpoint: n % 5 === 4 })
    changes.push(made)
    task = made.task
  }
  return changes
}

/** Fails when an event is missing or repeated. */
function whole(stored: StoredTask | undefined): TaskSnapshot<string> {
  if (stored === undefined) throw new Error('get(): expected a task, but got undefined')
  return stored.events.map(fromStored).reduce<TaskSnapshot<string>>(evolve, stored.checkpoint)
}

const liveTests: StoreTests = {
  'events are read after any generation, up to a limit': async ({ store }) => {
    const created = await put(store, 'a')
    const second = await move(store, created.task, { outputs: [2, 3, 4], checkpoint: true })
    const third = await move(store, second.task, { outputs: [5, 6] })
    const log = [created, second, third].flatMap(({ events }) => events)
    for (let after = 0; after <= log.length; after += 1) {
      identical(`events(${after}, 100)`, await store.events(second.key, after, 100), log.slice(after))
      identical(`events(${after}, 2)`, await store.events(second.key, after, 2), log.slice(after, after + 2))
    }
    equal('events() after those that are to come', await store.events(second.key, 100, 10), [])
  },

  'events belong to one task': async ({ store }) => {
    const [a, b] = [await put(store, 'a'), await put(store, 'b')]
    const [c, d] = [await move(store, a.task), await move(store, b.task)]
    identical('events() of one', await store.events(keyOf(a.task), 0, 10), [...a.events, ...c.events])
    identical('events() of the other', await store.events(keyOf(b.task), 1, 10), d.events)
  },

  'a checkpoint replaces the events before it in reads, and the log keeps them': async ({ store }) => {
    const created = await put(store, 'a')
    const second = await move(store, created.task)
    const third = await move(store, second.task, { checkpoint: true })
    identical('get()', await store.get('a'), { checkpoint: third.task, events: [] })
    identical('list()', await store.list({ limit: 1 }), [{ checkpoint: third.task, events: [] }])
    const fourth = await move(store, third.task)
    identical('get() after one more', await store.get('a'), { checkpoint: third.task, events: fourth.events })
    const fifth = await move(store, fourth.task, { state: 'completed', checkpoint: true })
    identical('get() at the end', await store.get('a'), { checkpoint: fifth.task, events: [] })
    const log = [created, second, third, fourth, fifth].flatMap(({ events }) => events)
    identical('events()', await store.events(second.key, 0, 100), log)
  },

  'heads returns every task that exists': async ({ store }) => {
    const [a, b] = [await put(store, 'a'), await put(store, 'b', { createdAt: at(3) })]
    await put(store, 'c')
    await move(store, a.task, { outputs: [2, 3] })
    const heads = [...(await store.heads(['b', 'none', 'a']))]
    equal(
      'heads()',
      heads.sort((x, y) => (x.id < y.id ? -1 : 1)),
      [
        { ...keyOf(a.task), generation: 3 },
        { ...keyOf(b.task), generation: 1 },
      ],
    )
    const ids = Array.from({ length: 500 }, (_, n) => `none ${n}`)
    equal('how many of 502', (await store.heads([...ids, 'a', 'b'])).length, 2)
  },

  'a task that is read during changes is consistent': async ({ store, another }) => {
    const other = await another()
    const { task } = await put(store, 'a')
    let last = 0
    let isDone = false
    const read = async (): Promise<void> => {
      while (!isDone) {
        const now = whole(await other.get('a'))
        const [listed] = await other.list({ limit: 1 })
        const later = whole(listed)
        const [head] = await other.heads(['a'])
        const seen = [last, now.generation, later.generation, head?.generation ?? 0]
        equal(
          'generations, as they were read',
          seen,
          [...seen].sort((x, y) => x - y),
        )
        last = now.generation
      }
    }
    const write = writeAll(store, task, 102).finally(() => {
      isDone = true
    })
    const [changes] = await Promise.all([write, read()])
    identical('the task', whole(await other.get('a')), changes.at(-1)?.task)
    const log = changes.flatMap(({ events }) => events)
    identical('events()', await other.events(keyOf(task), 1, 1_000), log)
  },

  'a reader of a growing log misses and repeats no event': async ({ store, another }) => {
    const other = await another()
    const { task } = await put(store, 'a')
    let isDone = false
    const follow = async (): Promise<unknown[]> => {
      const seen = []
      for (let after = 1; ;) {
        // Read before the page: events committed after it may be on the next page only.
        const isLast = isDone
        const page = await other.events(keyOf(task), after, 7)
        if (page.length === 0 && isLast) return seen
        for (const event of page) {
          equal('the generation of the next event', event.generation, after + 1)
          after = event.generation
        }
        seen.push(...page)
      }
    }
    const write = writeAll(store, task, 102).finally(() => {
      isDone = true
    })
    const [changes, seen] = await Promise.all([write, follow()])
    identical(
      'what was seen',
      seen,
      changes.flatMap(({ events }) => events),
    )
  },

  'results are copies': async ({ store }) => {
    const input = { list: [1] }
    const created = creation('a', { input })
    const before = JSON.stringify(created.task)
    await store.create(created)
    input.list.push(2)
    // Breaks the read-only types on purpose.
    const stored = (await store.get('a')) as unknown as { checkpoint: { input: unknown }; events: unknown[] }
    stored.checkpoint.input = 'changed'
    stored.events.push('added')
    const events = (await store.events(keyOf(created.task), 0, 10)) as unknown[]
    events.length = 0
    equal('the task', JSON.stringify((await store.get('a'))?.checkpoint), before)
    equal('how many events()', (await store.events(keyOf(created.task), 0, 10)).length, 1)
  },
}

/** Checks that every operation on this key finds no task. */
async function reachesNothing(store: TaskStore, key: TaskKey): Promise<void> {
  const { task } = creation(key.id, { createdAt: key.createdAt })
  equal('commit()', await store.commit(change(task)), 'missing')
  equal('commit() under a lease', await store.commit(change(task, { leaseId: 'l' })), 'missing')
  equal('events()', await store.events(key, 0, 10), [])
  equal('delete()', await store.delete([key]), [])
  equal('acquire()', await holder(store.acquire(key, { id: 'm', ttlMs: 1 })), undefined)
  equal('acquire() with the same id', await holder(store.acquire(key, { id: 'l', ttlMs: 1 })), undefined)
  equal('renew()', await store.renew([{ key, id: 'l' }], 1), [])
  equal('release()', await store.release(key, 'l'), true)
  equal('release() at a generation', await store.release(key, 'l', 7), true)
  const document = { key, kind: 'kind', id: 'd', value: 2 }
  equal('putDocument()', await store.putDocument(document, 1), false)
  equal('putDocument() of a new one', await store.putDocument({ ...document, id: 'e' }, 0), false)
  equal('deleteDocument()', await store.deleteDocument(document), false)
  equal('documents()', await store.documents(key, 'kind'), [])
}

function byId(a: TaskKey, b: TaskKey): number {
  return a.id < b.id ? -1 : 1
}

const removalTests: StoreTests = {
  'the key of an earlier task with the same id matches nothing': async ({ store, clock }) => {
    const created = await put(store, 'a', { createdAt: at(10), lease: { id: 'l', ttlMs: 100 } })
    const key = keyOf(created.task)
    await store.putDocument({ key, kind: 'kind', id: 'd', value: 1 }, 0)
    await reachesNothing(store, { id: 'a', createdAt: at(9) })
    await reachesNothing(store, { id: 'a', createdAt: at(11) })
    identical('get()', await store.get('a'), storedOf(created))
    equal('documents()', await store.documents(key, 'kind'), [
      { key, kind: 'kind', id: 'd', value: 1, version: 1 },
    ])
    clock.ms += 99
    equal('acquire()', await holder(store.acquire(key, { id: 'm', ttlMs: 100 })), 'l')
  },

  'a deleted task is gone, with its events, lease and documents': async ({ store, clock }) => {
    const created = await put(store, 'a', { lease: { id: 'l', ttlMs: 100 }, owner: 'alice' })
    const kept = await put(store, 'b', { lease: { id: 'k', ttlMs: 300 } })
    const key = keyOf(created.task)
    const document = { kind: 'kind', id: 'd', value: 1 }
    await store.putDocument({ ...document, key }, 0)
    await store.putDocument({ ...document, key: keyOf(kept.task) }, 0)
    await move(store, created.task, { checkpoint: true })
    equal('delete()', await store.delete([key]), [key])
    equal('get()', await store.get('a'), undefined)
    equal('heads()', await store.heads(['a']), [])
    identical('list()', await store.list({ limit: 10 }), [storedOf(kept)])
    equal('count()', await store.count({}), 1)
    equal('count() of the owner', await store.count({ owner: 'alice' }), 0)
    equal('unended()', await store.unended(at(1), 10), [keyOf(kept.task)])
    equal('allDocuments()', (await store.allDocuments('kind', undefined, 10)).length, 1)
    await reachesNothing(store, key)
    clock.ms += 200
    equal('orphans()', await store.orphans(10), [])
    equal('delete() again', await store.delete([key]), [])
  },

  'a task that has changed is not deleted at an earlier generation': async ({ store }) => {
    const { task } = await put(store, 'a')
    const key = keyOf(task)
    const { generation } = task
    const moved = await move(store, task)
    equal('delete() before the change', await store.delete([{ ...key, expectedGeneration: generation }]), [])
    equal('heads()', await store.heads(['a']), [{ ...key, generation: moved.head.generation }])
    const other = await put(store, 'b')
    const both = [
      { ...key, expectedGeneration: moved.head.generation },
      { ...keyOf(other.task), expectedGeneration: 9 },
    ]
    equal('delete()', (await store.delete(both)).map(keyOf), [key])
    equal('count()', await store.count({}), 1)
  },

  'the id of a deleted task can be used again': async ({ store, clock }) => {
    const old = await put(store, 'a', { lease: { id: 'l', ttlMs: 100 } })
    const oldKey = keyOf(old.task)
    await store.putDocument({ key: oldKey, kind: 'kind', id: 'd', value: 1 }, 0)
    const change = await move(store, old.task, { checkpoint: true })
    await store.delete([oldKey])
    const created = await put(store, 'a', { createdAt: at(5), owner: 'bob' })
    const key = keyOf(created.task)
    identical('get()', await store.get('a'), storedOf(created))
    identical('events()', await store.events(key, 0, 10), created.events)
    equal('documents()', await store.documents(key, 'kind'), [])
    equal('commit() of before, again', await store.commit(change), 'missing')
    await reachesNothing(store, oldKey)
    clock.ms += 100
    equal('orphans()', await store.orphans(10), [])
    equal('acquire()', await holder(store.acquire(key, { id: 'l', ttlMs: 1 })), 'l')
    equal('count() of the new owner', await store.count({ owner: 'bob' }), 1)
    equal('count() without an owner', await store.count({ owner: null }), 0)
  },

  'tasks are deleted together, and the existing ones are returned once each': async ({ store }) => {
    const ids = Array.from({ length: 300 }, (_, n) => `task ${1_000 + n}`)
    for (const id of ids) await put(store, id)
    const keys = ids.map((id) => ({ id, createdAt: at(0) }))
    const [first, second, third] = keys
    if (first === undefined || second === undefined || third === undefined) return
    const others = [
      { ...third, createdAt: at(1) },
      { id: 'none', createdAt: at(0) },
    ]
    const removed = await store.delete([first, ...others, second, first])
    equal('delete()', removed.map(keyOf).sort(byId), [first, second])
    equal('count()', await store.count({}), 298)
    const rest = await store.delete(keys)
    equal('delete() of all', [...rest].sort(byId), keys.slice(2))
    equal('count() then', await store.count({}), 0)
  },

  'of several concurrent deletions of a task, one returns it': async ({ store, another }) => {
    const stores = [store, await another()]
    const key = keyOf((await put(store, 'a')).task)
    const removed = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (stores[n % 2] ?? store).delete([key])),
    )
    equal('delete()', removed.flat(), [key])
  },

  'a task that is deleted during writes does not come back': async ({ store, another }) => {
    const other = await another()
    for (let round = 0; round < 20; round += 1) {
      const { task } = await put(store, 'a', { createdAt: at(round) })
      const key = keyOf(task)
      const [result, removed, isPut] = await Promise.all([
        store.commit(change(task)),
        other.delete([key]),
        store.putDocument({ key, kind: 'kind', id: 'd', value: round }, 0),
        store.acquire(key, { id: 'l', ttlMs: 1 }),
      ])
      equal('delete()', removed, [key])
      equal('whether the rest was answered', [typeof result, typeof isPut], ['string', 'boolean'])
      equal('get()', await store.get('a'), undefined)
      equal('events()', await store.events(key, 0, 10), [])
      equal('allDocuments()', await store.allDocuments('kind', undefined, 10), [])
    }
  },
}

export const readingTests: StoreTests = { ...liveTests, ...removalTests }
