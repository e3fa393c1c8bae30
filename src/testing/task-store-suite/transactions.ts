/**
 * Conformance tests of commits in one transaction with other work.
 *
 * @module
 */
import { keyOf } from '../../core/task.js'
import type { Commit, TaskStore, Transaction, TransactionResult } from '../../durable/task-store.js'
import { equal, identical, rejects } from './checks.js'
import type { StoreCounter, StoreKit, StoreTests } from './kit.js'
import { change, move, put, UNWRITABLE } from './samples.js'

interface TransactionKit {
  readonly counter: StoreCounter
  /** How often work was called. */
  readonly calls: () => number
  /** Makes the change in one transaction with work that adds to the counter. */
  readonly transact: (change: Commit, store?: TaskStore) => Promise<TransactionResult>
}

function kitOf({ store, counter }: StoreKit): TransactionKit {
  if (counter === undefined)
    throw new Error('A store that supports transactions needs a "counter" to test them')
  let calls = 0
  const transact = (made: Commit, at: TaskStore = store): Promise<TransactionResult> =>
    begin(at, made, (client) => {
      calls += 1
      const added = counter.add(client)
      return added === undefined ? made.events : added.then(() => made.events)
    })
  return { counter, calls: () => calls, transact }
}

function begin(
  store: TaskStore,
  { key, expectedGeneration, head, commitId, leaseId }: Commit,
  work: Transaction['work'],
): Promise<TransactionResult> {
  if (store.transact === undefined)
    throw new Error('A store that supports transactions has a method "transact"')
  return store.transact({ key, expectedGeneration, head, commitId, leaseId, work })
}

export const transactionTests: StoreTests = {
  'work in a transaction and the events that it results in are stored together': async (given) => {
    const { transact, counter } = kitOf(given)
    const { store } = given
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: 1_000 } })
    const made = change(task, { outputs: ['one', 'two'], leaseId: 'l' })
    equal('transact()', await transact(made), 'committed')
    equal('the counter', await counter.read(), 1)
    identical('events()', await store.events(keyOf(task), task.generation, 10), made.events)
    equal('heads()', await store.heads(['a']), [{ ...keyOf(task), generation: made.task.generation }])
    await move(store, made.task)
  },

  'work that throws changes nothing': async (given) => {
    const { counter } = kitOf(given)
    const { store } = given
    const { task } = await put(store, 'a')
    const made = change(task)
    const error = new RangeError('No')
    const result = await begin(store, made, (client) => {
      const added = counter.add(client)
      if (added === undefined) throw error
      return added.then(() => {
        throw error
      })
    })
    equal('whether transact() returns the error', isErrorOf(result, error), true)
    equal('the counter', await counter.read(), 0)
    equal('events()', await store.events(keyOf(task), task.generation, 10), [])
    await move(store, task)
  },

  'events that cannot be written undo the work': async (given) => {
    const { transact, counter } = kitOf(given)
    const { store } = given
    const { task } = await put(store, 'a')
    const made = change(task)
    await rejects(
      'transact()',
      transact({ ...made, events: made.events.map((event) => ({ ...event, output: UNWRITABLE })) }),
    )
    equal('the counter', await counter.read(), 0)
    equal('events()', await store.events(keyOf(task), task.generation, 10), [])
  },

  'no work is done for a task that has changed, has another lease or is gone': async (given) => {
    const { transact, counter, calls } = kitOf(given)
    const { store } = given
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: 1_000 } })
    equal('transact() under another lease', await transact(change(task, { leaseId: 'm' })), 'lease-lost')
    await move(store, task)
    equal('transact() at an earlier generation', await transact(change(task, { leaseId: 'l' })), 'conflict')
    const { task: other } = await put(store, 'b')
    await store.delete([keyOf(other)])
    equal('transact() without a task', await transact(change(other)), 'missing')
    equal('calls of work', calls(), 0)
    equal('the counter', await counter.read(), 0)
  },

  'a repeated transaction does its work once': async (given) => {
    const { transact, counter, calls } = kitOf(given)
    const { store } = given
    const { task } = await put(store, 'a')
    const made = change(task)
    equal('transact()', await transact(made), 'committed')
    equal('transact() again', await transact(made), 'committed')
    await move(store, made.task)
    equal('transact() again, after a commit', await transact(made), 'committed')
    equal('calls of work', calls(), 1)
    equal('the counter', await counter.read(), 1)
  },

  'of ten concurrent transactions at one generation, one is stored': async (given) => {
    const { transact, counter } = kitOf(given)
    const { store, another } = given
    const stores = [store, await another()]
    const { task } = await put(store, 'a')
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, n) => transact(change(task, { outputs: [n] }), stores[n % 2])),
    )
    equal('results', [...results].sort(), ['committed', ...Array.from({ length: 9 }, () => 'conflict')])
    equal('the counter', await counter.read(), 1)
    equal('the number of events', (await store.events(keyOf(task), task.generation, 20)).length, 1)
  },
}

function isErrorOf(result: TransactionResult, error: unknown): boolean {
  return typeof result === 'object' && result.error === error
}
