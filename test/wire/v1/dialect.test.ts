import { A2AError, type ErrorCode, type TaskState } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { v1, WIRE_ERRORS } from '../../../src/wire/index.js'
import { setup, walk } from '../../support/manager.js'

const dialect = v1()
const { rpc } = dialect

test('every method and every route leads to a codec', () => {
  expect(new Set(dialect.methods.values()).size).toBe(11)
  for (const [method, operation] of dialect.methods) {
    expect(method).toBe(operation)
    expect(rpc).toHaveProperty(operation)
  }
  expect(new Set(dialect.routes.map(({ operation }) => operation))).toEqual(new Set(dialect.methods.values()))
  expect(dialect.hasTenants).toBe(true)
  expect(dialect.errorsInStream).toEqual([])
})

test.each([
  ['submitted', 'TASK_STATE_SUBMITTED'],
  ['working', 'TASK_STATE_WORKING', 'working'],
  ['input-required', 'TASK_STATE_INPUT_REQUIRED', 'working', 'input-required'],
  ['auth-required', 'TASK_STATE_AUTH_REQUIRED', 'working', 'auth-required'],
  ['completed', 'TASK_STATE_COMPLETED', 'working', 'completed'],
  ['failed', 'TASK_STATE_FAILED', 'failed'],
  ['canceled', 'TASK_STATE_CANCELED', 'canceled'],
  ['rejected', 'TASK_STATE_REJECTED', 'rejected'],
] as const)('the state %s is %s', (core, wire, ...path: TaskState[]) => {
  const { tasks, id } = setup()
  walk(tasks, id, ...path)
  const task = tasks.peekTask(id)
  expect(task && rpc.GetTask?.encode({ task })).toMatchObject({ status: { state: wire } })
  expect(rpc.ListTasks?.decode({ status: wire })).toMatchObject({ state: core })
})

describe('a task', () => {
  const { tasks, id } = setup()
  tasks.addMessage(id, { messageId: 'm-1', role: 'user', parts: [{ text: 'go' }] })
  tasks.updateTask(id, {
    state: 'working',
    message: 'Reading',
    output: { total: 3 },
    artifacts: [{ artifactId: 'a', parts: [{ raw: 'aGk=' }] }, { any: 'object' }],
  })
  const task = tasks.peekTask(id)
  if (task === null) throw new Error('The task is gone')

  test('whole: other outputs become a message or an artifact', () => {
    expect(rpc.GetTask?.encode({ task })).toStrictEqual({
      id,
      contextId: task.contextId,
      status: {
        state: 'TASK_STATE_WORKING',
        timestamp: '2026-01-01T00:00:00.000Z',
        message: {
          messageId: expect.stringMatching(/./) as string,
          role: 'ROLE_AGENT',
          parts: [{ text: 'Reading' }],
          contextId: task.contextId,
          taskId: id,
        },
      },
      artifacts: [
        { artifactId: 'a', parts: [{ raw: 'aGk=' }] },
        { artifactId: 'artifact-2', parts: [{ data: { any: 'object' } }] },
        { artifactId: 'output', parts: [{ data: { total: 3 } }] },
      ],
      history: [{ messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'go' }] }],
    })
  })

  test('without artifacts, without history', () => {
    const shown = rpc.GetTask?.encode({ task, artifacts: false, historyLength: 0 })
    expect(shown).not.toHaveProperty('artifacts')
    expect(shown).not.toHaveProperty('history')
  })
})

test.each(Object.entries(WIRE_ERRORS))('the error %s is whole in both bindings', (code, wire) => {
  const error = new A2AError(code as ErrorCode, 'As it happened', {})
  // What went wrong inside stays inside.
  const outside = wire.reason === 'INTERNAL_ERROR' ? 'Internal error' : 'As it happened'
  const message = code === 'STORE_FAILED' ? 'The agent cannot reach its tasks now; try again later' : outside
  expect(dialect.encodeRpcError(error)).toMatchObject({
    code: wire.code,
    message,
    data: [{ reason: wire.reason, domain: 'a2a-protocol.org' }],
  })
  expect(dialect.encodeHttpError(error)).toMatchObject({
    status: wire.http,
    body: { error: { code: wire.http, status: wire.status, details: [{ reason: wire.reason }] } },
  })
})

test('errors of our own requests are not shown to clients', () => {
  const data = { service: 'A2A', url: 'https://inside.example', status: 500 }
  const error = new A2AError('EXTERNAL_SERVICE_ERROR', 'A2A: https://inside.example answered HTTP 500', data)
  const out = JSON.stringify([dialect.encodeRpcError(error), dialect.encodeHttpError(error)])
  expect(out).not.toMatch(/inside|service/)
})

test('an error is shown as bounded text', () => {
  const long = 'x'.repeat(10_000)
  const error = new A2AError('TASK_NOT_FOUND', long, { taskId: long }, { cause: new Error('secret') })
  const text = JSON.stringify([dialect.encodeRpcError(error), dialect.encodeHttpError(error)])
  expect(text.length).toBeLessThan(1500)
  expect(text).not.toContain('secret')
  const mismatch = { taskId: 't', expectedGeneration: 1, generation: 2 }
  const { data } = dialect.encodeRpcError(new A2AError('TASK_GENERATION_MISMATCH', 'No', mismatch))
  expect(data).toMatchObject([{ metadata: { taskId: 't', expectedGeneration: '1', generation: '2' } }])
})

test('1.0.0 has other statuses, and plain JSON', () => {
  const old = v1({ profile: '1.0.0' })
  expect([dialect.mediaType, old.mediaType]).toEqual(['application/a2a+json', 'application/json'])
  for (const [code, status] of [
    ['TASK_NOT_CANCELABLE', 409],
    ['CONTENT_TYPE_NOT_SUPPORTED', 415],
    ['INVALID_AGENT_RESPONSE', 502],
    ['TASK_NOT_FOUND', 404],
  ] as const) {
    const error = new A2AError(code, 'No', {} as never)
    expect(old.encodeHttpError(error)).toMatchObject({ status, body: { error: { code: status } } })
    expect(old.encodeRpcError(error)).toEqual(dialect.encodeRpcError(error))
  }
})
