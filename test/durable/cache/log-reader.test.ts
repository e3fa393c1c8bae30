/** Subscriptions at any manager to events of every manager. */
import { restoreTasks } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { memoryStore } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore, gate, withoutHints, type Faults } from '../../support/faulty-store.js'
import { foldAll, inTurn, logOf, reading, rejection, replicas, says, turn } from '../support/durable.js'

describe('a subscription that begins', () => {
  test('at 0 yields the whole log, and ends with the task', async () => {
    const { a, b, store } = replicas(2)
    const { id } = await a.createTask({ skill: 'test' })
    const read = reading(b.subscribe(id, { after: 0 }))
    await a.addMessage(id, says('one'))
    await a.cancelTask(id)
    expect(await read.ended).toBeUndefined()
    expect(read.entries).toEqual(await logOf(store, id))
    expect(read.entries.map(({ type }) => type)).toEqual(['created', 'message', 'status'])
    // One that comes after the end has all of it, too.
    const late = reading(b.subscribe(id, { after: 0 }))
    expect(await late.ended).toBeUndefined()
    expect(late.entries).toEqual(read.entries)
  })

  test('without a cursor begins with the task as it is', async () => {
    const { a, b } = replicas(2)
    const { id } = await a.createTask({ skill: 'test' })
    await a.addMessage(id, says('one'))
    const read = reading(b.subscribe(id))
    await turn()
    expect(read.entries).toMatchObject([{ type: 'snapshot', generation: 2 }])
    await a.cancelTask(id)
    await read.ended
    expect(foldAll(read.entries)).toEqual(await a.getTask(id))
  })

  test('where only the store has the log reads it there, in pages', async () => {
    const { a, b, store } = replicas(2, { eventLogSize: 1 })
    const { id } = await a.createTask({ skill: 'test' })
    await Promise.all(Array.from({ length: 1_200 }, (_, index) => a.addMessage(id, says(String(index)))))
    const reads = [a, b].map((manager) => reading(manager.subscribe(id, { after: 7 })))
    await turn()
    const log = await logOf(store, id)
    for (const { entries } of reads) expect(entries).toEqual(log.slice(7))
    expect(await b.events(id, { after: 1_199 })).toEqual(log.slice(1_199))
  })

  test('at the end waits; beyond it gets the whole task', async () => {
    const { a, b } = replicas(2)
    const { id } = await a.createTask({ skill: 'test' })
    const atEnd = reading(b.subscribe(id, { after: 1 }))
    const beyond = reading(b.subscribe(id, { after: 9 }))
    await turn()
    expect(atEnd.entries).toEqual([])
    expect(beyond.entries).toMatchObject([{ type: 'resync', generation: 1 }])
    await a.addMessage(id, says('one'))
    await turn()
    for (const { entries } of [atEnd, beyond]) expect(entries.at(-1)).toMatchObject({ generation: 2 })
  })

  test('in a log that the store has lost gets the whole task', async () => {
    const { a, b } = replicas(2)
    await restoreTasks(a, [
      { id: 'x', skill: 's', state: 'submitted', createdAt: '2025-01-01', generation: 5 },
    ])
    const read = reading(b.subscribe('x', { after: 2 }))
    await turn()
    expect(read.entries).toMatchObject([{ type: 'resync', generation: 5 }])
    await a.cancelTask('x')
    await read.ended
    expect(read.entries.at(-1)).toMatchObject({ type: 'status', generation: 6 })
  })

  test('at a task that is not there fails, and so does waiting for one', async () => {
    const { a } = replicas(1)
    const subscription = a.subscribe('unknown')
    expect(await rejection(subscription.next())).toMatchObject({ code: 'TASK_NOT_FOUND' })
    expect(await subscription.next()).toEqual({ done: true, value: undefined })
    expect(await rejection(a.waitFor('unknown'))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    expect(await rejection(a.signalOf('unknown'))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    expect(await rejection(a.events('unknown'))).toMatchObject({ code: 'TASK_NOT_FOUND' })
  })

  test('with options that are invalid is refused at once', () => {
    const { a } = replicas(1)
    expect(() => a.subscribe('x', { after: -1 })).toThrow('after')
    expect(() => a.subscribe('x', { since: 1 } as never)).toThrow('since')
  })
})

describe('a reader', () => {
  test('that asks at any moment of a change misses nothing', async () => {
    for (let microtasks = 0; microtasks < 40; microtasks += 1) {
      const { a } = replicas(1)
      const { id } = await a.createTask({ skill: 'test' })
      const subscription = a.subscribe(id, { after: 1 })
      const first = subscription.next()
      await a.addMessage(id, says('one'))
      await first
      const canceled = a.cancelTask(id)
      for (let count = 0; count < microtasks; count += 1) await Promise.resolve()
      expect(await subscription.next(), `after ${microtasks}`).toMatchObject({ value: { generation: 3 } })
      expect(await subscription.next()).toEqual({ done: true, value: undefined })
      await canceled
    }
  })

  test('is never ahead of what its manager knows, so nothing comes twice', async () => {
    const clock = new ManualClock()
    const faults: Faults = {}
    const inner = memoryStore({ now: () => clock.now() })
    const { a } = replicas(1, { store: inner }, clock)
    const { a: b } = replicas(1, { store: faultyStore(withoutHints(inner), faults), eventLogSize: 1 }, clock)
    const { id } = await a.createTask({ skill: 'test' })
    for (const text of ['one', 'two']) await a.addMessage(id, says(text))
    const { opened, open } = gate()
    faults.before = (step) => (step === 'events' ? opened : undefined)
    const read = reading(b.subscribe(id, { after: 0 }))
    await turn()
    // The store has it when it is asked for the log, the manager has not.
    await a.addMessage(id, says('three'))
    open()
    await turn()
    clock.advance(1_000)
    await turn()
    expect(read.entries.map(({ type, generation }) => [type, generation])).toEqual([
      ['created', 1],
      ...[2, 3, 4].map((generation) => ['message', generation]),
    ])
  })

  test('may ask for several at once, which come in order', async () => {
    const { a, b } = replicas(2)
    const { id } = await a.createTask({ skill: 'test' })
    const subscription = b.subscribe(id, { after: 0 })
    const asked = [1, 2, 3, 4].map(() => subscription.next())
    await a.addMessage(id, says('one'))
    await a.cancelTask(id)
    const results = await Promise.all(asked)
    expect(results.map(({ value }) => value?.generation)).toEqual([1, 2, 3, undefined])
  })

  test('that is slow costs nothing, and misses nothing', async () => {
    const { a, b, store } = replicas(2, { eventLogSize: 2 })
    const { id } = await a.createTask({ skill: 'test' })
    const subscription = b.subscribe(id, { after: 0 })
    await subscription.next()
    for (let count = 0; count < 20; count += 1) await a.addMessage(id, says(String(count)))
    await a.cancelTask(id)
    const log = await logOf(store, id)
    for (const event of log.slice(1)) expect(await subscription.next()).toEqual({ done: false, value: event })
    expect(await subscription.next()).toEqual({ done: true, value: undefined })
  })

  test('that returns while it waits is done, and its task need not stay in memory', async () => {
    const { a, b } = replicas(2)
    const { id } = await a.createTask({ skill: 'test' })
    const subscription = b.subscribe(id, { after: 1 })
    const next = subscription.next()
    await turn()
    expect(await subscription.return()).toEqual({ done: true, value: undefined })
    expect(await next).toEqual({ done: true, value: undefined })
    await a.addMessage(id, says('one'))
    await turn()
    // The task is not watched any more.
    expect(b.lastSeen(id)?.generation).toBe(1)
  })

  test('that returns while the store is asked is done', async () => {
    const clock = new ManualClock()
    const faults: Faults = {}
    const { a } = replicas(1, { store: faultyStore(memoryStore(), faults), eventLogSize: 1 }, clock)
    const { id } = await a.createTask({ skill: 'test' })
    for (const text of ['one', 'two', 'three']) await a.addMessage(id, says(text))
    for (const slow of ['heads', 'events']) {
      const { opened, open } = gate()
      faults.before = (step) => (step === slow ? opened : undefined)
      const subscription = a.subscribe(id, { after: 0 })
      const next = subscription.next()
      await turn()
      await subscription.return()
      open()
      expect(await next).toEqual({ done: true, value: undefined })
    }
  })

  test('ends when its signal aborts, before or while it waits', async () => {
    const { a } = replicas(1)
    const { id } = await a.createTask({ skill: 'test' })
    expect(await a.subscribe(id, { signal: AbortSignal.abort() }).next()).toMatchObject({ done: true })
    const controller = new AbortController()
    const read = reading(a.subscribe(id, { after: 1, signal: controller.signal }))
    await turn()
    controller.abort()
    expect(await read.ended).toBeUndefined()
  })

  test('gets entries that it cannot change', async () => {
    const { a } = replicas(1, { eventLogSize: 1 })
    const { id } = await a.createTask({ skill: 'test', input: { deep: { er: 1 } } })
    await a.addMessage(id, says('one'))
    for (const entry of [...(await a.events(id)), await a.peekTask(id)]) expectFrozen(entry)
  })
})

describe('the task of a subscription', () => {
  test('that is removed before it ends: TASK_EXPIRED; as waiting for it, and its signal', async () => {
    const { a, store, clock } = replicas(1)
    const { id } = await a.createTask({ skill: 'test' })
    const read = reading(a.subscribe(id))
    const waited = rejection(a.waitFor(id))
    const signal = await a.signalOf(id)
    await turn()
    await store.delete(await store.unended('9', 10))
    clock.advance(5_000)
    await turn()
    for (const error of [await read.ended, await waited, signal.reason]) {
      expect(error).toMatchObject({ code: 'TASK_EXPIRED', data: { taskId: id } })
    }
    const next = a.subscribe(id).next()
    expect(await rejection(next)).toMatchObject({ code: 'TASK_NOT_FOUND' })
  })

  test('whose manager is destroyed: MANAGER_DESTROYED, also for a subscription that is starting', async () => {
    const clock = new ManualClock()
    const faults: Faults = {}
    const { a } = replicas(1, { store: faultyStore(memoryStore(), faults) }, clock)
    const { id } = await a.createTask({ skill: 'test' })
    const read = reading(a.subscribe(id))
    const waited = rejection(a.waitFor(id))
    const signal = await a.signalOf(id)
    await turn()
    const { opened, open } = gate()
    faults.before = (step) => (step === 'heads' ? opened : undefined)
    const beginning = [rejection(a.subscribe(id).next()), rejection(a.waitFor(id)), rejection(a.signalOf(id))]
    await turn()
    await a.destroy()
    open()
    for (const error of [await read.ended, await waited, signal.reason, ...(await Promise.all(beginning))]) {
      expect(error).toMatchObject({ code: 'MANAGER_DESTROYED', data: { taskId: id } })
    }
    expect(clock.pending).toBe(0)
  })
})

describe('receives the changes of other processes', () => {
  test('by polling alone', async () => {
    const clock = new ManualClock()
    const inner = memoryStore({ now: () => clock.now() })
    const asked: string[] = []
    const counting = faultyStore(withoutHints(inner), { before: (step) => asked.push(step) })
    const { a, b } = replicas(2, { store: counting, pollIntervalMs: 700 }, clock)
    const { id } = await a.createTask({ skill: 'test' })
    const read = reading(b.subscribe(id, { after: 1 }))
    const waited = b.waitFor(id, { until: 'working' })
    const signal = await b.signalOf(id)
    await a.updateTask(id, { state: 'working' })
    await turn()
    expect(read.entries).toEqual([])
    clock.advance(700)
    await turn()
    expect(read.entries).toHaveLength(1)
    expect((await waited).state).toBe('working')
    await a.cancelTask(id)
    clock.advance(700)
    await turn()
    expect(await read.ended).toBeUndefined()
    expect(signal.reason).toMatchObject({ code: 'TASK_CANCELED' })
    // Without followers, the store is not polled.
    asked.length = 0
    clock.advance(700)
    await turn()
    clock.advance(700)
    await turn()
    expect(asked).toEqual([])
  })

  test('by hints alone', async () => {
    const { a, b } = replicas(2, { pollIntervalMs: 2 ** 31 - 1 })
    const { id } = await a.createTask({ skill: 'test' })
    const waited = b.waitFor(id)
    const signal = await b.signalOf(id)
    const read = reading(b.subscribe(id))
    await turn()
    await a.addMessage(id, says('one'))
    await turn()
    expect(read.entries).toHaveLength(2)
    await a.cancelTask(id)
    expect((await waited).state).toBe('canceled')
    expect(await read.ended).toBeUndefined()
    expect(signal.reason).toMatchObject({ code: 'TASK_CANCELED' })
  })

  test('by many readers of many tasks', async () => {
    const { managers, store } = replicas(3)
    const tasks = await Promise.all(
      Array.from({ length: 30 }, (_, index) => inTurn(managers, index).createTask({ skill: 'test' })),
    )
    const ids = tasks.map(({ id }) => id)
    const reads = ids.flatMap((id) =>
      managers.map((manager) => ({ id, ...reading(manager.subscribe(id, { after: 0 })) })),
    )
    for (const [index, id] of ids.entries()) {
      for (const manager of managers) await manager.addMessage(id, says('hello'))
      await inTurn(managers, index + 1).cancelTask(id)
    }
    for (const { id, ended, entries } of reads) {
      expect(await ended).toBeUndefined()
      expect(entries).toEqual(await logOf(store, id))
    }
  })
})

function expectFrozen(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  expect(Object.isFrozen(value)).toBe(true)
  for (const each of Object.values(value)) expectFrozen(each)
}
