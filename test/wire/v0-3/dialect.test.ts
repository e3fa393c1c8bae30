import { A2AError, type ArtifactChanged, type ErrorCode, type StatusChanged, type TaskState } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { v0_3, WIRE_ERRORS, type StreamEntry } from '../../../src/wire/index.js'
import { setup, walk } from '../../support/manager.js'

const dialect = v0_3()
const { rpc, rest } = dialect

test('every method and every route leads to a codec of its binding', () => {
  for (const operation of dialect.methods.values()) expect(rpc).toHaveProperty(operation)
  for (const { operation, path } of dialect.routes) {
    expect(rest).toHaveProperty(operation)
    expect(path).toMatch(/^\/v1\//)
  }
  expect(rpc).not.toHaveProperty('ListTasks')
  expect(new Set(dialect.methods.values()).size).toBe(10)
})

test('the extended card has both of the names that the specification gives it', () => {
  expect(dialect.methods.get('agent/getAuthenticatedExtendedCard')).toBe('GetExtendedAgentCard')
  expect(dialect.methods.get('agent/authenticatedExtendedCard')).toBe('GetExtendedAgentCard')
  expect(rpc.GetExtendedAgentCard?.decode(undefined)).toEqual({})
})

test('a subscription is answered even if the task has ended', () => {
  expect(rpc.SubscribeToTask?.decode({ id: 't' })).toEqual({ id: 't', evenIfEnded: true })
  expect(rest.SubscribeToTask?.decode({ id: 't' })).toEqual({ id: 't', evenIfEnded: true })
})

function wholeTask() {
  const { tasks, id } = setup()
  tasks.addMessage(id, { messageId: 'm-1', role: 'user', parts: [{ text: 'go' }], referenceTaskIds: ['t-0'] })
  tasks.updateTask(id, {
    state: 'working',
    message: { messageId: 'm-2', role: 'agent', parts: [{ url: 'https://example.com/a', filename: 'a' }] },
    output: [1],
    artifacts: [{ artifactId: 'a', parts: [{ raw: 'aGk=', mediaType: 'text/plain' }] }, { any: 'object' }],
  })
  const task = tasks.peekTask(id)
  if (task === null) throw new Error('The task is gone')
  return task
}

describe('a task', () => {
  const task = wholeTask()
  const { id, contextId, updatedAt: timestamp } = task

  test('in JSON', () => {
    expect(rpc.GetTask?.encode({ task })).toStrictEqual({
      kind: 'task',
      id,
      contextId,
      status: {
        state: 'working',
        timestamp,
        message: {
          kind: 'message',
          messageId: 'm-2',
          role: 'agent',
          parts: [{ kind: 'file', file: { uri: 'https://example.com/a', name: 'a' } }],
        },
      },
      artifacts: [
        {
          artifactId: 'a',
          parts: [{ kind: 'file', file: { bytes: 'aGk=', mimeType: 'text/plain' } }],
        },
        { artifactId: 'artifact-2', parts: [{ kind: 'data', data: { any: 'object' } }] },
        {
          artifactId: 'output',
          parts: [{ kind: 'data', data: { value: [1] }, metadata: { data_part_compat: true } }],
        },
      ],
      history: [
        {
          kind: 'message',
          messageId: 'm-1',
          role: 'user',
          parts: [{ kind: 'text', text: 'go' }],
          referenceTaskIds: ['t-0'],
        },
      ],
    })
  })

  test('in ProtoJSON', () => {
    expect(rest.SendMessage?.encode({ type: 'task', task, historyLength: 1 })).toStrictEqual({
      task: {
        id,
        contextId,
        status: {
          state: 'TASK_STATE_WORKING',
          timestamp,
          message: {
            messageId: 'm-2',
            role: 'ROLE_AGENT',
            content: [{ file: { fileWithUri: 'https://example.com/a', name: 'a' } }],
          },
        },
        artifacts: [
          { artifactId: 'a', parts: [{ file: { fileWithBytes: 'aGk=', mimeType: 'text/plain' } }] },
          { artifactId: 'artifact-2', parts: [{ data: { data: { any: 'object' } } }] },
          {
            artifactId: 'output',
            parts: [{ data: { data: { value: [1] } }, metadata: { data_part_compat: true } }],
          },
        ],
        history: [{ messageId: 'm-1', role: 'ROLE_USER', content: [{ text: 'go' }] }],
      },
    })
  })

  test('without history and artifacts', () => {
    const shown = rpc.GetTask?.encode({ task, historyLength: 0, artifacts: false })
    expect(Object.keys(Object(shown) as object)).toEqual(['kind', 'id', 'contextId', 'status'])
  })

  test.each<[TaskState[], string, string]>([
    [[], 'submitted', 'TASK_STATE_SUBMITTED'],
    [['working', 'input-required'], 'input-required', 'TASK_STATE_INPUT_REQUIRED'],
    [['working', 'auth-required'], 'auth-required', 'TASK_STATE_AUTH_REQUIRED'],
    [['working', 'completed'], 'completed', 'TASK_STATE_COMPLETED'],
    [['failed'], 'failed', 'TASK_STATE_FAILED'],
    [['canceled'], 'canceled', 'TASK_STATE_CANCELLED'],
    [['rejected'], 'rejected', 'TASK_STATE_REJECTED'],
  ])('after %j is %s', (path, inJson, inProto) => {
    const { tasks, id: other } = setup()
    walk(tasks, other, ...path)
    const moved = tasks.peekTask(other) ?? task
    expect(rpc.CancelTask?.encode({ task: moved })).toHaveProperty('status.state', inJson)
    expect(rest.CancelTask?.encode({ task: moved })).toHaveProperty('status.state', inProto)
  })
})

describe('a stream', () => {
  const base = { taskId: 't', generation: 3, timestamp: '2026-01-01T00:00:00.000Z' }
  const status: StatusChanged = { ...base, type: 'status', from: 'working', to: 'canceled', message: 'Bye' }
  const artifact: ArtifactChanged = {
    ...base,
    type: 'artifact',
    artifact: { artifactId: 'a', name: 'A', parts: [{ text: 'x' }], extensions: ['e'] },
    append: false,
    lastChunk: false,
  }
  const said = { messageId: expect.any(String) as string, contextId: 'c', taskId: 't' }

  test.each([true, false])('final is whether the stream ends: %s', (last) => {
    const entry: StreamEntry = { type: 'status', contextId: 'c', event: status, last }
    const { timestamp } = base
    expect(rpc.SendStreamingMessage?.encode(entry)).toStrictEqual({
      kind: 'status-update',
      taskId: 't',
      contextId: 'c',
      status: {
        state: 'canceled',
        timestamp,
        message: { ...said, kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'Bye' }] },
      },
      final: last,
    })
    expect(rest.SubscribeToTask?.encode(entry)).toStrictEqual({
      statusUpdate: {
        taskId: 't',
        contextId: 'c',
        status: {
          state: 'TASK_STATE_CANCELLED',
          timestamp,
          message: { ...said, role: 'ROLE_AGENT', content: [{ text: 'Bye' }] },
        },
        final: last,
      },
    })
  })

  test('append and lastChunk are there even when false', () => {
    const entry: StreamEntry = { type: 'artifact', contextId: 'c', event: artifact, last: false }
    const update = { taskId: 't', contextId: 'c', append: false, lastChunk: false }
    const shown = { artifactId: 'a', name: 'A', extensions: ['e'] }
    expect(rpc.SubscribeToTask?.encode(entry)).toStrictEqual({
      kind: 'artifact-update',
      ...update,
      artifact: { ...shown, parts: [{ kind: 'text', text: 'x' }] },
    })
    expect(rest.SendStreamingMessage?.encode(entry)).toStrictEqual({
      artifactUpdate: { ...update, artifact: { ...shown, parts: [{ text: 'x' }] } },
    })
  })

  test('a status message that was removed is left out', () => {
    const event = { ...status, message: null }
    const shown = rpc.SubscribeToTask?.encode({ type: 'status', contextId: 'c', event, last: true })
    expect(shown).not.toHaveProperty('status.message')
  })

  test('data that carries the mark of wrapped data is not unwrapped by its reader', () => {
    const part = { data: { value: 1 }, metadata: { data_part_compat: true } }
    const message = { messageId: 'm', role: 'user' as const, parts: [part] }
    const shown = rpc.SendMessage?.encode({ type: 'message', message })
    expect(rpc.SendMessage?.decode({ message: shown }).message.parts).toEqual([{ data: { value: 1 } }])
  })
})

describe('an error', () => {
  test('of the task', () => {
    const error = new A2AError('TASK_NOT_FOUND', 'No task t', { taskId: 't' })
    const inRpc = dialect.encodeRpcError(error)
    expect(inRpc).toMatchObject({ code: -32001, message: 'No task t' })
    const body = { ...inRpc, type: 'TaskNotFoundError' }
    expect(dialect.encodeHttpError(error)).toEqual({ status: 404, body })
  })

  const codes = Object.keys(WIRE_ERRORS) as ErrorCode[]
  const KNOWN = [-32700, -32600, -32601, -32602, -32603, ...[1, 2, 3, 4, 5, 6, 7].map((n) => -32000 - n)]

  test.each(codes)('%s has a code that 0.3 knows', (code) => {
    // `data` of the right shape is of no matter here.
    const error = new A2AError(code, 'No', {})
    expect(KNOWN).toContain(dialect.encodeRpcError(error).code)
    const later = ['EXTENSION_SUPPORT_REQUIRED', 'VERSION_NOT_SUPPORTED', 'TASK_GENERATION_MISMATCH']
    if (later.includes(code)) expect(dialect.encodeRpcError(error).code).toBe(-32600)
    else expect(dialect.encodeRpcError(error).code).toBe(WIRE_ERRORS[code].code)
  })

  test.each<[ErrorCode, number]>([
    ['INVALID_PARAMS', 400],
    ['METHOD_NOT_FOUND', 501],
    ['TASK_NOT_CANCELABLE', 400],
    ['INVALID_AGENT_RESPONSE', 500],
    ['INTERNAL', 500],
    ['UNAUTHENTICATED', 401],
  ])('%s has the status %i', (code, status) => {
    expect(dialect.encodeHttpError(new A2AError(code, 'No', {})).status).toBe(status)
  })
})
