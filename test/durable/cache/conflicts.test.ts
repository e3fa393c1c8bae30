/** Many who change one task at once. */
import { describe, expect, test } from 'vitest'
import type { A2AError } from 'a2a-tasks'
import { memoryStore, type Commit, type TaskStore } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore } from '../../support/faulty-store.js'
import { foldAll, inTurn, logOf, rejection, replicas, says, textsOf, turn } from '../support/durable.js'
import { worker } from '../support/leased.js'

test('of 50 writers in five processes, each is in the log once', async () => {
  const { managers, a, store } = replicas(5)
  const { id } = await a.createTask({ skill: 'test' })
  await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      for (let turn = 0; turn < 10; turn += 1) {
        await inTurn(managers, index).addMessage(id, says(`${index}.${turn}`))
      }
    }),
  )
  const log = await logOf(store, id)
  expect(log.map(({ generation }) => generation)).toEqual(
    Array.from({ length: 501 }, (_, index) => index + 1),
  )
  const texts = textsOf(foldAll(log))
  expect(new Set(texts).size).toBe(500)
  // What one writer says stays in its order.
  for (let index = 0; index < 50; index += 1) {
    const own = texts.filter((text) => text?.startsWith(`${index}.`))
    expect(own).toEqual(Array.from({ length: 10 }, (_, turn) => `${index}.${turn}`))
  }
  for (const manager of managers) expect(await manager.getTask(id)).toEqual(foldAll(log))
})

test('of 50 updates that expect the same generation, one succeeds', async () => {
  const { managers, a, store } = replicas(5)
  const { id } = await a.createTask({ skill: 'test' })
  const outcomes = await Promise.allSettled(
    Array.from({ length: 50 }, (_, index) =>
      inTurn(managers, index).addMessage(id, says(String(index)), { expectedGeneration: 1 }),
    ),
  )
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue
    expect(outcome.reason).toMatchObject({
      code: 'TASK_GENERATION_MISMATCH',
      data: { expectedGeneration: 1 },
    })
  }
  expect(await logOf(store, id)).toHaveLength(2)
})

test('of 20 concurrent cancellations one succeeds, and the others report that the task has ended', async () => {
  const { managers, a } = replicas(4)
  const { id } = await a.createTask({ skill: 'test' })
  const canceled = Array.from({ length: 20 }, (_, index) => inTurn(managers, index).cancelTask(id))
  const outcomes = await Promise.allSettled(canceled)
  const reasons = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason as A2AError] : []))
  expect(reasons.map(({ code }) => code)).toEqual(Array(19).fill('TASK_NOT_CANCELABLE'))
})

test('after changes of others, illegal parts of an update are refused, and the rest is stored', async () => {
  const { a, b, store } = replicas(2)
  const { id } = await a.createTask({ skill: 'test' })
  await b.getTask(id)
  await a.updateTask(id, { state: 'working' })
  // These are decided by what the second knows: that the task is submitted.
  const changes = [
    b.addMessage(id, says('one')),
    b.updateTask(id, { state: 'working' }),
    b.addMessage(id, says('two'), { expectedGeneration: 2 }),
    b.addMessage(id, says('three')),
  ]
  const outcomes = await Promise.allSettled(changes)
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled'])
  expect(outcomes[1]).toMatchObject({ reason: { code: 'INVALID_TRANSITION' } })
  expect(outcomes[2]).toMatchObject({ reason: { code: 'TASK_GENERATION_MISMATCH' } })
  expect((await logOf(store, id)).map(({ type }) => type)).toEqual([
    'created',
    'status',
    'message',
    'message',
  ])
})

test('a refusal follows the current state in the store, not an earlier one', async () => {
  const { a, b } = replicas(2)
  const { id } = await a.createTask({ skill: 'test' })
  await b.getTask(id)
  await a.updateTask(id, { state: 'working' })
  expect((await b.updateTask(id, { state: 'completed' })).state).toBe('completed')
  const refused = await rejection(a.updateTask(id, { state: 'input-required' }))
  expect(refused).toMatchObject({ code: 'TASK_TERMINAL' })
})

test('a change that failed refuses no later one', async () => {
  const { a, b } = replicas(2)
  const { id } = await a.createTask({ skill: 'test' })
  await b.getTask(id)
  await a.addMessage(id, says('first'))
  // To the second it is canceled, until it learns that the message came first.
  const canceled = rejection(b.cancelTask(id, { expectedGeneration: 1 }))
  const added = b.addMessage(id, says('second'))
  expect(await canceled).toMatchObject({ code: 'TASK_GENERATION_MISMATCH' })
  expect((await added).generation).toBe(3)
})

test('a change that always conflicts fails with UNAVAILABLE', async () => {
  const inner = memoryStore()
  const { a } = replicas(1, { store: inner })
  const { id } = await a.createTask({ skill: 'test' })
  let commits = 0
  // Another change comes first each time.
  const commit = async (given: Commit): ReturnType<TaskStore['commit']> => {
    commits += 1
    await a.addMessage(id, says('faster'))
    return await inner.commit(given)
  }
  const contended = new Proxy(inner, {
    get: (target, property) => {
      const value: unknown = property === 'commit' ? commit : Reflect.get(target, property)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const { a: b } = replicas(1, { store: contended })
  const error = await rejection(b.addMessage(id, says('slower')))
  expect(error).toMatchObject({ code: 'UNAVAILABLE', data: { reason: 'changes too often' } })
  expect(commits).toBe(101)
  expect(textsOf(await b.getTask(id))).not.toContain('slower')
})

test('a task whose log has a gap is refused with STORE_FAILED', async () => {
  const clock = new ManualClock()
  const inner = memoryStore()
  const { a } = replicas(1, { store: inner }, clock)
  const gaps = new Proxy(inner, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property)
      if (property === 'events') {
        const events: TaskStore['events'] = async (...args) => (await inner.events(...args)).slice(1)
        return events
      }
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const { a: b } = replicas(1, { store: faultyStore(gaps, {}) }, clock)
  const { id } = await a.createTask({ skill: 'test' })
  await b.getTask(id)
  for (const text of ['one', 'two']) await a.addMessage(id, says(text))
  for (const refused of [b.getTask(id), b.addMessage(id, says('?'))]) {
    expect(await rejection(refused)).toMatchObject({ code: 'STORE_FAILED', message: /gap/ })
  }
})

/** A store at which others come first for so many commits of the output, before each of which they change the task. */
function busy(inner: TaskStore, times: number, others: () => Promise<unknown>): TaskStore {
  let left = times
  return faultyStore(inner, {
    before: async (step, [given]) => {
      const isMeant = step === 'commit' && (given as Commit).events.some(({ type }) => type === 'output')
      if (isMeant && left-- > 0) await others()
    },
  })
}

test('a run does not lose its task to busy callers: it waits a little, and continues', async () => {
  const clock = new ManualClock()
  const inner = memoryStore({ now: () => clock.now() })
  const { a: other } = replicas(1, { store: inner }, clock)
  let changes = 0
  const store = busy(inner, 150, () => {
    changes += 1
    return other.updateTask('x', {})
  })
  const { a } = replicas(1, { store }, clock)
  const { leased, calls } = worker(a)
  leased.createTask({ skill: 'test', id: 'x' })
  leased.patchTask('x', { state: 'working' })
  await leased.stored('x')
  leased.patchTask('x', { output: 'the answer' })
  const stored = leased.stored('x')
  for (let turns = 0; turns < 5; turns += 1) await turn()
  expect(changes).toBe(11)
  for (let pauses = 0; pauses < 160; pauses += 1) {
    clock.advance(128)
    await turn()
  }
  await stored
  expect(calls.filter((each) => 'lost' in each)).toEqual([])
  expect(await other.getTask('x')).toMatchObject({ output: 'the answer', generation: 153 })
})

test('a store that reports conflicts without a cause is not tried forever', async () => {
  const clock = new ManualClock()
  const inner = memoryStore({ now: () => clock.now() })
  let commits = 0
  const store = new Proxy(inner, {
    get: (target, property) => {
      if (property === 'commit') return () => Promise.resolve((commits += 1) && 'conflict')
      const value: unknown = Reflect.get(target, property)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
  const { a } = replicas(1, { store }, clock)
  const { leased, calls } = worker(a)
  leased.createTask({ skill: 'test', id: 'x' })
  await leased.stored('x')
  leased.patchTask('x', { state: 'working' })
  for (let pauses = 0; pauses < 160; pauses += 1) {
    clock.advance(128)
    await turn()
  }
  expect(calls).toMatchObject([{ lost: 'x', reason: { code: 'UNAVAILABLE' } }])
  expect(commits).toBe(101)
})

describe('a store that has lost the last changes of a task, as by a failover', () => {
  /** A manager over a store that can go back to what it was when `keep` was called. */
  function failingOver() {
    const clock = new ManualClock()
    const now = (): number => clock.now()
    let store = memoryStore({ now })
    let kept = memoryStore({ now })
    const current = new Proxy(store, {
      get: (_, property) => {
        const value: unknown = Reflect.get(store, property)
        return typeof value === 'function' ? (value.bind(store) as unknown) : value
      },
    })
    const keep = async (id: string): Promise<void> => {
      kept = memoryStore({ now })
      const stored = await store.get(id)
      if (stored === undefined) throw new Error('There is no task')
      const { checkpoint: task } = stored
      const events = await store.events(task, 0, 10)
      await kept.create({ task, events, head: { ...task, hasEnded: false }, commitId: 'kept' })
    }
    const goBack = (): void => {
      store = kept
    }
    // Nothing is found by polling.
    const { a } = replicas(1, { store: current, pollIntervalMs: 3_600_000 }, clock)
    return { a, clock, keep, goBack }
  }

  test('takes a change of a task that this process has seen changed further', async () => {
    const { a, keep, goBack } = failingOver()
    await a.createTask({ skill: 'test', id: 'x' })
    await keep('x')
    await a.updateTask('x', { state: 'working' })
    goBack()
    expect(await a.updateTask('x', { output: 'y' })).toMatchObject({ state: 'submitted', generation: 2 })
  })

  test('takes a change of a task that this process has seen ended, if it is legal', async () => {
    const { a, keep, goBack } = failingOver()
    await a.createTask({ skill: 'test', id: 'x' })
    await keep('x')
    await a.updateTask('x', { state: 'working' })
    await a.updateTask('x', { state: 'completed' })
    goBack()
    expect(await a.updateTask('x', { state: 'working' })).toMatchObject({ state: 'working', generation: 2 })
  })

  test('ends the work on it, which another run continues', async () => {
    const { a, clock, keep, goBack } = failingOver()
    const { leased, calls } = worker(a)
    leased.createTask({ skill: 'test', id: 'x' })
    await leased.stored('x')
    await keep('x')
    leased.patchTask('x', { state: 'working' })
    await leased.stored('x')
    goBack()
    leased.patchTask('x', { output: 'more' })
    for (let turns = 0; turns < 5; turns += 1) {
      clock.advance(128)
      await turn()
    }
    expect(calls).toMatchObject([{ lost: 'x', reason: { code: 'TASK_NOT_FOUND' } }])
    expect(await a.getTask('x')).toMatchObject({ state: 'submitted', generation: 1 })
  })
})
