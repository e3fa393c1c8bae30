/** Many tasks of one moment, clocks that leap, ids that are used again, a store that is away at the wrong time. */
import { saveTasks } from 'a2a-tasks'
import {
  DurableTaskManager,
  memoryStore,
  type DurableTaskManagerOptions,
  type StoreQuery,
  type TaskStore,
} from 'a2a-tasks/durable'
import type { Clock } from 'a2a-tasks'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, it, onTestFinished } from 'vitest'
import { turn } from './support/durable.js'

const DAY_MS = 86_400_000
const LISTENER = { onNews: () => undefined, onLost: () => undefined, onOrphan: () => undefined }

/** The store, but for these methods. */
function altered(store: TaskStore, methods: Partial<TaskStore>): TaskStore {
  return new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(methods, name) ?? Reflect.get(target, name)
      // Methods of a class want their instance.
      return typeof method === 'function'
        ? (...given: unknown[]) => Reflect.apply(method, target, given) as unknown
        : method
    },
  })
}

function managerOf(options: DurableTaskManagerOptions): DurableTaskManager {
  const manager = new DurableTaskManager(options)
  onTestFinished(() => manager.destroy())
  return manager
}

async function pass(clock: ManualClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 1_000) {
    clock.advance(1_000)
    for (let turns = 0; turns < 5; turns += 1) await turn()
  }
}

describe('listTasks() and snapshot()', () => {
  it('come to an end when more tasks than a page have changed in one millisecond', async () => {
    const inner = memoryStore()
    let asked = 0
    const list = (query: StoreQuery): ReturnType<TaskStore['list']> => {
      asked += 1
      return asked > 50 ? Promise.reject(new Error('There is no end')) : inner.list(query)
    }
    const tasks = managerOf({ store: altered(inner, { list }), clock: new ManualClock(), storeRetryMs: 1 })
    for (let index = 0; index < 501; index += 1) await tasks.createTask({ skill: 'copy' })
    expect(await tasks.listTasks()).toHaveLength(501)
  })

  it('miss no task that a slower clock moves ahead of where they are', async () => {
    const [slow, fast] = [new ManualClock(), new ManualClock()]
    fast.advance(60_000)
    const inner = memoryStore()
    let between: (() => Promise<unknown>) | undefined
    const list = async (query: StoreQuery): ReturnType<TaskStore['list']> => {
      const page = await inner.list(query)
      const job = between
      between = undefined
      await job?.()
      return page
    }
    const a = managerOf({ store: inner, clock: slow })
    const b = managerOf({ store: altered(inner, { list }), clock: fast })
    const first = await a.createTask({ skill: 'copy' })
    for (let index = 0; index < 599; index += 1) {
      slow.advance(1)
      await a.createTask({ skill: 'copy' })
    }
    await b.createTask({ skill: 'copy' })
    slow.advance(1)
    between = () => a.addMessage(first.id, { role: 'user', parts: [{ text: 'Not so fast' }] })
    const all = await saveTasks(b)
    expect(all).toHaveLength(601)
    expect(all.map(({ id }) => id)).toContain(first.id)
  })
})

describe('sweeping', () => {
  it('counts by the clock, not by the latest that it ever said', async () => {
    const [clock, odd] = [new ManualClock(), new ManualClock()]
    const store = memoryStore({ now: () => clock.now() })
    let leap = 40 * DAY_MS
    const leaping: Clock = {
      now: () => odd.now() + leap,
      monotonic: () => odd.now(),
      schedule: (job, ms) => odd.schedule(job, ms),
    }
    const a = managerOf({ store, clock: leaping, taskTimeoutMs: 3_600_000 })
    const b = managerOf({ store, clock })
    await a.createTask({ skill: 'leap' })
    leap = 0
    const ended = await b.createTask({ skill: 'copy' })
    await b.cancelTask(ended.id)
    const live = await b.createTask({ skill: 'copy' })
    await pass(odd, 30_000)
    expect(await b.stateOf(ended.id)).toBe('canceled')
    expect(await b.stateOf(live.id)).toBe('submitted')
  })

  it('times out no task that has the id of one that was late', async () => {
    const clock = new ManualClock()
    const inner = memoryStore({ now: () => clock.now() })
    let between: (() => Promise<unknown>) | undefined
    const unended: TaskStore['unended'] = async (...given) => {
      const late = await inner.unended(...given)
      const job = between
      if (late.length > 0) between = undefined
      if (late.length > 0) await job?.()
      return late
    }
    managerOf({ store: altered(inner, { unended }), clock, taskTimeoutMs: 60_000 })
    const other = managerOf({ store: inner, clock, retention: { default: { maxAgeMs: 0 } } })
    await other.createTask({ skill: 'old', id: 'x' })
    between = async () => {
      await other.cancelTask('x')
      clock.advance(1)
      await other.prune()
      await other.createTask({ skill: 'new', id: 'x' })
    }
    await pass(clock, 75_000)
    expect(between).toBeUndefined()
    expect(await other.getTask('x')).toMatchObject({ skill: 'new', state: 'submitted' })
  })

  it('keeps what is to be kept for longer than there are dates', async () => {
    const clock = new ManualClock()
    const store = memoryStore({ now: () => clock.now() })
    const forever = { maxAgeMs: Number.MAX_SAFE_INTEGER }
    const tasks = managerOf({ store, clock, retention: { completed: forever, default: { maxAgeMs: 1_000 } } })
    const { id } = await tasks.createTask({ skill: 'copy' })
    await tasks.cancelTask(id)
    await pass(clock, 20_000)
    expect(await tasks.getTask(id)).toBeNull()
  })
})

describe('acquire()', () => {
  it('leaves no lease behind when it fails', async () => {
    const clock = new ManualClock()
    const inner = memoryStore({ now: () => clock.now() })
    let isAway = false
    const acquire: TaskStore['acquire'] = async (...given) => {
      const taken = await inner.acquire(...given)
      isAway = true
      return taken
    }
    const heads: TaskStore['heads'] = (ids) => (isAway ? Promise.reject(new Error('Away')) : inner.heads(ids))
    const a = managerOf({ store: altered(inner, { acquire, heads }), clock, storeRetryMs: 1 })
    const b = managerOf({ store: inner, clock })
    const { id } = await b.createTask({ skill: 'copy' })
    await expect(a.lease(LISTENER).acquire(id)).rejects.toMatchObject({ code: 'STORE_FAILED' })
    expect(await b.lease(LISTENER).acquire(id)).toMatchObject({ type: 'acquired' })
  })
})

describe('a task that was given back', () => {
  it('does not stay in memory because its signal was asked for', async () => {
    const clock = new ManualClock()
    const tasks = managerOf({ store: memoryStore({ now: () => clock.now() }), clock, maxCached: 1 })
    const leased = tasks.lease(LISTENER)
    const ids: string[] = []
    for (let index = 0; index < 20; index += 1) {
      const { id } = leased.createTask({ skill: 'ask' })
      expect(leased.signalOf(id).aborted).toBe(false)
      leased.patchTask(id, { state: 'working' })
      leased.patchTask(id, { state: 'input-required' })
      await leased.stored(id)
      expect(await leased.release(id)).toBe(true)
      ids.push(id)
    }
    expect(ids.filter((id) => tasks.lastSeen(id) !== undefined).length).toBeLessThan(5)
  })
})
