/** Errors for frequent mistakes in options. */
import { memoryStore } from 'a2a-tasks/durable'
import {
  createRequestHandler,
  SSEStream,
  textOf,
  type RequestHandlerOptions,
  type Run,
} from 'a2a-tasks/server'
import { kaos } from 'a2a-tasks/compat'
import { describe, expect, test } from 'vitest'
import { thrown } from '../support/manager.js'
import { agent, call, gate, jsonRpc, taskOf, textsOf, user } from './spec/support/agent.js'
import { v1 } from 'a2a-tasks/wire'

const OPTIONS: RequestHandlerOptions = {
  card: { name: 'Test', url: 'https://agent.test' },
  execute: () => undefined,
}

describe('createRequestHandler says what is wrong with', () => {
  test.each<[string, object, string]>([
    ['a manager that is only options', { tasks: { maxTasks: 3 } }, '"tasks" must be a TaskManager'],
    [
      'a manager that is on its way',
      { tasks: Promise.resolve({}) },
      '"tasks" must be a TaskManager, got a promise: await it',
    ],
    [
      'a store in place of its manager',
      { tasks: memoryStore() },
      '"tasks" must be a TaskManager, got a store: new DurableTaskManager({ store })',
    ],
    ['a dialect by its name', { dialects: ['1.0'] }, '"dialects" must hold dialects'],
    [
      'an option that there is not',
      { onerror: () => 0 },
      'Unknown option "onerror" of createRequestHandler, did you mean "onError"?; known are card, execute',
    ],
    [
      'limits that are one',
      { limits: 5 },
      '"limits" must be an object: { maxBodyBytes: 1_000_000 }, got a number',
    ],
    [
      'a limit that there is not',
      { limits: { maxBody: 1 } },
      'Unknown option "limits.maxBody" of createRequestHandler; known are budget, ownerBudget, agentBudget, maxBodyBytes, bodyTimeoutMs',
    ],
    [
      'a preview that there is not',
      { preview: { generations: true } },
      'Unknown option "preview.generations" of createRequestHandler, did you mean "generation"?; known are generation',
    ],
    [
      'a preview without its name',
      { preview: true },
      '"preview" must be an object: { generation: true }, got a boolean',
    ],
    [
      'an option of webhooks that there is not',
      { push: { retryMs: 5 } },
      'Unknown option "push.retryMs" of createRequestHandler; known are timeoutMs, maxAttempts',
    ],
    [
      'webhooks without options',
      { push: true },
      '"push" must be false or an object: {} for the defaults, got a boolean',
    ],
    ['webhooks of a list', { push: ['localhost'] }, '"push" must be false or an object'],
    [
      'a host instead of hosts',
      { push: { allow: 'localhost' } },
      '"push.allow" must be an array of hosts, got a string',
    ],
    [
      'no attempts',
      { push: { maxAttempts: 0 } },
      '"push.maxAttempts" must be an integer from 1 to 2147483647, got 0',
    ],
    ['a dialect by its name, shown', { dialects: ['kaos'] }, 'of a2a-tasks/wire, got "kaos"'],
    ['a dialect that was not called', { dialects: [kaos] }, 'got a function; call it: kaos()'],
    [
      'one dialect',
      { dialects: kaos() },
      '"dialects" must be an array of dialects: [v1(), v0_3()], got an object',
    ],
    [
      'a default in capitals',
      { dialects: [v1(), kaos()], defaultDialect: 'KAOS' },
      '"defaultDialect" must be one of 1.0, kaos, got "KAOS": it is "kaos"',
    ],
    ['no card', { card: undefined }, 'card must be an object: { name, url }, got undefined'],
    [
      'a URL as the card',
      { card: 'http://localhost' },
      'card must be an object: { name, url }, got a string',
    ],
    [
      'the path of a database',
      { tasks: 'tasks.db' },
      '"tasks" must be a TaskManager, got "tasks.db": to open a file, pass await openTasks(path)',
    ],
    ['a card without a place', { card: { name: 'Test' } }, 'card.url is missing: pass the URL'],
    [
      'a place that is none',
      { card: { name: 'Test', url: 'localhost:3000' } },
      'card.url must be an absolute',
    ],
    ['a name in the card', { card: { ...OPTIONS.card, descripton: 'x' } }, 'card.descripton is unknown'],
  ])('%s', (_, options, message) => {
    expect(() => createRequestHandler({ ...OPTIONS, ...options })).toThrow(message)
  })
})

describe('the methods of a run', () => {
  test('may be taken apart', async () => {
    const a = agent(async ({ text, artifact, update, requireInput, complete }) => {
      update('Reading')
      artifact(text)
      artifact(textOf(await requireInput('Which?')))
      complete('Done')
    })
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('first') }))
    const task = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('second', { taskId: id }) }))
    expect(textsOf(task)).toEqual(['first', 'second'])
    expect(task.status.state).toBe('TASK_STATE_COMPLETED')
  })

  test.each<[string, (run: Run) => unknown, string]>([
    [
      'nothing said',
      (run) => run.requireInput(undefined as never),
      'A message of a run must be a text, or an object with parts',
    ],
    [
      'a number said',
      (run) => run.complete(5 as never),
      'A message of a run must be a text, or an object with parts, got a number',
    ],
    ['no parts', (run) => run.artifact({ name: 'report' }), 'an artifact with at least one part'],
    [
      'no such option',
      (run) => run.artifact('a', { last: true } as never),
      'run.artifact(): "last" is unknown',
    ],
    ['no progress', (run) => run.update({}), 'run.update() takes a text, or an object with'],
  ])('name their valid arguments: %s', async (_, mistake, message) => {
    const a = agent((run) => {
      mistake(run)
    })
    const task = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('go') }))
    expect(task.status.state).toBe('TASK_STATE_FAILED')
    expect((a.errors[0]?.error as Error).message).toContain(message)
  })
})

describe('the result of a run, or of a function of the options,', () => {
  test('a text that is returned while a question is open completes the task', async () => {
    const a = agent((run) => {
      void run.requireInput('Which?')
      return 'never mind'
    })
    const task = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('go') }))
    expect([task.status.state, textsOf(task)]).toEqual(['TASK_STATE_COMPLETED', ['never mind']])
    expect(task.status.message).toBeUndefined()
  })

  test('a text that a generator returns is its last', async () => {
    const a = agent(async function* () {
      yield await Promise.resolve('one ')
      return 'two'
    })
    const task = taskOf(await call(jsonRpc, a, 'SendMessage', { message: user('go') }))
    expect(textsOf(task)).toEqual(['one two'])
  })

  test('a message that waits is not swallowed by a text that is returned', async () => {
    const first = gate()
    const a = agent(async (run) => {
      run.start()
      if (run.text === 'first') await first.opened
      return `did ${run.text}`
    })
    const params = { message: user('first'), configuration: { returnImmediately: true } }
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', params))
    const second = call(jsonRpc, a, 'SendMessage', { message: user('second', { taskId: id }) })
    while (a.tasks.peekTask(id)?.messages.length !== 2) await Promise.resolve()
    first.open()
    const task = taskOf(await second)
    expect([task.status.state, textsOf(task)]).toEqual(['TASK_STATE_COMPLETED', ['did first', 'did second']])
  })

  test('of onFollowUp must be a known policy', async () => {
    const first = gate()
    const a = agent(
      (run) => {
        run.start()
        return first.opened
      },
      { onFollowUp: () => 'que' as never },
    )
    const params = { message: user('first'), configuration: { returnImmediately: true } }
    const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', params))
    const { error } = await call(jsonRpc, a, 'SendMessage', { message: user('second', { taskId: id }) })
    expect(error?.reason).toBe('INTERNAL_ERROR')
    expect((a.errors[0]?.error as Error).message).toContain('onFollowUp() must return queue, steer, reject')
    first.open()
  })

  test.each<[string, (run: Run) => unknown]>([
    ['a text', () => 'too late'],
    ['progress', (run) => run.update('too late')],
    ['an artifact', (run) => run.artifact('too late')],
  ])(
    'a run that never looked at its signal may go on after a cancel, without a report: %s',
    async (what, then) => {
      const canceled = gate()
      const over = gate<unknown>()
      const a = agent(async (run) => {
        run.start()
        await canceled.opened
        try {
          const outcome = then(run)
          return typeof outcome === 'string' ? outcome : undefined
        } catch (error) {
          over.open(error)
          throw error
        }
      })
      const params = { message: user('go'), configuration: { returnImmediately: true } }
      const { id } = taskOf(await call(jsonRpc, a, 'SendMessage', params))
      await call(jsonRpc, a, 'CancelTask', { id })
      canceled.open()
      await a.handler.close()
      expect(a.errors).toEqual([])
      if (what !== 'a text') expect(await over.opened).toMatchObject({ code: 'TASK_CANCELED' })
    },
  )
})

describe('a principal that identifies no user', () => {
  test.each([null, undefined])('is refused with 401: %s', async (principal) => {
    const { handler, errors } = agent(() => undefined, { authenticate: () => principal })
    const response = await handler.fetch(new Request('https://agent.test/tasks'))
    expect([response.status, errors]).toEqual([401, []])
  })

  test('and an authenticate that throws is named', async () => {
    const { handler, errors } = agent(() => undefined, {
      authenticate: () => {
        throw new Error('down')
      },
    })
    expect((await handler.fetch(new Request('https://agent.test/tasks'))).status).toBe(500)
    expect(errors).toMatchObject([{ context: { during: 'authenticate' } }])
  })
})

test('fetch says that it takes a Request', async () => {
  const { fetch } = createRequestHandler(OPTIONS)
  await expect(fetch({ headers: {} } as never)).rejects.toThrow('in Node use toNodeListener(handler.fetch)')
})

test('close and dispatch refuse unknown options', async () => {
  const handler = createRequestHandler(OPTIONS)
  await expect(handler.close({ grace: 1 } as never)).rejects.toThrow('close(): "grace" is unknown')
  await expect(handler.dispatch({}, { principle: {} } as never)).rejects.toThrow('"principle" is unknown')
})

test('SSEStream refuses options that are invalid', () => {
  expect(thrown(() => new SSEStream({ heartbeat: 1 } as never))).toEqual(
    new TypeError(
      'Unknown option "heartbeat" of SSEStream, did you mean "heartbeatMs"?; known are maxBufferBytes, heartbeatMs, clock',
    ),
  )
  expect(() => new SSEStream({ heartbeatMs: 0 })).toThrow(
    '"heartbeatMs" must be a number from 1 to 2147483647 ms, got 0',
  )
  expect(() => new SSEStream({ heartbeatMs: '3' as never })).toThrow(
    new TypeError('"heartbeatMs" must be a number from 1 to 2147483647 ms, got "3"'),
  )
})
