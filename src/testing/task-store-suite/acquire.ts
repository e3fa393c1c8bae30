/**
 * Conformance tests of acquiring leases.
 *
 * @module
 */
import { keyOf } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import type { Grant } from '../../durable/task-store.js'
import { equal, rejects } from './checks.js'
import { at, change, holder, move, put, UNWRITABLE } from './samples.js'
import type { StoreTests } from './kit.js'

/** In ms. */
const TTL = 1_000

const replacingTests: StoreTests = {
  'acquiring in place of an expired lease returns its note': async ({ store, another, clock }) => {
    const other = await another()
    let note: JsonValue | undefined = { run: 1 }
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: TTL, note } })).task)
    for (const next of [null, 0, '', undefined, { deep: [{ 'a\u0000b': '\ud800' }] }, 'last']) {
      clock.ms += TTL
      const id = `lease with ${JSON.stringify(next)}`
      const grant = await other.acquire(key, { id, ttlMs: TTL, note: next })
      equal(`acquire() of the ${id}`, grant, { leaseId: id, generation: 1, replaced: { note } })
      note = next
    }
  },

  'acquiring a free or released lease replaces none': async (kit) => {
    const { store, clock } = kit
    const key = keyOf((await put(store, 'a')).task)
    const first = await store.acquire(key, { id: 'l', ttlMs: TTL, note: 'first' })
    equal('acquire()', first, { leaseId: 'l', generation: 1 })
    await store.release(key, 'l')
    const second = await store.acquire(key, { id: 'm', ttlMs: TTL, note: 'second' })
    equal('acquire() after release()', second, { leaseId: 'm', generation: 1 })
    clock.ms += TTL
    await store.release(key, 'm', 1)
    const third = await store.acquire(key, { id: 'n', ttlMs: TTL })
    equal('acquire() after release() of one that had run out', third, { leaseId: 'n', generation: 1 })
  },

  'acquiring one’s own expired lease again replaces none': async ({ store, clock }) => {
    const lease = { id: 'l', ttlMs: TTL, note: 'note' }
    const key = keyOf((await put(store, 'a', { lease })).task)
    equal('acquire()', await store.acquire(key, lease), { leaseId: 'l', generation: 1 })
    clock.ms += TTL
    const again = await store.acquire(key, lease)
    equal('acquire() when it has run out', again, { leaseId: 'l', generation: 1 })
  },

  'a refused acquisition replaces no lease': async ({ store }) => {
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: TTL, note: 'note' } })).task)
    const grant = await store.acquire(key, { id: 'm', ttlMs: TTL, note: 'other' })
    equal('acquire() by another', grant, { leaseId: 'l', generation: 1 })
  },

  'of two concurrent acquisitions of an expired lease, one replaces it': async ({
    store,
    another,
    clock,
  }) => {
    const other = await another()
    for (let round = 0; round < 20; round += 1) {
      const { task } = await put(store, `task ${round}`, { lease: { id: 'old', ttlMs: TTL, note: 'old' } })
      clock.ms += TTL
      const grants = await Promise.all([
        store.acquire(keyOf(task), { id: 'm', ttlMs: TTL, note: 'other' }),
        other.acquire(keyOf(task), { id: 'n', ttlMs: TTL, note: 'other' }),
      ])
      const held = { leaseId: grants[0]?.leaseId, generation: 1 }
      const granted = { ...held, replaced: { note: 'old' } }
      const expected = held.leaseId === 'm' ? [granted, held] : [held, granted]
      equal(`acquire() and acquire() ${round}`, grants, expected)
    }
  },

  'of fifty leases that replace each other, each replaced one is reported once': async ({
    store,
    another,
  }) => {
    const stores = [store, await another()]
    const key = keyOf((await put(store, 'a', { lease: { id: 'first', ttlMs: 0, note: 'first' } })).task)
    const ids = Array.from({ length: 50 }, (_, n) => `lease-${n}`)
    const grants = await Promise.all(
      ids.map((id, n) => (stores[n % 2] ?? store).acquire(key, { id, ttlMs: 0, note: id })),
    )
    const notes = grants.map((grant) => grant?.replaced?.note)
    const left = (await store.orphans(10)).map(({ note }) => note)
    equal('the notes told, and the one left', [...notes, ...left].sort(), ['first', ...ids].sort())
  },
}

export const acquireTests: StoreTests = {
  ...replacingTests,

  'a free lease can be acquired, and is held afterwards': async ({ store, another }) => {
    const { task } = await put(store, 'a')
    const key = keyOf(task)
    equal('acquire()', await holder(store.acquire(key, { id: 'l', ttlMs: TTL })), 'l')
    const other = await another()
    equal('acquire() by another', await holder(other.acquire(key, { id: 'm', ttlMs: TTL })), 'l')
    equal('acquire() by a third', await holder(store.acquire(key, { id: 'n', ttlMs: TTL })), 'l')
    equal('orphans()', await store.orphans(10), [])
  },

  'a task can be created with its lease': async ({ store, clock }) => {
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: TTL, note: { run: 1 } } })
    const key = keyOf(task)
    equal('acquire() by another', await holder(store.acquire(key, { id: 'm', ttlMs: TTL })), 'l')
    clock.ms += TTL
    equal('orphans()', await store.orphans(10), [{ key, leaseId: 'l', note: { run: 1 } }])
  },

  'a refused creation acquires no lease': async ({ store }) => {
    const { task } = await put(store, 'a')
    const lease = { id: 'l', ttlMs: TTL }
    await rejects('put() of an id that is taken', put(store, 'a', { lease }))
    equal('acquire()', await holder(store.acquire(keyOf(task), { id: 'm', ttlMs: TTL })), 'm')
  },

  'of fifty concurrent acquisitions, one succeeds, and all return the lease of the winner': async (kit) => {
    const { store, another } = kit
    const stores = [store, await another()]
    const { task } = await put(store, 'a')
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        holder((stores[n % 2] ?? store).acquire(keyOf(task), { id: `lease-${n}`, ttlMs: TTL })),
      ),
    )
    equal('how many different answers', new Set(answers).size, 1)
    const [winner = ''] = answers
    equal('renew() of the one', await store.renew([{ key: keyOf(task), id: winner }], TTL), [winner])
  },

  'a lease expires by the clock of the store': async ({ store, clock }) => {
    const key = keyOf((await put(store, 'a')).task)
    await store.acquire(key, { id: 'l', ttlMs: TTL })
    clock.ms += TTL - 1
    equal('acquire() before', await holder(store.acquire(key, { id: 'm', ttlMs: TTL })), 'l')
    equal('orphans() before', await store.orphans(10), [])
    clock.ms += 1
    equal('orphans() then', await store.orphans(10), [{ key, leaseId: 'l' }])
    equal('acquire() then', await holder(store.acquire(key, { id: 'm', ttlMs: TTL })), 'm')
    equal('orphans() when it was taken', await store.orphans(10), [])
    equal('acquire() by the first', await holder(store.acquire(key, { id: 'l', ttlMs: TTL })), 'm')
  },

  'of fifty concurrent acquisitions of an expired lease, one succeeds': async ({ store, another, clock }) => {
    const stores = [store, await another()]
    const key = keyOf((await put(store, 'a', { lease: { id: 'old', ttlMs: TTL } })).task)
    clock.ms += TTL
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        holder((stores[n % 2] ?? store).acquire(key, { id: `lease-${n}`, ttlMs: TTL })),
      ),
    )
    equal('how many different answers', new Set(answers).size, 1)
    equal('whether it is the old one', answers.includes('old'), false)
  },

  'acquiring one’s own lease renews it': async ({ store, clock }) => {
    const key = keyOf((await put(store, 'a')).task)
    const lease = { id: 'l', ttlMs: TTL, note: 'note' }
    await store.acquire(key, lease)
    clock.ms += TTL / 2
    equal('acquire() again', await holder(store.acquire(key, lease)), 'l')
    clock.ms += TTL - 1
    equal('orphans() before its new end', await store.orphans(10), [])
    clock.ms += 1
    equal('orphans() at its new end', await store.orphans(10), [{ key, leaseId: 'l', note: 'note' }])
    equal('acquire() when it has run out', await holder(store.acquire(key, lease)), 'l')
    equal('orphans() after that', await store.orphans(10), [])
  },

  'acquire returns the generation of the task, granted or not': async ({ store, another, clock }) => {
    const other = await another()
    const { task } = await put(store, 'a', { updatedAt: at(5) })
    const key = keyOf(task)
    const acquire = (id: string): Promise<Grant | undefined> => other.acquire(key, { id, ttlMs: TTL })
    equal('acquire()', await acquire('l'), { leaseId: 'l', generation: 2 })
    const third = await move(store, task, { outputs: ['one', 'two'] })
    equal('acquire() by another', await acquire('m'), { leaseId: 'l', generation: 4 })
    const fourth = await move(store, third.task, { leaseId: 'l', checkpoint: true })
    equal('acquire() again', await acquire('l'), { leaseId: 'l', generation: 5 })
    clock.ms += TTL
    await move(store, fourth.task)
    equal('acquire() when it has run out', await acquire('m'), {
      ...{ leaseId: 'm', generation: 6, replaced: { note: undefined } },
    })
  },

  'the generation is read in the same step that acquires the lease': async ({ store, another, clock }) => {
    const other = await another()
    for (let round = 0; round < 30; round += 1) {
      const { task } = await put(store, `task ${round}`, { lease: { id: 'old', ttlMs: TTL } })
      clock.ms += TTL
      const leaseId = round % 2 === 0 ? 'old' : 'new'
      const [grant, result] = await Promise.all([
        other.acquire(keyOf(task), { id: 'new', ttlMs: TTL }),
        store.commit(change(task, { leaseId })),
      ])
      // A commit under the old lease comes before the acquisition, and a commit under the new lease after it. Otherwise
      // the commit is refused.
      const generation = leaseId === 'old' && result === 'committed' ? 2 : 1
      const what = `acquire() ${round}, where commit() under the ${leaseId} lease is ${result}`
      equal(what, grant, { leaseId: 'new', generation, replaced: { note: undefined } })
    }
  },

  'a task that is missing or has ended gets no lease': async ({ store }) => {
    const { task } = await put(store, 'a', { state: 'completed' })
    const lease = { id: 'l', ttlMs: TTL }
    equal('acquire() of one that has ended', await holder(store.acquire(keyOf(task), lease)), undefined)
    equal('acquire() of none', await holder(store.acquire({ id: 'b', createdAt: at(0) }, lease)), undefined)
    equal('orphans()', await store.orphans(10), [])
  },

  'a task that is created in a final state gets no lease': async ({ store, clock }) => {
    const lease = { id: 'l', ttlMs: TTL, note: 'note' }
    const created = await put(store, 'a', { state: 'completed', lease })
    const key = keyOf(created.task)
    equal('renew()', await store.renew([{ key, id: 'l' }], TTL), [])
    equal('acquire()', await store.acquire(key, lease), undefined)
    equal('commit() under it', await store.commit(change(created.task, { leaseId: 'l' })), 'lease-lost')
    equal('create() again', await store.create(created), true)
    clock.ms += TTL
    equal('orphans()', await store.orphans(10), [])
  },

  'a lease whose note cannot be written is not acquired': async ({ store }) => {
    const key = keyOf((await put(store, 'a')).task)
    await rejects('acquire()', store.acquire(key, { id: 'l', ttlMs: TTL, note: UNWRITABLE }))
    equal('acquire() by another', await holder(store.acquire(key, { id: 'm', ttlMs: TTL })), 'm')
  },
}
