/** Client-chosen ids of 0.1 and LiteLLM-RS: one may be reused after its task was deleted, while the old run continues. */
import { TaskManager } from 'a2a-tasks'
import { createRequestHandler, type Run } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { agent, EVERY } from '../../compat/support/agent.js'
import { gate, type TestAgent } from '../spec/support/agent.js'
import { call, failure, fetched, result, send } from '../dialects/support/dialects.js'
import { expectWarnings } from '../../support/warnings.js'

const sending = (id: string, text: string) => ({
  id,
  historyLength: 10,
  message: { role: 'user', parts: [{ type: 'text', text }] },
})

/** One task fits, so that the next one drives out the last. */
const SMALL = { maxTasks: 1, whenFull: 'evict-terminal' } as const

interface Worked {
  readonly run: Run
  readonly finish: (outcome?: string | Error) => void
}

/** An agent that works on as long as the test says, whatever becomes of its task. */
function stubborn(options: Parameters<typeof agent>[1] = {}): { a: TestAgent; works: Worked[] } {
  const works: Worked[] = []
  const a = agent(
    async (run) => {
      const { opened, open } = gate<string | Error | undefined>()
      works.push({ run, finish: open })
      const outcome = await opened
      if (outcome instanceof Error) throw outcome
      return outcome
    },
    { tasks: SMALL, ...options },
  )
  return { a, works }
}

/** Puts another task in the place of the one that has ended, and ends that. */
function driveOut(a: TestAgent): void {
  a.tasks.cancelTask(a.tasks.createTask({ skill: 'other' }).id)
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

/** A run continues whose task is canceled and gone, and another client without a principal has a task of the same id. */
async function reused(options?: Parameters<typeof agent>[1]): Promise<{ a: TestAgent; works: Worked[] }> {
  const { a, works } = stubborn(options)
  void call(a, 'tasks/send', sending('report', 'for alice'))
  await settled()
  await result(a, 'tasks/cancel', { id: 'report' })
  driveOut(a)
  void call(a, 'tasks/send', sending('report', 'for mallory'))
  await settled()
  expect(works).toHaveLength(2)
  return { a, works }
}

const MALLORYS = {
  status: { state: 'working' },
  history: [{ role: 'user', parts: [{ text: 'for mallory' }] }],
}

async function expectUntouched(a: TestAgent): Promise<void> {
  await settled()
  const task = await result(a, 'tasks/get', { id: 'report', historyLength: 10 })
  expect(task).toMatchObject(MALLORYS)
  expect(task).not.toHaveProperty('artifacts')
  expect(task['history']).toHaveLength(1)
}

describe('a run whose task is gone does nothing to the one that has its id', () => {
  test('by its result', async () => {
    const { a, works } = await reused()
    works[0]?.finish("alice's secret")
    await expectUntouched(a)
    works[1]?.finish("mallory's own")
    await a.tasks.waitFor('report')
    expect(await result(a, 'tasks/get', { id: 'report' })).toMatchObject({
      status: { state: 'completed' },
      artifacts: [{ parts: [{ text: "mallory's own" }] }],
    })
  })

  test('by its error', async () => {
    const { a, works } = await reused()
    works[0]?.finish(new Error('boom'))
    await expectUntouched(a)
  })

  test('by its methods, which say that the task is gone', async () => {
    const { a, works } = await reused()
    const run = works[0]?.run
    const expired = expect.objectContaining({ code: 'TASK_EXPIRED' }) as Error
    for (const act of [
      () => run?.artifact('secret'),
      () => run?.update('secret'),
      () => run?.complete('secret'),
      () => run?.fail('secret'),
      () => run?.task,
      () => run?.messages,
    ]) {
      expect(act).toThrow(expired)
    }
    expect(run?.signal.aborted).toBe(true)
    await expectUntouched(a)
  })

  test('by taking too long', async () => {
    const { a } = await reused({ limits: { runTimeoutMs: 1_000 } })
    a.clock.advance(500)
    await expectUntouched(a)
  })

  test('when its task has expired, as when it was evicted', async () => {
    const { a, works } = stubborn({ tasks: { expiryMs: 1_000 } })
    void call(a, 'tasks/send', sending('report', 'for alice')).catch(() => undefined)
    await settled()
    a.clock.advance(2_000)
    a.tasks.prune()
    void call(a, 'tasks/send', sending('report', 'for mallory'))
    await settled()
    works[0]?.finish("alice's secret")
    await expectUntouched(a)
  })
})

test('a message that waited for a run is dropped with its task', async () => {
  const { a, works } = stubborn()
  void call(a, 'tasks/send', sending('report', 'for alice'))
  await settled()
  void call(a, 'tasks/send', sending('report', 'more for alice'))
  await settled()
  await result(a, 'tasks/cancel', { id: 'report' })
  driveOut(a)
  void call(a, 'tasks/send', sending('report', 'for mallory'))
  await settled()
  works[0]?.finish()
  await expectUntouched(a)
  expect(works.map(({ run }) => run.text)).toEqual(['for alice', 'for mallory'])
})

describe('a task that has to be there', () => {
  test('and is canceled by a listener is answered as it is, and not worked on', async () => {
    let works = 0
    const a = agent(() => {
      works += 1
      return 'done'
    })
    a.tasks.on('task:message', ({ taskId }) => a.tasks.cancelTask(taskId))
    expect(await result(a, 'tasks/send', sending('filtered', 'bad'))).toMatchObject({
      status: { state: 'canceled' },
    })
    expect([works, a.errors]).toEqual([0, []])
  })

  test('and finds no room is refused, and no error is reported', async () => {
    const a = agent(() => new Promise(() => {}), { tasks: { maxTasks: 1 } })
    await send(a, '/a2a/tasks/send', { message: 'Hello' })
    expect(await failure(a, 'tasks/send', sending('second', 'Hello'))).toMatchObject({ code: -32603 })
    expect(a.errors).toEqual([])
    expect(a.tasks.size()).toBe(1)
  })
})

test('a client of corvid-agent does not wait longer than it says for a task that asks', async () => {
  for (const isAwaited of [true, false]) {
    const a = agent(async (run) => {
      const answer = run.requireInput('Really?')
      if (isAwaited) await answer
    })
    const { body } = await send(a, '/a2a/tasks/send', { message: 'Hello', timeoutMs: 5_000 })
    await settled()
    a.clock.advance(4_999)
    const path = `/a2a/tasks/${body['id'] as string}`
    expect((await fetched(a, path)).body).toMatchObject({ state: 'working' })
    a.clock.advance(1)
    expect((await fetched(a, path)).body).toMatchObject({ state: 'failed' })
  }
})

test('an empty A2A-Version leaves it to the query', async () => {
  const a = agent(() => 'done')
  const request = new Request('https://agent.test/?A2A-Version=9.0', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ListTasks' }),
  })
  expect(await (await a.handler.fetch(request)).json()).toMatchObject({ error: { code: -32009 } })
})

test('an onError that is async may fail', async () => {
  expectWarnings(/^onError: Error: outside/)
  const failing: () => unknown = () => Promise.reject(new Error('outside'))
  const unhandled: unknown[] = []
  const listener = (reason: unknown): unknown => unhandled.push(reason)
  process.on('unhandledRejection', listener)
  const a = agent(
    () => {
      throw new Error('inside')
    },
    // Async, as functions without a result may be.
    { onError: failing },
  )
  await call(a, 'tasks/send', sending('one', 'Hello'))
  await settled()
  process.off('unhandledRejection', listener)
  expect(unhandled).toEqual([])
})

test('a handler that is closed leaves no listener behind, and its runs leave their tasks alone', async () => {
  const clock = new ManualClock()
  const tasks = new TaskManager({ clock })
  let run: Run | undefined
  const handler = createRequestHandler({
    card: { name: 'Test', url: 'https://agent.test' },
    dialects: EVERY,
    tasks,
    clock,
    execute: (given) => {
      run = given
      void given.requireInput('Really?').catch(() => undefined)
      return new Promise(() => {})
    },
  })
  await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'tasks/send', params: sending('one', 'Hello') })
  const closing = handler.close({ graceMs: 5 })
  await settled()
  clock.advance(5)
  await closing
  expect(tasks.getTask('one')).toMatchObject({ state: 'input-required' })
  expect(() => run?.complete('late')).toThrow(expect.objectContaining({ code: 'UNAVAILABLE' }) as Error)
  expect(['task:evicted', 'task:expired'].map((name) => tasks.listenerCount(name as 'task:evicted'))).toEqual(
    [0, 0],
  )
})

test('a task that is made with an id whose last removal is still being emitted has its own run', async () => {
  const { a, works } = stubborn()
  void call(a, 'tasks/send', sending('report', 'for alice'))
  await settled()
  a.clock.advance(1)
  a.tasks.on('task:stateChange', ({ taskId, to }) => {
    if (taskId !== 'report' || to !== 'canceled') return
    // Changes by a listener are emitted after all listeners have received this one.
    driveOut(a)
    const params = sending('report', 'for mallory')
    const body = { jsonrpc: '2.0', id: 1, method: 'tasks/send', params }
    void a.handler.dispatch(body)
  })
  await call(a, 'tasks/cancel', { id: 'report' })
  await settled()
  works[0]?.finish("alice's secret")
  await expectUntouched(a)
  works[1]?.finish("mallory's own")
  await a.tasks.waitFor('report')
  expect(a.tasks.getTask('report')).toMatchObject({ artifacts: [{ parts: [{ text: "mallory's own" }] }] })
})

describe('an answer that a run has not looked at', () => {
  test.each([['a text'], [undefined]])(
    'is not kept for another task of its id: returning %s',
    async (outcome) => {
      const received: unknown[] = []
      const opens: ((outcome?: string) => void)[] = []
      const a = agent(
        async (run) => {
          const { opened, open } = gate<string | undefined>()
          opens.push(open)
          const question = opens.length === 1 ? run.requireInput('Really?') : undefined
          const returned = await opened
          if (question === undefined) received.push((await run.requireInput('Which?')).parts)
          return returned
        },
        { tasks: SMALL },
      )
      void call(a, 'tasks/send', sending('report', 'for alice'))
      await settled()
      void call(a, 'tasks/send', sending('report', "alice's secret"))
      await settled()
      await call(a, 'tasks/cancel', { id: 'report' })
      driveOut(a)
      void call(a, 'tasks/send', sending('report', 'for mallory'))
      await settled()
      opens[0]?.(outcome)
      await settled()
      opens[1]?.()
      await settled()
      expect(received).toEqual([])
      expect(a.tasks.getTask('report')).toMatchObject({ state: 'input-required' })
    },
  )
})
