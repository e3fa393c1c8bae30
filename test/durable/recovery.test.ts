/** Recovery of tasks whose process died, and of late tasks. */
import { describe, expect, test } from 'vitest'
import { defineLifecycle, type TaskSnapshot } from 'a2a-tasks'
import {
  DurableTaskManager,
  memoryStore,
  type DurableTaskManagerOptions,
  type TaskStore,
} from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { faultyStore, type Faults, type StepName } from '../support/faulty-store.js'
import { logOf, reading, replicas, says, turn } from './support/durable.js'
import { pass, worker, workers, type Worker } from './support/leased.js'

const ABANDONED = 'The agent stopped before this task was finished'
const FAIL = { recover: 'fail' } as const

interface Crash {
  readonly clock: ManualClock
  readonly store: TaskStore
  readonly dead: Worker
  /** The process that is left. */
  readonly b: DurableTaskManager
  readonly faults: Faults
  readonly asked: StepName[]
}

/** A process that stands still from now on, and one that continues. */
function crash(
  begin: (dead: Worker) => void,
  options: Partial<DurableTaskManagerOptions> = {},
): Promise<Crash> {
  const clock = new ManualClock()
  const store = memoryStore({ now: () => clock.now() })
  // Its time does not pass.
  const { a } = replicas(1, { store }, new ManualClock())
  const dead = worker(a)
  begin(dead)
  const faults: Faults = {}
  const asked: StepName[] = []
  const given: Faults = {
    before: (step, args) => {
      asked.push(step)
      return faults.before?.(step, args)
    },
  }
  const { a: b } = replicas(1, { ...options, store: faultyStore(store, given) }, clock)
  return turn().then(() => ({ clock, store, dead, b, faults, asked }))
}

function begin(id: string, ...states: ('working' | 'input-required')[]): (worker: Worker) => void {
  return ({ leased }) => {
    leased.createTask({ skill: 'test', id }, { note: id })
    for (const state of states) leased.patchTask(id, { state })
  }
}

describe('recover: fail', () => {
  test('ends a task whose process died, which every reader receives', async () => {
    const { clock, store, b } = await crash(begin('x', 'working'), FAIL)
    const read = reading(b.subscribe('x', { after: 1 }))
    const waited = b.waitFor('x')
    await pass(clock, 29_000)
    expect((await b.getTask('x'))?.state).toBe('working')
    await pass(clock, 20_000)
    expect(await waited).toMatchObject({ state: 'failed', message: ABANDONED })
    expect(await read.ended).toBeUndefined()
    expect(read.entries.at(-1)).toMatchObject({ type: 'status', to: 'failed', message: ABANDONED })
    expect(await store.orphans(10)).toEqual([])
  })

  test('leaves a task that waits for the user, whom another process may answer', async () => {
    const { clock, store, b } = await crash(begin('x', 'working', 'input-required'), FAIL)
    await pass(clock, 60_000)
    expect((await b.getTask('x'))?.state).toBe('input-required')
    expect(await store.orphans(10)).toEqual([])
    expect(await worker(b).leased.acquire('x')).toMatchObject({ type: 'acquired' })
  })

  test('does not release a task that was answered at the last moment', async () => {
    const { clock, store, dead, b, faults } = await crash(begin('x', 'working', 'input-required'), FAIL)
    const grant = await dead.leased.acquire('x')
    let isSent: boolean | undefined
    faults.before = async (step) => {
      if (step !== 'release' || isSent !== undefined) return
      const [stored] = await store.list({ limit: 1 })
      // All that was done to it was its creation.
      const seen = stored?.checkpoint as TaskSnapshot
      isSent = await dead.leased.send(seen, grant.leaseId, says('this one'))
    }
    await pass(clock, 60_000)
    expect(isSent).toBe(true)
    expect((await b.getTask('x'))?.state).toBe('failed')
  })

  test('ends many, in batches within one sweep', async () => {
    const many = Array.from({ length: 250 }, (_, index) => `task ${index}`)
    const { clock, b } = await crash((dead) => {
      for (const id of many) begin(id, 'working')(dead)
    }, FAIL)
    await pass(clock, 31_000)
    clock.advance(10_000)
    for (let turns = 0; turns < 20; turns += 1) await turn()
    expect(await b.countTasks({ state: 'failed' })).toBe(250)
  })

  test('by two at once ends each once', async () => {
    const { clock, store } = await crash(begin('x', 'working'), FAIL)
    replicas(3, { store, ...FAIL }, clock)
    await pass(clock, 60_000)
    const log = await logOf(store, 'x')
    expect(log.filter((event) => event.type === 'status' && event.to === 'failed')).toHaveLength(1)
  })

  test('releases a task that its lifecycle does not let fail', async () => {
    const lifecycle = defineLifecycle({ open: ['closed'], closed: [] })
    const clock = new ManualClock()
    const store = memoryStore({ now: () => clock.now() })
    const dead = new DurableTaskManager({ store, lifecycle, clock: new ManualClock() })
    dead.lease({ onNews: fail, onLost: fail, onOrphan: fail }).createTask({ skill: 'test', id: 'x' })
    const left = new DurableTaskManager({ store, lifecycle, clock, ...FAIL })
    await turn()
    await pass(clock, 60_000)
    expect(await left.stateOf('x')).toBe('open')
    expect(await store.orphans(10)).toEqual([])
    await Promise.all([dead.destroy(), left.destroy()])
  })

  test('keeps the last changes of the dead process', async () => {
    const { clock, store, dead, b, faults } = await crash(begin('x', 'working'), FAIL)
    let isDone = false
    faults.before = async (step) => {
      if (step !== 'acquire' || isDone) return
      isDone = true
      dead.leased.patchTask('x', { state: 'input-required', message: 'Which one?' })
      await dead.leased.stored('x')
    }
    await pass(clock, 60_000)
    expect(isDone).toBe(true)
    expect(await b.getTask('x')).toMatchObject({ state: 'input-required', message: 'Which one?' })
    expect(await store.orphans(10)).toEqual([])
  })

  test('does not fail tasks that this process holds after it was stopped for a while', async () => {
    const { here, a, clock, faults } = workers()
    const { id } = here.leased.createTask({ skill: 'test' })
    await here.leased.stored(id)
    // Nothing is renewed for a while, and then the sweep comes first.
    faults.before = (step) => {
      if (step === 'renew') throw new Error('Standing still')
    }
    clock.advance(31_000)
    faults.before = undefined
    await pass(clock, 40_000)
    expect(here.calls).toEqual([])
    expect((await a.getTask(id))?.state).toBe('submitted')
  })
})

describe('recover: resume', () => {
  const restart = { recover: 'resume' } as const

  test('restarts the work on a task in one process that has a worker', async () => {
    const { clock, store, b } = await crash(begin('x', 'working'), restart)
    const [left, right] = [worker(b), worker(replicas(1, { store, ...restart }, clock).a)]
    await pass(clock, 60_000)
    const calls = [...left.calls, ...right.calls]
    expect(calls).toMatchObject([{ orphan: { id: 'x', state: 'working' }, note: { note: 'x' } }])
    const adopter = left.calls.length > 0 ? left : right
    adopter.leased.patchTask('x', { state: 'completed' })
    expect(await adopter.leased.release('x')).toBe(true)
    expect((await b.getTask('x'))?.state).toBe('completed')
  })

  test('waits until there is a worker', async () => {
    const { clock, store, b } = await crash(begin('x', 'working'), restart)
    await pass(clock, 60_000)
    expect(await store.orphans(10)).toHaveLength(1)
    const { calls } = worker(b)
    await pass(clock, 20_000)
    expect(calls).toMatchObject([{ orphan: { id: 'x' } }])
  })

  test('is not for a task that waits for the user', async () => {
    const { clock, store, b } = await crash(begin('x', 'working', 'input-required'), restart)
    const { calls } = worker(b)
    await pass(clock, 60_000)
    expect(calls).toEqual([])
    expect(await store.orphans(10)).toEqual([])
  })
})

describe('taskTimeoutMs', () => {
  test('fails late tasks once, wherever they are worked on, and aborts their signals everywhere', async () => {
    const { here, a, b, clock, store } = workers({ taskTimeoutMs: 25_000 })
    const { id } = here.leased.createTask({ skill: 'slow' })
    const signals = [here.leased.signalOf(id), await a.signalOf(id), await b.signalOf(id)]
    await here.leased.stored(id)
    await pass(clock, 24_000)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false])
    await pass(clock, 10_000)
    for (const { reason } of signals) expect(reason).toMatchObject({ code: 'TASK_TIMED_OUT' })
    expect(await b.getTask(id)).toMatchObject({ state: 'failed', message: 'Task timed out' })
    expect(await logOf(store, id)).toHaveLength(2)
    expect(here.receivedTypes()).toEqual([['status']])
    // Later callers get the same error.
    const { a: later } = replicas(1, { store }, clock)
    expect((await later.signalOf(id)).reason).toMatchObject({ code: 'TASK_TIMED_OUT' })
  })

  test('fails many within one sweep, and none that has ended', async () => {
    const { a, clock } = replicas(1, { taskTimeoutMs: 5_000 })
    const tasks = await Promise.all(Array.from({ length: 250 }, () => a.createTask({ skill: 'slow' })))
    await a.cancelTask(tasks[0]?.id ?? '')
    clock.advance(10_000)
    for (let turns = 0; turns < 20; turns += 1) await turn()
    expect(await a.countTasks({ state: 'failed' })).toBe(249)
    expect(await a.countTasks({ state: 'canceled' })).toBe(1)
  })
})

function fail(): never {
  throw new Error('It should not have been reported')
}
