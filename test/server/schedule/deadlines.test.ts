/** Tasks that have to have ended in time. */
import type { JsonObject } from 'a2a-tasks/schemas'
import type { Execute } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { begin, get, pass, replicas, settle, textOf, type Replica } from '../durable/support/replicas.js'
import { agent } from '../../compat/support/agent.js'
import { call, gate, jsonRpc, post, user, type Reachable } from '../spec/support/agent.js'

/** Asks until it is told that this is all. */
const asking: Execute = async (run) => {
  if (run.text === 'That is all') return 'done'
  await run.requireInput('And?')
  return undefined
}
const TIMEOUT_MS = 120_000
/** No run is let go while it waits. */
const WAITING = { limits: { waitingRunMs: 10 * TIMEOUT_MS } }

/** A task that corvid-agent gives so long. */
async function given({ handler }: Reachable, timeoutMs = TIMEOUT_MS): Promise<string> {
  const answer = await handler.fetch(post('/a2a/tasks/send', { message: 'Go', timeoutMs }))
  await settle()
  return ((await answer.json()) as { id: string }).id
}

/** What came of a task that another client wants to have this id. */
async function taken({ handler }: Reachable, id: string): Promise<JsonObject> {
  const params = { id, message: { role: 'user', parts: [{ type: 'text', text: 'Mine' }] } }
  const answer = await handler.fetch(post('/', { jsonrpc: '2.0', id: 1, method: 'tasks/send', params }))
  return (await answer.json()) as JsonObject
}

const hasFailed = async (at: Replica, id: string): Promise<boolean> =>
  (await at.tasks.stateOf(id)) === 'failed'

describe('where tasks are shared, the time that a client gives a task', () => {
  test('fails it where it waits for the user without a holder', async () => {
    const { a, b, clock } = replicas((run) => void run.requireInput('And?'))
    const id = await given(a)
    clock.advance(TIMEOUT_MS - 1)
    await settle()
    expect(await hasFailed(b, id)).toBe(false)
    clock.advance(1)
    await pass(clock, () => hasFailed(b, id))
    expect(textOf((await get(b, id)).status.message ?? { parts: [] })).toBe('Task timed out')
  })

  test('fails it where another process works on it by now', async () => {
    const reasons: unknown[] = []
    const asks: Execute = (run) => void run.requireInput('And?')
    const waits: Execute = async (run) => {
      await run.requireInput('And?').catch((reason: unknown) => reasons.push(reason))
    }
    const { a, b, clock } = replicas([asks, waits], WAITING)
    const id = await given(a)
    await begin(b, 'More', id)
    await settle()
    await pass(clock, () => hasFailed(a, id))
    await pass(clock, () => reasons.length > 0)
    expect([...a.errors, ...b.errors]).toEqual([])
  })

  test('fails it though this process has lost its lease', async () => {
    const { a, b, clock } = replicas([asking, (run) => void run.requireInput('And?')], WAITING)
    const id = await given(a)
    a.store.fail('renew', 'commit')
    const start = clock.now()
    await pass(clock, () => clock.now() - start >= 60_000)
    await begin(b, 'More', id)
    a.store.mend()
    await pass(clock, () => a.errors.length > 0)
    expect(a.errors).toMatchObject([{ error: { code: 'LEASE_LOST' } }])
    expect(await hasFailed(b, id)).toBe(false)
    await pass(clock, () => hasFailed(b, id))
    expect(clock.now() - start).toBeGreaterThanOrEqual(TIMEOUT_MS)
  })

  test('fails it though this process learns at that moment that it has lost its lease', async () => {
    const { a, b, clock } = replicas([asking, (run) => void run.requireInput('And?')], WAITING)
    const id = await given(a)
    a.store.fail('renew', 'heads', 'events')
    a.store.deafen()
    const start = clock.now()
    await pass(clock, () => clock.now() - start >= 60_000)
    await begin(b, 'More', id)
    await pass(clock, () => clock.now() - start >= TIMEOUT_MS - 1_000)
    expect(a.errors).toEqual([])
    a.store.mend()
    clock.advance(1_000)
    await pass(clock, () => hasFailed(b, id))
  })

  test('does not apply to a later task with the same id', async () => {
    const { a, b, clock } = replicas([(run) => void run.requireInput('And?'), asking], {
      manager: { retention: { default: { maxAgeMs: 1 } }, sweepIntervalMs: 1_000 },
    })
    const id = await given(a)
    await call(jsonRpc, b, 'SendMessage', { message: user('That is all', { taskId: id }) })
    await pass(clock, async () => (await b.tasks.peekTask(id)) === null)
    void taken(b, id)
    await settle()
    const start = clock.now()
    await pass(clock, () => clock.now() - start > 2 * TIMEOUT_MS)
    expect(await b.tasks.peekTask(id)).toMatchObject({ state: 'input-required' })
    expect([...a.errors, ...b.errors]).toEqual([])
  })
})

describe('where tasks are in memory, the time that a client gives a task', () => {
  test('is over when the task has ended', async () => {
    const a = agent(asking, { limits: { waitingTimeoutMs: Infinity } })
    const before = a.clock.pending
    const id = await given(a)
    a.clock.advance(0)
    expect(a.clock.pending).toBe(before + 1)
    await call(jsonRpc, a, 'SendMessage', { message: user('Enough', { taskId: id }) })
    expect(a.tasks.getTask(id)).toMatchObject({ state: 'completed' })
    await settle()
    expect(a.clock.pending).toBe(before)
  })

  test('does not apply to a later task with the same id', async () => {
    const a = agent((run) => void run.requireInput('And?'), { tasks: { expiryMs: 1_000 } })
    const id = await given(a)
    a.clock.advance(2_000)
    a.tasks.prune()
    await taken(a, id)
    a.clock.advance(TIMEOUT_MS)
    expect(a.tasks.getTask(id)).toMatchObject({ state: 'input-required' })
  })
})

describe('a deadline that has passed before its timer fires', () => {
  const late: Readonly<Record<string, Execute>> = {
    'a result': () => 'late',
    'a call of complete()': (run) => run.complete('late'),
    'a stream': async function* () {
      await Promise.resolve()
      yield 'late'
    },
    'the output of a step': async (run) => await run.step('work', () => 'late'),
  }
  test.each(Object.keys(late))('fails the task, though %s comes at that moment', async (what) => {
    const timers = new ManualClock()
    let passedMs = 0
    const clock = {
      now: () => timers.now() + passedMs,
      schedule: (callback: () => void, ms: number) => timers.schedule(callback, ms),
    }
    const began = gate()
    const { handler, tasks, errors } = agent(
      async (run) => {
        run.start()
        await began.opened
        return late[what]?.(run)
      },
      { clock, tasks: { clock } },
    )
    const id = await given({ handler })
    passedMs = TIMEOUT_MS
    began.open()
    await settle()
    const task = tasks.getTask(id)
    expect(task).toMatchObject({ state: 'failed', message: { parts: [{ text: 'Task timed out' }] } })
    expect(task?.artifacts).toEqual([])
    expect(errors).toMatchObject([{ error: { code: 'TASK_TIMED_OUT' } }])
  })
})
