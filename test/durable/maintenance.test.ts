/** Order and limits of a maintenance sweep. */
import { describe, expect, test } from 'vitest'
import { defineLifecycle } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore, type Faults, type StepName } from '../support/faulty-store.js'
import { replicas, turn } from './support/durable.js'
import { pass, worker } from './support/leased.js'

const DAY = 86_400_000
const OTHER = defineLifecycle({ open: ['failed'], failed: [] })

async function turns(count: number): Promise<void> {
  for (let index = 0; index < count; index += 1) await turn()
}

describe('what cannot be read', () => {
  test('does not prevent the recovery of others', async () => {
    const clock = new ManualClock()
    const store = memoryStore({ now: () => clock.now() })
    const dead = new DurableTaskManager({ store, lifecycle: OTHER, clock: new ManualClock() })
    const leased = dead.lease({ onNews: fail, onLost: fail, onOrphan: fail })
    for (let index = 0; index < 150; index += 1) leased.createTask({ skill: 'test', id: `other ${index}` })
    await turn()
    clock.advance(1_000)
    const { a } = replicas(1, { store }, new ManualClock())
    worker(a).leased.createTask({ skill: 'test', id: 'x' })
    await turn()
    clock.advance(31_000)
    const { a: left } = replicas(1, { store, recover: 'fail' }, clock)
    clock.advance(10_000)
    await turns(20)
    expect((await left.getTask('x'))?.state).toBe('failed')
    // They remain orphans, for a process that can read them.
    clock.advance(31_000)
    expect(await store.orphans(1_000)).toHaveLength(150)
    await dead.destroy()
  })

  test('does not prevent the time-out of others', async () => {
    const clock = new ManualClock()
    const store = memoryStore({ now: () => clock.now() })
    const other = new DurableTaskManager({ store, lifecycle: OTHER, clock, sweepIntervalMs: false })
    for (let index = 0; index < 250; index += 1) await other.createTask({ skill: 'test' })
    clock.advance(1)
    const { a } = replicas(1, { store, taskTimeoutMs: 5_000 }, clock)
    await a.createTask({ skill: 'test', id: 'x' })
    clock.advance(10_000)
    await turns(20)
    expect(await a.getTask('x')).toMatchObject({ state: 'failed', message: 'Task timed out' })
    await other.destroy()
  })
})

test('tasks without room in this process do not block the maintenance of others', async () => {
  const clock = new ManualClock()
  const store = memoryStore({ now: () => clock.now() })
  const dead = new DurableTaskManager({ store, recover: 'resume', clock: new ManualClock() })
  const leased = dead.lease({ onNews: fail, onLost: fail, onOrphan: fail })
  for (let index = 0; index < 150; index += 1) leased.createTask({ skill: 'test', id: `other ${index}` })
  await turn()
  clock.advance(1_000)
  const { id } = leased.createTask({ skill: 'test' })
  leased.patchTask(id, { state: 'working' })
  leased.patchTask(id, { state: 'input-required' })
  await leased.stored(id)
  clock.advance(31_000)
  const { a: full } = replicas(1, { store, recover: 'resume' }, clock)
  full.lease({ onNews: fail, onLost: fail, onOrphan: fail, hasRoom: () => false })
  clock.advance(10_000)
  await turns(20)
  expect(await store.orphans(1_000)).toHaveLength(150)
  await dead.destroy()
})

describe('removing', () => {
  async function backlog(
    count: number,
  ): Promise<{ clock: ManualClock; faults: Faults; a: DurableTaskManager }> {
    const clock = new ManualClock()
    const faults: Faults = {}
    const store = faultyStore(memoryStore({ now: () => clock.now() }), faults)
    const { a } = replicas(1, { store, taskTimeoutMs: 1_000_000_000 }, clock)
    for (let index = 0; index < count; index += 1) {
      const { id } = await a.createTask({ skill: 'test' })
      await a.cancelTask(id)
    }
    clock.advance(31 * DAY - 100_000)
    return { clock, faults, a }
  }

  test('a backlog takes some batches at each sweep, between which others are looked after', async () => {
    const { clock, faults, a } = await backlog(1_200)
    await turns(50)
    const asked: StepName[] = []
    faults.before = (step) => asked.push(step)
    const sizes = [await a.size()]
    for (let sweeps = 0; sweeps < 3; sweeps += 1) {
      clock.advance(10_000)
      await turns(50)
      sizes.push(await a.size())
    }
    expect(sizes).toEqual([700, 200, 0, 0])
    const steps = asked.filter((step) => ['orphans', 'unended', 'delete'].includes(step))
    expect(steps.join(' ')).toMatch(
      /^orphans unended (delete ){5}orphans unended (delete ){2}orphans unended$/,
    )
  })

  test('by prune() takes all that there is', async () => {
    const { faults, a } = await backlog(1_200)
    faults.before = undefined
    await turns(50)
    expect(await a.prune()).toBe(700)
    expect(await a.size()).toBe(0)
  })

  test('by several managers at once is reported once, by the manager that removed the task', async () => {
    const { managers, clock } = replicas(3, { retention: { default: { maxAgeMs: 1_000 } } })
    const [a] = managers
    const expired: string[] = []
    for (const manager of managers) manager.on('task:expired', ({ id }) => expired.push(id))
    for (let index = 0; index < 10; index += 1) {
      await a?.createTask({ skill: 'test', id: String(index) })
      await a?.cancelTask(String(index))
    }
    clock.advance(10_000)
    await turns(5)
    expect(expired.toSorted()).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
  })

  test('does not report a later task of the same id', async () => {
    const clock = new ManualClock()
    const faults: Faults = {}
    const inner = memoryStore({ now: () => clock.now() })
    const { a: other } = replicas(1, { store: inner, retention: { default: { maxAgeMs: 0 } } }, clock)
    const store = faultyStore(inner, faults)
    const { a } = replicas(1, { store, retention: { default: { maxAgeMs: 0 } } }, clock)
    const expired: unknown[] = []
    a.on('task:expired', (task) => expired.push(task))
    await other.createTask({ skill: 'old', id: 'x' })
    await other.cancelTask('x')
    clock.advance(1)
    faults.after = async (step) => {
      if (step !== 'ended') return
      faults.after = undefined
      await other.prune()
      await other.createTask({ skill: 'new', id: 'x' })
    }
    expect(await a.prune()).toBe(0)
    expect(expired).toEqual([])
    expect((await a.getTask('x'))?.skill).toBe('new')
  })
})

describe('options', () => {
  test('sweepIntervalMs: false leaves all to others', async () => {
    const { clock, store } = replicas(1, { sweepIntervalMs: false })
    const { a } = replicas(1, { store, sweepIntervalMs: false, taskTimeoutMs: 1 }, clock)
    const { a: dead } = replicas(1, { store }, new ManualClock())
    worker(dead).leased.createTask({ skill: 'test', id: 'orphan' })
    await a.createTask({ skill: 'test', id: 'old' })
    await a.cancelTask('old')
    clock.advance(31 * DAY)
    await pass(clock, 60_000)
    expect(await a.stateOf('old')).toBe('canceled')
    expect(await a.stateOf('orphan')).toBe('submitted')
    // But what it is told to do.
    expect(await a.prune()).toBe(1)
  })

  test.each([
    [
      'a rule for one state leaves the default for the others',
      { failed: { maxAgeMs: 90 * DAY } },
      ['failed'],
    ],
    ['a default of its own takes its place', { default: { maxAgeMs: 90 * DAY } }, ['canceled', 'failed']],
    ['a default without bounds keeps them for ever', { default: {} }, ['canceled', 'failed']],
    ['Infinity is for ever', { failed: { maxAgeMs: Infinity, maxCount: Infinity } }, ['failed']],
  ])('%s', async (_, retention, left) => {
    const { a, clock } = replicas(1, { retention })
    for (const state of ['canceled', 'failed'] as const) {
      await a.createTask({ skill: 'test', id: state })
      await a.patchTask(state, { state: 'working' })
      await a.patchTask(state, { state })
    }
    clock.advance(31 * DAY)
    await a.prune()
    expect((await a.listTasks()).map(({ id }) => id)).toEqual(left)
  })

  test('retention is of final states: the type says so for those of the protocol', () => {
    const store = memoryStore()
    const misguided = (): unknown =>
      // @ts-expect-error: a task that is worked on is never removed.
      new DurableTaskManager({ store, retention: { working: {} } })
    expect(misguided).toThrow('Unknown option "retention.working"')
    expect(() => new DurableTaskManager({ store, lifecycle: OTHER, retention: { open: {} } })).toThrow(
      '"retention.open"',
    )
  })
})

function fail(): never {
  throw new Error('It should not have been reported')
}
