/**
 * Conformance tests of renewing, releasing, losing and recovering leases.
 *
 * @module
 */
import { equal, rejects } from './checks.js'
import { at, change, holder, move, put, UNWRITABLE } from './samples.js'
import { keyOf, type TaskKey } from '../../core/task.js'
import type { LeaseCounts, TaskStore } from '../../durable/task-store.js'
import type { StoreTests } from './kit.js'
import { acquireTests } from './acquire.js'

/** In ms. */
const TTL = 1_000

const renewalTests: StoreTests = {
  'leases are renewed together, without those that are lost': async ({ store, clock }) => {
    const keys = []
    for (const id of ['a', 'b', 'c', 'd']) keys.push(keyOf((await put(store, id)).task))
    for (const key of keys.slice(0, 3)) await store.acquire(key, { id: `lease of ${key.id}`, ttlMs: TTL })
    const [a, b] = keys
    if (a === undefined || b === undefined) return
    await store.release(b, 'lease of b')
    await store.acquire(b, { id: 'another', ttlMs: TTL })
    clock.ms += TTL - 1
    const held = keys.map((key) => ({ key, id: `lease of ${key.id}` }))
    const left = await store.renew([...held, { key: { id: 'e', createdAt: at(0) }, id: 'l' }], TTL * 2)
    equal('renew()', [...left].sort(), ['lease of a', 'lease of c'])
    clock.ms += 1
    equal('orphans() at the old end', await store.orphans(10), [{ key: b, leaseId: 'another' }])
    clock.ms += TTL * 2 - 2
    equal('how many orphans() before the new end', (await store.orphans(10)).length, 1)
    clock.ms += 1
    equal('how many orphans() at the new end', (await store.orphans(10)).length, 3)
    equal('renew() of none', await store.renew([], TTL), [])
  },

  'a renewal counts from now, and may shorten the lease': async ({ store, clock }) => {
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })).task)
    equal('renew()', await store.renew([{ key, id: 'l' }], 10), ['l'])
    clock.ms += 10
    equal('orphans()', await store.orphans(10), [{ key, leaseId: 'l' }])
  },

  'a renewal revives an expired lease that no other lease has replaced': async ({ store, clock }) => {
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: TTL, note: [1] } })).task)
    clock.ms += TTL * 5
    equal('renew()', await store.renew([{ key, id: 'l' }], TTL), ['l'])
    equal('orphans()', await store.orphans(10), [])
    equal('acquire() by another', await holder(store.acquire(key, { id: 'm', ttlMs: TTL })), 'l')
    clock.ms += TTL
    equal('orphans() at its end', await store.orphans(10), [{ key, leaseId: 'l', note: [1] }])
  },

  'leases last longer when the clock steps back, and are renewed by the new time': async ({
    store,
    clock,
  }) => {
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })).task)
    clock.ms -= 60_000
    equal('acquire() by another', await holder(store.acquire(key, { id: 'm', ttlMs: TTL })), 'l')
    equal('renew()', await store.renew([{ key, id: 'l' }], TTL), ['l'])
    clock.ms += TTL
    equal('orphans()', await store.orphans(10), [{ key, leaseId: 'l' }])
    equal('acquire() when it has run out', await holder(store.acquire(key, { id: 'm', ttlMs: TTL })), 'm')
  },

  'of a concurrent renewal and acquisition of an expired lease, one fails': async (kit) => {
    const { store, another, clock } = kit
    const other = await another()
    for (let round = 0; round < 20; round += 1) {
      const lease = { id: `old ${round}`, ttlMs: TTL }
      const key = keyOf((await put(store, `task ${round}`, { lease })).task)
      clock.ms += TTL
      const [renewed, left] = await Promise.all([
        store.renew([{ key, id: lease.id }], TTL),
        holder(other.acquire(key, { id: `new ${round}`, ttlMs: TTL })),
      ])
      equal(
        `renew() ${round}, of a lease that is ${left ?? 'none'} now`,
        renewed,
        left === lease.id ? [left] : [],
      )
    }
  },

  'five hundred leases are renewed at once': async ({ store, clock }) => {
    const keys = Array.from({ length: 500 }, (_, n) => ({ id: `task ${n}`, createdAt: at(0) }))
    for (const { id } of keys) await put(store, id, { lease: { id: `lease of ${id}`, ttlMs: TTL } })
    clock.ms += TTL
    const renewed = await store.renew(
      keys.map((key) => ({ key, id: `lease of ${key.id}` })),
      TTL,
    )
    equal('how many renew() resolved to', new Set(renewed).size, 500)
    equal('orphans()', await store.orphans(10), [])
  },
}

const releaseTests: StoreTests = {
  'a released lease can be acquired': async ({ store, clock }) => {
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })).task)
    equal('release()', await store.release(key, 'l'), true)
    clock.ms += TTL
    equal('orphans()', await store.orphans(10), [])
    equal('renew()', await store.renew([{ key, id: 'l' }], TTL), [])
    equal('acquire()', await holder(store.acquire(key, { id: 'm', ttlMs: TTL })), 'm')
  },

  'only the holder of a lease releases it': async ({ store }) => {
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })).task)
    equal('release() of another', await store.release(key, 'm'), true)
    equal('release() of another, at a generation', await store.release(key, 'm', 7), true)
    equal('release() of a task that is not there', await store.release({ ...key, id: 'b' }, 'l'), true)
    equal('acquire()', await holder(store.acquire(key, { id: 'm', ttlMs: TTL })), 'l')
  },

  'a release that expects another generation keeps the lease': async ({ store }) => {
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })
    const key = keyOf(task)
    await move(store, task)
    equal('release() at generation 1', await store.release(key, 'l', 1), false)
    equal('release() at generation 3', await store.release(key, 'l', 3), false)
    equal('renew()', await store.renew([{ key, id: 'l' }], TTL), ['l'])
    equal('release() at generation 2', await store.release(key, 'l', 2), true)
    equal('release() again', await store.release(key, 'l', 2), true)
    equal('acquire()', await holder(store.acquire(key, { id: 'm', ttlMs: TTL })), 'm')
  },

  'a release at a generation and a commit never miss each other': async ({ store, another }) => {
    const other = await another()
    for (let round = 0; round < 20; round += 1) {
      const { task } = await put(store, `task ${round}`, { lease: { id: 'l', ttlMs: TTL } })
      const message = change(task, { leaseId: 'l' })
      const [released, sent] = await Promise.all([store.release(keyOf(task), 'l', 1), other.commit(message)])
      // Either the release fails because of the message, or the commit of the message fails because the lease is
      // released.
      const expected = released ? [true, 'lease-lost'] : [false, 'committed']
      equal(`release() and commit() ${round}`, [released, sent], expected)
    }
  },

  'another lease can take the place of a released one, for years': async ({ store, clock }) => {
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL, note: ['old'] } })
    const key = keyOf(task)
    await move(store, task)
    const YEARS = 10 * 366 * 86_400_000
    const next = { id: 'n', ttlMs: YEARS, note: ['new'] }
    equal('release() of another', await store.release(key, 'm', 2, next), true)
    equal('release() at generation 1', await store.release(key, 'l', 1, next), false)
    equal('renew() of the old one', await store.renew([{ key, id: 'l' }], TTL), ['l'])
    equal('release() at generation 2', await store.release(key, 'l', 2, next), true)
    equal('release() again', await store.release(key, 'l', 2, next), true)
    equal('renew() of the old one, now', await store.renew([{ key, id: 'l' }], TTL), [])
    clock.ms += YEARS - 1
    equal('acquire() before its end', await holder(store.acquire(key, { id: 'm', ttlMs: TTL })), 'n')
    equal('orphans() before its end', await store.orphans(10), [])
    clock.ms += 1
    equal('orphans() at its end', await store.orphans(10), [{ key, leaseId: 'n', note: ['new'] }])
    const bare = { id: 'o', ttlMs: TTL }
    equal('release() for one without a note', await store.release(key, 'n', undefined, bare), true)
    const noted = { ...bare, note: ['noted'] }
    equal('release() for the same one', await store.release(key, 'o', undefined, noted), true)
    equal('renew() of the same one', await store.renew([{ key, id: 'o' }], TTL), ['o'])
    clock.ms += TTL
    equal('orphans() with a new note', await store.orphans(10), [{ key, leaseId: 'o', note: ['noted'] }])
    equal('release() of an expired one for itself', await store.release(key, 'o', undefined, bare), true)
    equal('orphans() after it', await store.orphans(10), [])
    clock.ms += TTL
    equal('orphans() without a note', await store.orphans(10), [{ key, leaseId: 'o' }])
  },

  'an expired lease can be released': async ({ store, clock }) => {
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })).task)
    clock.ms += TTL
    equal('release()', await store.release(key, 'l', 1), true)
    equal('orphans()', await store.orphans(10), [])
  },
}

const fenceTests: StoreTests = {
  'the holder of a lease commits under it and keeps it': async ({ store }) => {
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })
    await move(store, task, { leaseId: 'l' })
    equal('acquire() by another', await holder(store.acquire(keyOf(task), { id: 'm', ttlMs: TTL })), 'l')
  },

  'a commit under a lease that the task does not have is refused and changes nothing': async (kit) => {
    const { store, clock } = kit
    const { task, events } = await put(store, 'a')
    const key = keyOf(task)
    const traits = { leaseId: 'l', state: 'completed', checkpoint: true } as const
    equal('commit() without any lease', await store.commit(change(task, traits)), 'lease-lost')
    await store.acquire(key, { id: 'l', ttlMs: TTL })
    clock.ms += TTL
    await store.acquire(key, { id: 'm', ttlMs: TTL })
    equal('commit() after it was taken', await store.commit(change(task, traits)), 'lease-lost')
    equal('get()', await store.get('a'), { checkpoint: task, events: [] })
    equal('events()', await store.events(key, 0, 10), events)
    equal('count()', await store.count({ state: 'completed' }), 0)
    equal('acquire()', await holder(store.acquire(key, { id: 'n', ttlMs: TTL })), 'm')
    equal('commit() under the other', await store.commit(change(task, { leaseId: 'm' })), 'committed')
  },

  'a commit at a wrong generation and under a wrong lease changes nothing': async ({ store }) => {
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })
    await move(store, task)
    const result = await store.commit(change(task, { leaseId: 'm', state: 'completed' }))
    equal('whether commit() is refused', result === 'conflict' || result === 'lease-lost', true)
    equal('heads()', await store.heads(['a']), [{ ...keyOf(task), generation: 2 }])
    equal('acquire()', await holder(store.acquire(keyOf(task), { id: 'm', ttlMs: TTL })), 'l')
  },

  'an expired lease that no other lease has replaced allows commits': async ({ store, clock }) => {
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })
    clock.ms += TTL * 5
    const second = await move(store, task, { leaseId: 'l' })
    equal('orphans()', await store.orphans(10), [{ key: second.key, leaseId: 'l' }])
    await move(store, second.task, { leaseId: 'l', state: 'completed' })
  },

  'a commit that names no lease succeeds while another caller holds one': async ({ store }) => {
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })
    await move(store, task)
    equal('acquire() by another', await holder(store.acquire(keyOf(task), { id: 'm', ttlMs: TTL })), 'l')
  },

  'a commit makes the lease expire that it names, and no other one': async ({ store, clock }) => {
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL, note: 'left' } })
    const key = keyOf(task)
    const second = await move(store, task, { expires: 'm' })
    equal('orphans() where another lease was named', await store.orphans(10), [])
    const parked = { id: 'parked', ttlMs: 100 * TTL, note: 'left' }
    equal('release()', await store.release(key, 'l', 2, parked), true)
    const third = await move(store, second.task, { expires: 'parked' })
    clock.ms += 1
    equal('orphans()', await store.orphans(10), [{ key, leaseId: 'parked', note: 'left' }])
    const grant = await store.acquire(key, { id: 'n', ttlMs: TTL })
    equal('acquire()', grant, { leaseId: 'n', generation: 3, replaced: { note: 'left' } })
    equal('commit() again', await store.commit(third), 'committed')
    await move(store, third.task, { expires: 'n', state: 'completed' })
    equal('orphans() when the task has ended', await store.orphans(10), [])
  },

  'the end of a task drops its lease': async ({ store, clock }) => {
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })
    const key = keyOf(task)
    const second = await move(store, task, { state: 'canceled' })
    equal('renew()', await store.renew([{ key, id: 'l' }], TTL), [])
    equal('acquire()', await holder(store.acquire(key, { id: 'l', ttlMs: TTL })), undefined)
    equal('release()', await store.release(key, 'l', 1), true)
    equal('commit() under it', await store.commit(change(second.task, { leaseId: 'l' })), 'lease-lost')
    clock.ms += TTL
    equal('orphans()', await store.orphans(10), [])
  },

  'a repeated commit under a lease returns committed, even after the lease has changed': async (kit) => {
    const { store, clock } = kit
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })
    const second = await move(store, task, { leaseId: 'l' })
    clock.ms += TTL
    await store.acquire(keyOf(task), { id: 'm', ttlMs: TTL })
    equal('commit() when it was taken', await store.commit(second), 'committed')
    const third = await move(store, second.task, { leaseId: 'm', state: 'completed' })
    equal('commit() when the task has ended', await store.commit(third), 'committed')
  },
}

const orphanTests: StoreTests = {
  'orphans are ordered by their expiry and limited': async ({ store, clock }) => {
    const ends = { b: 30, d: 10, a: 40, c: 20, e: 500 }
    for (const [id, ttlMs] of Object.entries(ends)) {
      await put(store, id, { lease: { id: `lease of ${id}`, ttlMs, note: { id } } })
    }
    clock.ms += 100
    const ids = async (limit: number): Promise<string[]> =>
      (await store.orphans(limit)).map(({ key }) => key.id)
    equal('ids of orphans(10)', await ids(10), ['d', 'c', 'b', 'a'])
    equal('ids of orphans(2)', await ids(2), ['d', 'c'])
    const [first] = await store.orphans(1)
    equal('orphans(1)', first, {
      ...{ key: { id: 'd', createdAt: at(0) }, leaseId: 'lease of d', note: { id: 'd' } },
    })
    await store.acquire({ id: 'd', createdAt: at(0) }, { id: 'recovery', ttlMs: 20 })
    equal('ids of orphans(10) without the one that was taken', await ids(10), ['c', 'b', 'a'])
    clock.ms += 20
    equal('ids of orphans(10) when it ran out again', await ids(10), ['c', 'b', 'a', 'd'])
  },

  'a lease may have expired when it is made or renewed: a head start in the order of orphans': async (
    kit,
  ) => {
    const { store, clock } = kit
    const ids = async (): Promise<string[]> => (await store.orphans(10)).map(({ key }) => key.id)
    const park = async (id: string, ttlMs: number): Promise<TaskKey> => {
      const key = keyOf((await put(store, id, { lease: { id: 'l', ttlMs: TTL } })).task)
      await store.release(key, 'l', undefined, { id: 'parked', ttlMs, note: id })
      return key
    }
    const a = await park('a', 0)
    await park('b', -50)
    await park('c', -2_592_000_000)
    await park('d', 10)
    equal('ids of orphans(10)', await ids(), ['c', 'b', 'a'])
    clock.ms += 40
    await park('e', 0)
    await park('f', -60)
    equal('ids of orphans(10) later', await ids(), ['c', 'b', 'f', 'a', 'd', 'e'])
    await store.renew([{ key: a, id: 'parked' }], -200)
    equal('ids of orphans(10) after a renewal', await ids(), ['c', 'a', 'b', 'f', 'd', 'e'])
    equal('acquire()', await store.acquire(a, { id: 'taken', ttlMs: TTL }), {
      ...{ leaseId: 'taken', generation: 1, replaced: { note: 'a' } },
    })
    equal('ids of orphans(10) when it was taken', await ids(), ['c', 'b', 'f', 'd', 'e'])
  },

  'an orphan has the note of the last acquisition': async ({ store, clock }) => {
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: TTL, note: 'first' } })).task)
    for (const note of [null, 0, '', undefined, { deep: [{ 'a\u0000b': '\ud800' }] }]) {
      clock.ms += TTL
      const id = `lease with ${JSON.stringify(note)}`
      await store.acquire(key, { id, ttlMs: TTL, note })
      clock.ms += TTL
      equal('orphans()', await store.orphans(10), [{ key, leaseId: id, note }])
    }
  },

  'only the holder replaces the note of a lease, by acquiring it again': async (kit) => {
    const { store, another, clock } = kit
    const other = await another()
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: TTL, note: 'first' } })).task)
    for (const note of [{ turn: 2 }, undefined, null, 'last']) {
      const what = JSON.stringify(note)
      equal(`acquire() with ${what}`, await holder(other.acquire(key, { id: 'l', ttlMs: TTL, note })), 'l')
      equal(
        'acquire() by another',
        await holder(store.acquire(key, { id: 'm', ttlMs: TTL, note: 'other' })),
        'l',
      )
      equal('renew()', await store.renew([{ key, id: 'l' }], TTL), ['l'])
      clock.ms += TTL
      equal(`orphans() after ${what}`, await store.orphans(10), [{ key, leaseId: 'l', note }])
    }
  },

  'a note that cannot be written changes nothing': async ({ store, clock }) => {
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: TTL, note: 'first' } })).task)
    await rejects('acquire()', store.acquire(key, { id: 'l', ttlMs: TTL * 2, note: UNWRITABLE }))
    clock.ms += TTL
    equal('orphans()', await store.orphans(10), [{ key, leaseId: 'l', note: 'first' }])
  },

  'of two processes that recover the same orphan, one succeeds': async ({ store, another, clock }) => {
    const other = await another()
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })
    clock.ms += TTL
    const [seen, seenToo] = [await store.orphans(10), await other.orphans(10)]
    equal('what both see', seen, seenToo)
    const answers = [
      await holder(store.acquire(keyOf(task), { id: 'm', ttlMs: TTL })),
      await holder(other.acquire(keyOf(task), { id: 'n', ttlMs: TTL })),
    ]
    equal('what both are told', answers, ['m', 'm'])
  },
}

export const leaseTests: StoreTests = {
  ...acquireTests,
  ...renewalTests,
  ...releaseTests,
  ...fenceTests,
  ...orphanTests,
}

function leaseCounts(store: TaskStore, limit = 10): Promise<LeaseCounts> {
  return store.leaseCounts?.(limit) ?? Promise.reject(new Error('The store has no leaseCounts()'))
}

/** Tests of `leaseCounts`. */
export const leaseCountTests: StoreTests = {
  'leases are counted: those that have expired, and those that are held': async ({ store, clock }) => {
    const counts = (limit = 10): Promise<LeaseCounts> => leaseCounts(store, limit)
    equal('leaseCounts() of no leases', await counts(), { expired: 0, oldestMs: 0, held: 0 })
    const { task } = await put(store, 'held', { lease: { id: 'h', ttlMs: 1_000 } })
    await put(store, 'free')
    for (const [id, ttlMs] of Object.entries({ a: 10, b: 30, c: 50 }))
      await put(store, id, { lease: { id: `lease of ${id}`, ttlMs } })
    const asleep = keyOf((await put(store, 'asleep', { lease: { id: 's', ttlMs: 10 } })).task)
    await store.release(asleep, 's', undefined, { id: 'parked', ttlMs: 500 })
    await put(store, 'delayed', { lease: { id: 'delayed', ttlMs: 1_000 } })
    equal('leaseCounts() before any expiry', await counts(), { expired: 0, oldestMs: 0, held: 4 })
    clock.ms += 30
    equal('leaseCounts() after two', await counts(), { expired: 2, oldestMs: 20, held: 2 })
    equal('leaseCounts(1)', await counts(1), { expired: 1, oldestMs: 20, held: 1 })
    clock.ms += 470
    equal('leaseCounts() with a parked one', await counts(), { expired: 4, oldestMs: 490, held: 1 })
    await store.acquire({ id: 'a', createdAt: at(0) }, { id: 'recovery', ttlMs: 1_000 })
    equal('leaseCounts() when the first was taken', await counts(), { expired: 3, oldestMs: 470, held: 2 })
    await store.commit(change(task, { state: 'completed', leaseId: 'h' }))
    equal('leaseCounts() when a task has ended', await counts(), { expired: 3, oldestMs: 470, held: 1 })
  },

  'a lease that a commit has expired counts, without an age': async ({ store, clock }) => {
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL } })
    await put(store, 'b', { lease: { id: 'm', ttlMs: TTL } })
    await store.commit({ ...change(task), expires: 'l' })
    equal('leaseCounts()', await leaseCounts(store), { expired: 1, oldestMs: 0, held: 1 })
    clock.ms += TTL + 5
    equal('leaseCounts() later', await leaseCounts(store), { expired: 2, oldestMs: 5, held: 0 })
  },
}
