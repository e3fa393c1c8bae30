/** Retention: removed and kept tasks. */
import { describe, expect, test } from 'vitest'
import type { TaskState } from 'a2a-tasks'
import { memoryStore, type DurableTaskManagerOptions } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore, gate, type Faults } from '../support/faulty-store.js'
import { rejection, replicas, says, turn, type Replicas } from './support/durable.js'
import { pass, worker } from './support/leased.js'

const DAY = 86_400_000

async function ended(tasks: Replicas['a'], state: TaskState, id: string): Promise<void> {
  await tasks.createTask({ skill: 'test', id })
  await tasks.patchTask(id, { state: 'working' })
  await tasks.patchTask(id, { state })
}

async function idsOf(tasks: Replicas['a']): Promise<string[]> {
  return (await tasks.listTasks()).map(({ id }) => id)
}

describe('by age', () => {
  test('removes tasks that ended 30 days ago, and no live ones', async () => {
    const { a, b, clock } = replicas(2)
    await ended(a, 'completed', 'old')
    await a.createTask({ skill: 'test', id: 'live' })
    clock.advance(10 * DAY)
    await ended(a, 'failed', 'young')
    clock.advance(20 * DAY)
    await pass(clock, 11_000)
    expect(await idsOf(b)).toEqual(['live', 'young'])
    expect(await a.getTask('old')).toBeNull()
    expect(await rejection(a.addMessage('old', says('?')))).toMatchObject({ code: 'TASK_NOT_FOUND' })
  })

  test('per outcome, the default for the others', async () => {
    const retention = { failed: { maxAgeMs: 1_000 }, default: { maxAgeMs: 5_000 }, canceled: {} }
    const { a, clock } = replicas(1, { retention })
    for (const state of ['completed', 'failed', 'canceled', 'rejected'] as const) await ended(a, state, state)
    clock.advance(1_000)
    expect(await a.prune()).toBe(0)
    clock.advance(1)
    expect(await a.prune()).toBe(1)
    clock.advance(4_000)
    expect(await a.prune()).toBe(2)
    clock.advance(100 * DAY)
    expect(await a.prune()).toBe(0)
    expect(await idsOf(a)).toEqual(['canceled'])
  })
})

describe('by count', () => {
  test('keeps the latest tasks of each outcome, and does not count live ones', async () => {
    const { a, clock } = replicas(1, { retention: { completed: { maxCount: 2 }, failed: { maxCount: 0 } } })
    for (let index = 0; index < 5; index += 1) {
      clock.advance(1)
      await ended(a, 'completed', `completed ${index}`)
      await ended(a, 'failed', `failed ${index}`)
      await a.createTask({ skill: 'test', id: `live ${index}` })
    }
    expect(await a.prune()).toBe(8)
    const left = await idsOf(a)
    expect(left.filter((id) => !id.startsWith('live'))).toEqual(['completed 3', 'completed 4'])
    expect(left).toHaveLength(7)
  })

  test('in batches, however many there are', async () => {
    const { a } = replicas(1, { retention: { canceled: { maxCount: 7 } } })
    await Promise.all(
      Array.from({ length: 257 }, async (_, index) => {
        await a.createTask({ skill: 'test', id: String(index) })
        await a.cancelTask(String(index))
      }),
    )
    expect(await a.prune()).toBe(250)
    expect(await a.size()).toBe(7)
  })
})

test('false keeps all', async () => {
  const { a, clock } = replicas(1, { retention: false })
  await ended(a, 'completed', 'old')
  clock.advance(1_000 * DAY)
  expect(await a.prune()).toBe(0)
  await pass(clock, 20_000)
  expect(await a.size()).toBe(1)
})

test('task:expired reports each task that was removed, after it was', async () => {
  const clock = new ManualClock()
  const faults: Faults = {}
  const store = faultyStore(memoryStore(), faults)
  const { a } = replicas(1, { store, retention: { default: { maxAgeMs: 0 } } }, clock)
  const expired: unknown[] = []
  a.on('task:expired', (task) => expired.push([task.id, task.state, Object.isFrozen(task)]))
  await ended(a, 'completed', 'x')
  await a.createTask({ skill: 'test', id: 'live' })
  clock.advance(1)
  const { opened, open } = gate()
  faults.before = (step) => (step === 'delete' ? opened : undefined)
  const pruned = a.prune()
  await turn()
  expect(expired).toEqual([])
  open()
  expect(await pruned).toBe(1)
  expect(expired).toEqual([['x', 'completed', true]])
  expect(a.lastSeen('x')).toBeUndefined()
})

test('two concurrent calls of prune remove each task once', async () => {
  const { a, b, clock } = replicas(2, { retention: { default: { maxAgeMs: 0 } } })
  for (let index = 0; index < 30; index += 1) await ended(a, 'completed', String(index))
  clock.advance(1)
  const counts = await Promise.all([a.prune(), b.prune()])
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(30)
})

test('an id can be used again by any manager, and the two tasks are not confused', async () => {
  const options: Partial<DurableTaskManagerOptions> = { retention: { default: { maxAgeMs: 0 } } }
  const { a, b, clock } = replicas(2, options)
  for (const manager of [a, b]) {
    await ended(a, 'completed', 'x')
    await b.getTask('x')
    const after = (await a.peekTask('x'))?.generation ?? 0
    clock.advance(1)
    await b.prune()
    clock.advance(1)
    const task = await manager.createTask({ skill: 'new', id: 'x' })
    expect(task).toMatchObject({ skill: 'new', generation: 1 })
    for (const each of [a, b]) expect(await each.getTask('x')).toEqual(task)
    // A cursor of the other task's gets the whole of this one.
    const { value } = await a.subscribe('x', { after }).next()
    expect(value).toMatchObject({ type: 'resync', task: { skill: 'new' } })
    expect((await b.updateTask('x', { state: 'working' })).generation).toBe(2)
    await a.cancelTask('x')
    clock.advance(1)
    await a.prune()
  }
})

test('a change goes to the task that has the id now, whichever is remembered', async () => {
  const { a, b, clock } = replicas(2, { retention: { default: { maxAgeMs: 0 } } })
  const first = await a.createTask({ skill: 'test', id: 'x' })
  await b.getTask('x')
  await a.cancelTask('x')
  clock.advance(1)
  await a.prune()
  const second = await a.createTask({ skill: 'new', id: 'x' })
  expect(second.createdAt).not.toBe(first.createdAt)
  expect(await b.updateTask('x', { state: 'working' })).toMatchObject({ skill: 'new', generation: 2 })
})

test('a held task that is removed is reported as lost, and its signal aborts', async () => {
  const { a, b, clock } = replicas(2, { retention: { default: { maxAgeMs: 0 } } })
  const { leased, calls } = worker(a)
  leased.createTask({ skill: 'test', id: 'x' })
  leased.patchTask('x', { state: 'failed' })
  await leased.stored('x')
  const signal = leased.signalOf('x')
  clock.advance(1)
  expect(await b.prune()).toBe(1)
  clock.advance(5_000)
  await turn()
  expect(calls).toMatchObject([{ lost: 'x' }])
  expect(signal.aborted).toBe(true)
})
