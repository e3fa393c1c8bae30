/** Error texts of a failing store: reported to the operator, never sent to clients. */
import { A2AError } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { createRequestHandler, type ErrorContext } from 'a2a-tasks/server'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { faultyStore, type StepName } from '../../support/faulty-store.js'
import { get, ORIGIN, post } from '../spec/support/agent.js'
import { expectWarnings } from '../../support/warnings.js'
import { EVERY } from '../../compat/support/agent.js'

const CAUSE = new Error('password hunter2')
const SAID = { operation: 'create in schema hunter2' }
const newFailure = () =>
  new A2AError('STORE_FAILED', 'Tables of hunter2 are not set up', SAID, { cause: CAUSE })
const FAILURE = {
  code: 'STORE_FAILED',
  message: 'Tables of hunter2 are not set up',
  data: SAID,
  cause: CAUSE,
}
const TEXT = 'The agent cannot reach its tasks now; try again later'

interface ErrorReport {
  readonly error: unknown
  readonly context: ErrorContext
}

/** An agent whose store fails in what `isFailing` says. */
function failing(isFailing: (step: StepName) => boolean) {
  const clock = new ManualClock()
  const store = faultyStore(memoryStore({ now: () => clock.now() }), {
    before(step) {
      if (isFailing(step)) throw newFailure()
    },
  })
  const tasks = new DurableTaskManager({ store, clock, storeRetryMs: 1, onError: () => undefined })
  onTestFinished(() => tasks.destroy())
  const reported: ErrorReport[] = []
  const handler = createRequestHandler({
    card: { name: 'Test', url: ORIGIN },
    execute: () => 'done',
    anonymous: 'shared',
    dialects: EVERY,
    onError: (error, context) => void reported.push({ error, context }),
    ...{ clock, tasks },
  })
  return { handler, reported }
}

const TYPED = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }
const OF_1_0 = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
const OF_0_3 = { messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }], kind: 'message' }

const rpc = (method: string, params: object): Request => post('/', { jsonrpc: '2.0', id: 1, method, params })
const spoken = (request: Request, version: string): Request => {
  request.headers.set('a2a-version', version)
  return request
}

const REQUESTS: readonly [what: string, make: () => Request][] = [
  ['1.0, JSON-RPC', () => rpc('SendMessage', { message: OF_1_0 })],
  ['1.0, JSON-RPC, a stream', () => rpc('SendStreamingMessage', { message: OF_1_0 })],
  ['1.0, JSON-RPC, a task', () => rpc('GetTask', { id: 'x' })],
  ['1.0, JSON-RPC, a list', () => rpc('ListTasks', {})],
  ['1.0, HTTP+JSON', () => post('/message:send', { message: OF_1_0 })],
  ['1.0, HTTP+JSON, a stream', () => post('/message:stream', { message: OF_1_0 })],
  ['1.0, HTTP+JSON, a task', () => get('/tasks/x')],
  ['0.3, JSON-RPC', () => rpc('message/send', { message: OF_0_3 })],
  ['0.3, JSON-RPC, a stream', () => rpc('message/stream', { message: OF_0_3 })],
  ['0.3, HTTP+JSON', () => get('/v1/tasks/x')],
  ['0.1', () => rpc('tasks/send', { id: 'x', message: TYPED })],
  ['0.1, a stream', () => rpc('tasks/sendSubscribe', { id: 'x', message: TYPED })],
  ['one that finds out which', () => rpc('tasks/get', { id: 'x' })],
  ['KAOS', () => spoken(rpc('SendMessage', { message: TYPED }), 'kaos')],
  ['corvid-agent', () => post('/a2a/tasks/send', { message: 'hi' })],
  ['corvid-agent, a task', () => get('/a2a/tasks/x')],
  ['LiteLLM-RS', () => rpc('task_send', { id: 'x', input: { instruction: 'hi' } })],
  ['LiteLLM-RS, a task', () => rpc('task_get', { task_id: 'x' })],
]

describe('a store that fails with its own error', () => {
  test.each(REQUESTS)('says nothing to a client of %s', async (_, make) => {
    const { handler, reported } = failing(() => true)
    const response = await handler.fetch(make())
    const body = await response.text()
    expect(body).toContain(TEXT)
    expect(body).not.toMatch(/hunter2|store|operation/i)
    expect(reported).toMatchObject([{ error: FAILURE }])
  })

  test('is reported once, where it failed', async () => {
    const { handler, reported } = failing((step) => step === 'create')
    const response = await handler.fetch(post('/message:send', { message: OF_1_0 }))
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(reported).toMatchObject([{ error: FAILURE, context: { during: 'execute' } }])
  })

  test('is reported each time that it fails', async () => {
    const { handler, reported } = failing((step) => step === 'get')
    for (let count = 0; count < 2; count += 1) await handler.fetch(get('/tasks/x'))
    expect(reported.map(({ context }) => context.during)).toEqual(['GET request', 'GET request'])
  })
})

describe('the warning that stands in for onError', () => {
  /** What the process is warned of when the store fails. */
  async function warning(cause: unknown): Promise<Error & { readonly detail?: string }> {
    const tasks = new DurableTaskManager({
      store: faultyStore(memoryStore(), {
        before() {
          throw cause
        },
      }),
      storeRetryMs: 1,
    })
    onTestFinished(() => tasks.destroy())
    const handler = createRequestHandler({
      card: { name: 'Test', url: ORIGIN },
      execute: () => 'done',
      tasks,
    })
    const warnings = expectWarnings(/^GET request: StoreFailedError/)
    await handler.fetch(get('/tasks/x'))
    await expect.poll(() => warnings.length).toBe(1)
    const [first] = warnings
    if (first === undefined) throw new Error('There is no warning')
    return first
  }

  test('names the causes', async () => {
    const cause = new Error('The pool failed', { cause: new TypeError('No such host') })
    const { name, message, detail } = await warning(cause)
    expect(name).toBe('A2ATasksWarning')
    expect(message).toBe(
      'GET request: StoreFailedError: The store failed: get, caused by: Error: The pool failed, caused by: TypeError: No such host. Pass "onError" to handle it',
    )
    expect(detail).toMatch(
      /StoreFailedError: The store[^]+caused by: Error: The pool[^]+caused by: TypeError: No such/,
    )
  })

  test('ends where causes form a cycle', async () => {
    const cause: Error & { cause?: unknown } = new Error('round')
    cause.cause = cause
    expect((await warning(cause)).message.match(/round/g)).toHaveLength(1)
  })
})
