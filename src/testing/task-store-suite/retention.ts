/**
 * Conformance tests across clients, restarts and schema versions, and of hints.
 *
 * @module
 */
import type { Creation, Hint, StoreHints, TaskStore } from '../../durable/task-store.js'
import { equal, identical } from './checks.js'
import { at, creation, holder, HOSTILE_NAMES, move, put, storedOf } from './samples.js'
import { keyOf } from '../../core/task.js'
import type { StoreTests } from './kit.js'

export const reopenTests: StoreTests = {
  'everything stored can be read by a client that opens later': async ({ store, another, clock }) => {
    const lease = { id: 'l', ttlMs: 1_000, note: { run: 1 } }
    const a = await put(store, 'a', { owner: 'alice', lease })
    const b = await put(store, 'b', { createdAt: at(5), state: 'completed' })
    const second = await move(store, a.task, { checkpoint: true, updatedAt: at(10) })
    const third = await move(store, second.task, { updatedAt: at(20) })
    const document = { key: second.key, kind: 'kind', id: 'd', value: 'value' }
    await store.putDocument(document, 0)
    const gone = await put(store, 'gone')
    await store.delete([keyOf(gone.task)])

    const later = await another()
    identical('get()', await later.get('a'), { checkpoint: second.task, events: third.events })
    equal('get() of the one that was deleted', await later.get('gone'), undefined)
    const log = [a, second, third].flatMap(({ events }) => events)
    identical('events()', await later.events(second.key, 0, 10), log)
    const tasks = [{ checkpoint: second.task, events: third.events }, storedOf(b)]
    identical('list()', await later.list({ limit: 10 }), tasks)
    identical('list() of the owner', await later.list({ owner: 'alice', limit: 10 }), tasks.slice(0, 1))
    equal('count()', await later.count({ state: 'completed' }), 1)
    equal('unended()', await later.unended(at(1), 10), [second.key])
    const ended = { state: 'completed', updatedBefore: at(6), limit: 10 }
    equal('ended()', await later.ended(ended), [keyOf(b.task)])
    equal('documents()', await later.documents(second.key, 'kind'), [{ ...document, version: 1 }])
    equal('acquire()', await holder(later.acquire(second.key, { id: 'm', ttlMs: 1_000 })), 'l')
    equal('create() again', await later.create(a), true)
    equal('commit() again', await later.commit(third), 'committed')
    clock.ms += 1_000
    equal('orphans()', await later.orphans(10), [{ key: second.key, leaseId: 'l', note: { run: 1 } }])
  },

  'clients that alternate see each other’s changes': async ({ store, another }) => {
    const clients = [store, await another(), await another()]
    const created = await put(store, 'a')
    const changes = []
    let { task } = created
    for (let turn = 0; turn < 30; turn += 1) {
      const client = clients[turn % 3] ?? store
      const made = await move(client, task, { checkpoint: turn === 10 })
      task = made.task
      if (turn > 10) changes.push(made)
      for (const each of clients) {
        equal('heads()', await each.heads(['a']), [{ ...keyOf(task), generation: turn + 2 }])
      }
    }
    const events = changes.flatMap((made) => made.events)
    for (const each of clients) identical('events of get()', (await each.get('a'))?.events, events)
  },
}

/** Tasks that an earlier schema stores, and the tests to run after the migration. */
export function schemaTest(name: string): { tasks: readonly Creation[]; tests: StoreTests } {
  const tasks = [
    creation('a', { createdAt: at(30), owner: 'alice', lease: { id: 'l', ttlMs: 1_000, note: [1] } }),
    creation('b', { createdAt: at(10), updatedAt: at(20), skill: 'sum', contextId: 'other' }),
    creation('c\u0000😀', { createdAt: at(5), state: 'completed', owner: '\u0000', input: '\ud800' }),
  ]
  const [a, b] = tasks
  const tests: StoreTests = {
    [`tasks that ${name} stored can be read and changed`]: async ({ store, clock }) => {
      identical(
        'list()',
        await store.list({ limit: 10 }),
        tasks.map((each) => storedOf(each)),
      )
      for (const each of tasks) {
        identical('events()', await store.events(keyOf(each.task), 0, 10), each.events)
        equal('create() again', await store.create(each), true)
      }
      equal('count() of an owner', await store.count({ owner: '\u0000' }), 1)
      equal('count() of a skill', await store.count({ skill: 'sum', contextId: 'other', owner: null }), 1)
      if (a === undefined || b === undefined) return
      const second = await move(store, a.task, { leaseId: 'l', updatedAt: at(40) })
      identical('get()', await store.get('a'), storedOf(a, second))
      await move(store, b.task, { state: 'completed', checkpoint: true })
      equal('count() of those that ended', await store.count({ state: 'completed' }), 2)
      clock.ms += 1_000
      equal('orphans()', await store.orphans(10), [{ key: keyOf(a.task), leaseId: 'l', note: [1] }])
      const removed = await store.delete(tasks.map(({ task }) => keyOf(task)))
      equal('how many delete() removed', removed.length, 3)
    },
  }
  return { tasks, tests }
}

function hintsOf(store: TaskStore): StoreHints {
  if (store.hints !== undefined) return store.hints
  throw new Error('store.hints: expected to be there, as `supports` says, but got undefined')
}

/** Listens for hints and records them. */
async function listener(store: TaskStore): Promise<{
  /** The latest generation by task id. */
  readonly received: ReadonlyMap<string, number>
  /** Resolves when all of these hints were received, or when a gap was reported. */
  readonly receives: (hints: readonly Hint[]) => Promise<void>
  readonly stop: () => Promise<void>
}> {
  const received = new Map<string, number>()
  let hasGap = false
  let check = (): void => {}
  const stop = await hintsOf(store).listen(
    ({ taskId, generation }) => {
      received.set(taskId, Math.max(generation, received.get(taskId) ?? 0))
      check()
    },
    () => {
      hasGap = true
      check()
    },
  )
  const receives = (hints: readonly Hint[]): Promise<void> =>
    new Promise((resolve) => {
      check = () => {
        const isReceived = ({ taskId, generation }: Hint): boolean =>
          (received.get(taskId) ?? 0) >= generation
        if (hasGap || hints.every(isReceived)) resolve()
      }
      check()
    })
  return { received, receives, stop }
}

function hint(taskId: string, generation = 1): Hint {
  return { taskId, generation }
}

export const hintTests: StoreTests = {
  'a hint reaches listeners of the same client and of another': async ({ store, another }) => {
    const other = await another()
    const [here, there] = [await listener(store), await listener(other)]
    const both = [hint('a'), hint('b')]
    await hintsOf(store).publish(both)
    await Promise.all([here.receives(both), there.receives(both)])
    await hintsOf(other).publish([hint('c')])
    await Promise.all([here.receives([hint('c')]), there.receives([hint('c')])])
    await Promise.all([here.stop(), there.stop()])
  },

  'a hint contains the generation of the task': async ({ store, another }) => {
    const there = await listener(await another())
    const hints = [1, 2, 1_000, 2 ** 31, 2 ** 53 - 1].map((generation) =>
      hint(`at ${generation}`, generation),
    )
    await hintsOf(store).publish(hints)
    await there.receives(hints)
    for (const { taskId, generation } of hints) {
      equal('what was heard', there.received.get(taskId) ?? generation, generation)
    }
    await hintsOf(store).publish([hint('again', 3)])
    await there.receives([hint('again', 3)])
    await hintsOf(store).publish([hint('again', 4), hint('again', 5)])
    await there.receives([hint('again', 5)])
    await there.stop()
  },

  'hints carry ids of any characters': async ({ store, another }) => {
    const there = await listener(await another())
    const hints = HOSTILE_NAMES.map((id, n) => hint(id, n + 1))
    await hintsOf(store).publish(hints)
    await there.receives(hints)
    const received = [...there.received].map(([id, generation]) => hint(id, generation))
    equal(
      'what was heard but not said',
      received.filter(({ taskId, generation }) => HOSTILE_NAMES[generation - 1] !== taskId),
      [],
    )
    await there.stop()
  },

  'five thousand hints can be published at once': async ({ store, another }) => {
    const there = await listener(await another())
    const hints = Array.from({ length: 5_000 }, (_, n) => hint(`a task with the number ${n}`, n + 1))
    await hintsOf(store).publish(hints)
    await there.receives(hints)
    await there.stop()
  },

  'a listener that stopped receives nothing more, and others still do': async ({ store }) => {
    const [first, second] = [await listener(store), await listener(store)]
    await hintsOf(store).publish([hint('a')])
    await Promise.all([first.receives([hint('a')]), second.receives([hint('a')])])
    await first.stop()
    await hintsOf(store).publish([hint('b')])
    await second.receives([hint('b')])
    equal('whether the first heard it, too', first.received.has('b'), false)
    await second.stop()
    const third = await listener(store)
    await hintsOf(store).publish([hint('c')])
    await third.receives([hint('c')])
    await third.stop()
  },

  'hints change nothing, and no change depends on them': async ({ store, another }) => {
    const other = await another()
    await hintsOf(store).publish([])
    await hintsOf(store).publish([hint('a', 7)])
    const there = await listener(other)
    const created = await put(store, 'a')
    const changed = await move(store, created.task)
    identical('get() by another that heard nothing', await other.get('a'), storedOf(created, changed))
    await hintsOf(store).publish([hint('none'), hint('a', 9), hint('a', 2)])
    await there.receives([hint('none'), hint('a', 2)])
    identical('get()', await other.get('a'), storedOf(created, changed))
    equal('heads()', await other.heads(['a']), [{ ...changed.key, generation: 2 }])
    equal('get() of one that is not there', await other.get('none'), undefined)
    await there.stop()
  },
}
