/** Runs that are over, and whose executors still hold them: in a timer, in a `finally`. */
import { getEventListeners } from 'node:events'
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Execute, type Run } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { call as ask } from '../dialects/support/dialects.js'
import { settle } from '../durable/support/replicas.js'
import { call, jsonRpc, ORIGIN, user, type Reachable } from '../spec/support/agent.js'
import { EVERY } from '../../compat/support/agent.js'

interface Agent extends Reachable {
  readonly tasks: TaskManager | DurableTaskManager
  readonly clock: ManualClock
}

const EXPIRY_MS = 1_000

function agent(isShared: boolean, execute: Execute): Agent {
  const clock = new ManualClock()
  const store = memoryStore({ now: () => clock.now() })
  const retention = { default: { maxAgeMs: EXPIRY_MS } }
  const tasks = isShared
    ? new DurableTaskManager({ store, clock, retention })
    : new TaskManager({ clock, expiryMs: EXPIRY_MS })
  const handler = createRequestHandler({
    card: { name: 'Test', url: ORIGIN },
    dialects: EVERY,
    clock,
    tasks,
    execute,
  })
  onTestFinished(async () => {
    await handler.close({ graceMs: 1 })
    await tasks.destroy()
  })
  return { handler, tasks, clock }
}

/** What a run was that is over, and was kept. */
async function kept(isShared: boolean, execute: Execute): Promise<Agent & { readonly run: Run }> {
  const runs: Run[] = []
  const made = agent(isShared, (run) => {
    runs.push(run)
    return execute(run)
  })
  await call(jsonRpc, made, 'SendMessage', { message: user('Go') })
  await settle()
  const [run] = runs
  if (run === undefined) throw new Error('It did not begin')
  return { ...made, run }
}

const CHANGES: readonly [string, (run: Run) => unknown][] = [
  ['artifact', (run) => run.artifact('late')],
  ['update', (run) => run.update('late')],
  ['fail', (run) => run.fail('late')],
]

describe.each([
  ['in memory', false],
  ['in a store', true],
])('a run that is over, of a task %s', (_, isShared) => {
  test('shows the task as it ended', async () => {
    const { run } = await kept(isShared, (run) => run.complete('Bye'))
    expect(run.task).toMatchObject({ state: 'completed' })
    expect(run.messages).toMatchObject([{ role: 'user' }, { role: 'agent', parts: [{ text: 'Bye' }] }])
  })

  test.each(CHANGES)('is refused to change it: %s', async (_, change) => {
    const { run } = await kept(isShared, () => 'done')
    expect(() => change(run)).toThrow(
      expect.objectContaining({
        code: 'TASK_TERMINAL',
        data: { taskId: run.task.id, state: 'completed' },
      }) as Error,
    )
  })

  test('has a signal', async () => {
    const { run } = await kept(isShared, () => 'done')
    expect(run.signal.aborted).toBe(false)
  })

  test('shows the task as it was when it waited', async () => {
    const { run } = await kept(isShared, (run) => void run.requireInput('And?'))
    expect(run.task).toMatchObject({ state: 'input-required' })
    expect(run.signal.aborted).toBe(false)
  })

  test('does not change a later task of its id', async () => {
    const runs: Run[] = []
    const { handler, tasks, clock } = agent(isShared, (run) => {
      runs.push(run)
      if (runs.length === 1) return 'done'
      void run.requireInput('And?')
      return undefined
    })
    const params = { id: 'same', message: { role: 'user', parts: [{ type: 'text', text: 'hi' }] } }
    await ask({ handler }, 'tasks/send', params)
    await settle()
    clock.advance(EXPIRY_MS + 1)
    await tasks.prune()
    await ask({ handler }, 'tasks/send', params)
    const [first] = runs
    expect(first?.task).toMatchObject({ state: 'completed' })
    expect(() => first?.artifact('late')).toThrow(expect.objectContaining({ code: 'TASK_TERMINAL' }) as Error)
    expect(first?.signal.aborted).toBe(false)
    expect(await tasks.getTask('same')).toMatchObject({ state: 'input-required', artifacts: [] })
  })
})

test('a run that is over has no part in a task that a store has, and that waits', async () => {
  const { run } = await kept(true, (run) => void run.requireInput('And?'))
  for (const [, change] of CHANGES) {
    expect(() => change(run)).toThrow(expect.objectContaining({ code: 'LEASE_LOST' }) as Error)
  }
})

test('runs that have left a task do not gather on its signal, and the last one follows it', async () => {
  const reasons: unknown[] = []
  const { tasks, handler } = agent(false, (run) => {
    run.signal.addEventListener('abort', () => reasons.push([run.text, run.signal.reason]))
    void run.requireInput('And?')
  })
  if (!(tasks instanceof TaskManager)) throw new TypeError('Tasks in memory are expected')
  const send = (text: string, more = {}): Promise<unknown> =>
    call(jsonRpc, { handler }, 'SendMessage', { message: { ...user(text), ...more } })
  await send('0')
  const [{ id: taskId } = { id: '' }] = tasks.listTasks()
  for (let turn = 1; turn < 20; turn += 1) await send(String(turn), { taskId })
  expect(getEventListeners(tasks.signalOf(taskId), 'abort')).toHaveLength(1)
  await call(jsonRpc, { handler }, 'CancelTask', { id: taskId })
  await settle()
  expect(reasons).toEqual([['19', expect.objectContaining({ code: 'TASK_CANCELED' })]])
})
