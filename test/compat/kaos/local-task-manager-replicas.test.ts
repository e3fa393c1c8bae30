/** Local task managers of several processes over one store. */
import { DurableTaskManager, type DurableTaskManagerOptions } from 'a2a-tasks/durable'
import {
  LocalTaskManager,
  taskManagerFromEnvironment,
  type ProcessContext,
  type ProcessFn,
} from 'a2a-tasks/compat'
import { type ErrorContext } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { memoryStore } from 'a2a-tasks/durable'
import { describe, expect, onTestFinished, test } from 'vitest'
import { replicas } from '../../durable/support/durable.js'
import { FaultyStore, pass, settle } from '../../server/durable/support/replicas.js'
import { gate } from '../../server/spec/support/agent.js'
import { rejection, textsOf } from './support/local.js'

interface Replica {
  readonly manager: LocalTaskManager
  readonly tasks: DurableTaskManager
  readonly errors: { readonly error: unknown; readonly context: ErrorContext }[]
}

interface Pair {
  readonly a: Replica
  readonly b: Replica
  readonly clock: ManualClock
}

/** `b` works by `second`, which may differ. */
function pair(
  [first, second]: readonly [ProcessFn, ProcessFn],
  options: Partial<DurableTaskManagerOptions> = {},
): Pair {
  const { managers, clock } = replicas(2, options)
  const [a, b] = managers.map((tasks, at): Replica => {
    const errors: Replica['errors'] = []
    const onError = (error: unknown, context: ErrorContext): void => void errors.push({ error, context })
    const manager = new LocalTaskManager(at === 0 ? first : second, { tasks, clock, onError })
    return { manager, tasks, errors }
  })
  if (a === undefined || b === undefined) throw new Error('There are two')
  return { a, b, clock }
}

/** Work that says when it began, and heeds its signal. */
function slow(): {
  readonly work: ProcessFn
  readonly began: Promise<string>
  readonly signals: AbortSignal[]
} {
  const began = gate<string>()
  const signals: AbortSignal[] = []
  const work: ProcessFn = (_, { taskId, signal }) => {
    signals.push(signal)
    began.open(taskId)
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
    })
  }
  return { work, began: began.opened, signals }
}

const echo: ProcessFn = (text) => `Echo: ${text}`

test('another process reads, awaits and cancels a task', async () => {
  const { work, began, signals } = slow()
  const { a, b, clock } = pair([work, echo])
  const sent = a.manager.sendMessage('go')
  const id = await began
  await pass(clock, async () => (await b.manager.getTask(id))?.state === 'working')
  const awaited = b.manager.waitForCompletion(id)
  expect(await b.manager.cancelTask(id)).toBe(true)
  await pass(clock, () => signals[0]?.aborted === true)
  expect(signals[0]?.reason).toMatchObject({ code: 'TASK_CANCELED' })
  expect(await sent).toMatchObject({ state: 'canceled', message: 'Canceled by request' })
  expect(await awaited).toMatchObject({ id, state: 'canceled' })
  expect([...a.errors, ...b.errors]).toEqual([])
})

test('a task is stored before the work on it begins, and no work begins while the store fails', async () => {
  const store = new FaultyStore(memoryStore())
  const stored: boolean[] = []
  const { a, b, clock } = pair(
    [async (_, { taskId }) => String(stored.push((await b.manager.getTask(taskId)) !== null)), echo],
    { store: store.asStore, storeRetryMs: 1_000 },
  )
  await a.manager.sendMessage('go')
  expect(stored).toEqual([true])
  store.fail('create')
  const refused = rejection(a.manager.sendMessage('go'))
  let isRefused = false
  void refused.then(() => (isRefused = true))
  await pass(clock, () => isRefused)
  expect(await refused).toMatchObject({ code: 'STORE_FAILED' })
  expect(stored).toHaveLength(1)
})

describe('when the process of the work dies', () => {
  test("another one begins it again with recover: 'resume'", async () => {
    const { work, began } = slow()
    const { a, b, clock } = pair([work, echo], { recover: 'resume' })
    void a.manager.sendMessage('go', { sessionId: 's', owner: 'ann' }).catch(() => undefined)
    const id = await began
    // Without its manager, nothing renews the lease.
    void a.tasks.destroy()
    await pass(clock, async () => (await b.manager.getTask(id))?.state === 'completed')
    const task = await b.manager.getTask(id)
    expect(textsOf(task)).toEqual(['user: go', 'agent: Echo: go'])
    expect(task?.history.map(({ state }) => state)).toEqual(['submitted', 'working', 'completed'])
    expect(b.errors).toEqual([])
  })

  test("the task fails with recover: 'fail'", async () => {
    const { work, began } = slow()
    const { a, b, clock } = pair([work, echo], { recover: 'fail' })
    void a.manager.sendMessage('go').catch(() => undefined)
    const id = await began
    void a.tasks.destroy()
    await pass(clock, async () => (await b.manager.getTask(id))?.state === 'failed')
    expect(b.errors).toEqual([])
  })
})

describe('shutdown', () => {
  test("hands the work over with recover: 'resume': the sender is asked to try again", async () => {
    const { work, began, signals } = slow()
    const { a, b, clock } = pair([work, echo], { recover: 'resume' })
    const sent = rejection(a.manager.sendMessage('go'))
    const id = await began
    await a.manager.shutdown()
    expect(await sent).toMatchObject({ code: 'UNAVAILABLE' })
    expect(signals[0]?.reason).toMatchObject({ code: 'UNAVAILABLE' })
    expect(await a.manager.getTask(id)).toMatchObject({ state: 'working' })
    const begun = clock.now()
    await pass(clock, async () => (await b.manager.getTask(id))?.state === 'completed')
    // At the next sweep, and not when the lease would have expired.
    expect(clock.now() - begun).toBeLessThanOrEqual(11_000)
    expect([...a.errors, ...b.errors]).toEqual([])
  })

  test("cancels the tasks with recover: 'fail'", async () => {
    const { work, began } = slow()
    const { a, b } = pair([work, echo], { recover: 'fail' })
    const sent = a.manager.sendMessage('go')
    const id = await began
    await a.manager.shutdown()
    expect(await sent).toMatchObject({ id, state: 'canceled' })
    expect(await b.manager.getTask(id)).toMatchObject({
      message: 'The agent was shut down before this task was finished',
    })
    expect(await rejection(a.manager.sendMessage('go'))).toMatchObject({ code: 'UNAVAILABLE' })
  })
})

test('work whose lease is lost is aborted with LEASE_LOST, and its answer is dropped', async () => {
  const clock = new ManualClock()
  const shared = memoryStore({ now: () => clock.now() })
  const ways = [new FaultyStore(shared), new FaultyStore(shared)] as const
  const errors: unknown[] = []
  const began = gate<ProcessContext>()
  const finish = gate<string>()
  const again = gate()
  const finishAgain = gate<string>()
  const late: ProcessFn = (_, context) => {
    began.open(context)
    return finish.opened
  }
  const other: ProcessFn = () => {
    again.open()
    return finishAgain.opened
  }
  const [a, b] = ways.map((way, at) => {
    const tasks = new DurableTaskManager({
      ...{ store: way.asStore, clock, recover: 'resume', onError: () => undefined },
    })
    onTestFinished(() => tasks.destroy())
    const onError = (error: unknown): void => void errors.push(error)
    return new LocalTaskManager(at === 0 ? late : other, { tasks, clock, onError })
  })
  const sent = rejection(a?.sendMessage('go') ?? Promise.resolve())
  const { signal, taskId: id } = await began.opened
  // Its renewals do not arrive, and another process takes the task over.
  ways[0].fail('renew')
  let isTaken = false
  void again.opened.then(() => (isTaken = true))
  await pass(clock, () => isTaken)
  ways[0].mend()
  await pass(clock, () => signal.aborted)
  expect(signal.reason).toMatchObject({ code: 'LEASE_LOST' })
  expect(await sent).toBe(signal.reason)
  finish.open('too late')
  await settle()
  finishAgain.open('in time')
  await pass(clock, async () => (await b?.getTask(id))?.state === 'completed')
  expect(errors).toEqual([signal.reason])
  expect(textsOf((await b?.getTask(id)) ?? null)).toEqual(['user: go', 'agent: in time'])
})

test('a manager that the environment does not choose takes no leases', async () => {
  const { managers, clock } = replicas(2, { recover: 'resume' })
  const [a, b] = managers
  if (a === undefined || b === undefined) throw new Error('There are two')
  let count = 0
  const env = { TASK_STORE_TYPE: 'none' }
  taskManagerFromEnvironment(() => String(++count), { env, tasks: b, clock })
  const { work, began } = slow()
  void new LocalTaskManager(work, { tasks: a, clock }).sendMessage('go').catch(() => undefined)
  const id = await began
  void a.destroy()
  await pass(clock, async () => {
    const task = await b.getTask(id)
    return clock.now() > Date.parse(task?.createdAt ?? '') + 120_000
  })
  expect(count).toBe(0)
})

test('no more than maxTasks are worked on at the same time', async () => {
  const { work, began } = slow()
  const { managers, clock } = replicas(1)
  const [tasks] = managers
  const manager = new LocalTaskManager(work, { tasks, clock, maxTasks: 1 })
  const first = manager.sendMessage('go')
  const id = await began
  expect(await rejection(manager.sendMessage('go'))).toMatchObject({
    code: 'TASK_LIMIT_REACHED',
    data: { maxTasks: 1 },
  })
  await manager.cancelTask(id)
  await first
  void manager.sendMessage('go').catch(() => undefined)
  await settle()
  expect(await tasks?.countTasks()).toBe(2)
})

test('a second one over the same manager is refused, until the first has shut down', async () => {
  const { managers } = replicas(1)
  const [tasks] = managers
  if (tasks === undefined) throw new Error('There is one')
  const first = new LocalTaskManager(() => 'one', { tasks })
  const again = (): LocalTaskManager => new LocalTaskManager(() => 'two', { tasks })
  expect(again).toThrow(
    new TypeError(
      '"tasks" has a LocalTaskManager already, whose function would continue the work of this one',
    ),
  )
  await first.shutdown()
  expect(textsOf(await again().sendMessage('go')).at(-1)).toBe('agent: two')
})
