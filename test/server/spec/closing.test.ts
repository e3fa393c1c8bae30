import { setImmediate as turn } from 'node:timers/promises'
import type { Run } from 'a2a-tasks/server'
import { describe, expect, test } from 'vitest'
import {
  agent,
  BINDINGS,
  call,
  gate,
  jsonRpc,
  open,
  refused,
  stateName,
  taskOf,
  user,
} from './support/agent.js'
import type { TestAgent } from './support/agent.js'

interface Working extends TestAgent {
  readonly id: string
  readonly finish: () => void
  readonly reasons: unknown[]
}

/** An agent in the middle of a run that heeds its signal, if at all, by ending. */
async function working(heeds = true): Promise<Working> {
  const { opened, open: finish } = gate()
  const began = gate<Run>()
  const reasons: unknown[] = []
  const a = agent(async (run) => {
    run.start()
    began.open(run)
    run.signal.addEventListener('abort', () => {
      reasons.push(run.signal.reason)
      if (heeds) finish()
    })
    await opened
    run.signal.throwIfAborted()
    return 'done'
  })
  const params = { message: user('go'), configuration: { returnImmediately: true } }
  const sent = a.handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })
  const run = await began.opened
  await sent
  return { ...a, id: run.task.id, finish: () => finish(), reasons }
}

describe('close', () => {
  test('lets runs end by themselves within the time', async () => {
    const a = await working()
    const closed = a.handler.close({ graceMs: 1000 })
    a.clock.advance(999)
    a.finish()
    await closed
    expect(a.tasks.getTask(a.id)).toMatchObject({
      state: 'completed',
      artifacts: [{ parts: [{ text: 'done' }] }],
    })
    expect(a.reasons).toEqual([])
    expect(a.errors).toEqual([])
  })

  test('aborts them after it: their tasks fail, in words for the client', async () => {
    const a = await working()
    const closed = a.handler.close({ graceMs: 1000 })
    a.clock.advance(1000)
    await closed
    expect(a.tasks.getTask(a.id)).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: 'The agent was shut down before this task was finished' }] },
    })
    expect(a.reasons).toHaveLength(1)
    expect(a.errors).toEqual([])
  })

  test('waits no longer than it says, also for a run that does not heed its signal', async () => {
    const a = await working(false)
    const closed = a.handler.close({ graceMs: 1000 })
    a.clock.advance(1000)
    await closed
    expect(a.tasks.getTask(a.id)?.state).toBe('failed')
    a.finish()
  })

  test('gives 10 seconds by default', async () => {
    const a = await working()
    const closed = a.handler.close()
    a.clock.advance(9_999)
    expect(a.tasks.getTask(a.id)?.state).toBe('working')
    a.clock.advance(1)
    await closed
    expect(a.tasks.getTask(a.id)?.state).toBe('failed')
  })

  test('leaves tasks that wait for the user as they are', async () => {
    const reasons: unknown[] = []
    const a = agent(async (run) => {
      await run.requireInput('Which?').catch((error: unknown) => {
        reasons.push(error)
        throw error
      })
    })
    const answer = await a.handler.dispatch({
      jsonrpc: '2.0',
      id: 1,
      method: 'SendMessage',
      params: { message: user('go') },
    })
    expect(answer).toHaveProperty('result.task')
    await a.handler.close({ graceMs: 1000 })
    expect(reasons).toMatchObject([{ code: 'UNAVAILABLE' }])
    const [task] = a.tasks.listTasks()
    expect(task?.state).toBe('input-required')
    expect(a.errors).toEqual([])
  })

  test('twice is once', async () => {
    const a = await working()
    const closed = [a.handler.close({ graceMs: 10 }), a.handler.close({ graceMs: 10 })]
    a.clock.advance(10)
    await Promise.all(closed)
    expect(a.tasks.getTask(a.id)?.state).toBe('failed')
    expect(a.clock.pending).toBe(0)
  })

  test('ends a task whose run has returned while a message waits', async () => {
    const first = gate()
    const a = agent(async (run) => {
      run.start()
      await first.opened
    })
    const { id } = taskOf(
      await call(jsonRpc, a, 'SendMessage', {
        message: user('first'),
        configuration: { returnImmediately: true },
      }),
    )
    const second = call(jsonRpc, a, 'SendMessage', { message: user('second', { taskId: id }) })
    while (a.tasks.peekTask(id)?.messages.length !== 2) await turn()
    const closed = a.handler.close()
    first.open()
    await closed
    expect(taskOf(await second).status.state).toBe('TASK_STATE_FAILED')
  })

  test('ends a stream that was taken up where it was', async () => {
    const a = agent((run) => void run.requireAuth('Key?'))
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('x') }))
    const lastEventId = String(a.tasks.peekTask(id)?.generation)
    const stream = await a.handler.dispatch(
      { jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id } },
      { lastEventId },
    )
    if (!(Symbol.asyncIterator in stream)) throw new Error('No stream')
    const next = stream.next()
    await a.handler.close()
    expect((await next).done).toBe(true)
  })

  test.each([Infinity, NaN, -1, 2 ** 31])('refuses a grace of %s', async (graceMs) => {
    await expect(agent(() => undefined).handler.close({ graceMs })).rejects.toThrow('"graceMs" must be')
  })
})

describe.each(BINDINGS)('$name: while it closes, and after', (binding) => {
  test('there is no new work, but answers to questions', async () => {
    const a = await working()
    const closed = a.handler.close({ graceMs: 1000 })
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      const error = await refused(binding, a, operation, { message: user('go') })
      expect(error.reason).toBe('UNAVAILABLE')
    }
    const { result } = await call(binding, a, 'GetTask', { id: a.id })
    expect(stateName(result?.status.state ?? '')).toBe('working')
    a.finish()
    await closed
    expect((await call(binding, a, 'ListTasks', {})).result?.totalSize).toBe(1)
    expect((await refused(binding, a, 'SendMessage', { message: user('go') })).reason).toBe('UNAVAILABLE')
  })

  test('each waiting client gets an answer', async () => {
    const began = gate()
    const a = agent(async (run) => {
      run.start()
      began.open()
      await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
    })
    const sent = call(binding, a, 'SendMessage', { message: user('go') })
    await began.opened
    const closed = a.handler.close({ graceMs: 1 })
    a.clock.advance(1)
    expect(taskOf(await sent).status.state).toBe('TASK_STATE_FAILED')
    await closed
  })

  test('streams are ended, and no others opened', async () => {
    const a = agent(() => 'done')
    const { id } = a.tasks.createTask({ skill: 'test' })
    const stream = await open(binding, a, 'SubscribeToTask', { id })
    expect((await stream.next())?.value).toHaveProperty('task')
    const pending = stream.next()
    await a.handler.close()
    expect(await pending).toBeUndefined()
    expect((await refused(binding, a, 'SubscribeToTask', { id })).reason).toBe('UNAVAILABLE')
    expect(a.tasks.getTask(id)?.state).toBe('submitted')
    expect(a.clock.pending).toBe(0)
  })

  test('a stream of a run that is aborted reports the end of its task', async () => {
    const began = gate()
    const a = agent(async (run) => {
      run.start()
      began.open()
      await new Promise((resolve) => run.signal.addEventListener('abort', resolve))
    })
    const stream = await open(binding, a, 'SendStreamingMessage', { message: user('go') })
    await began.opened
    const rest = stream.rest()
    const closed = a.handler.close({ graceMs: 1 })
    a.clock.advance(1)
    await closed
    expect((await rest).at(-1)?.value.statusUpdate?.status.state).toBe('TASK_STATE_FAILED')
  })
})
