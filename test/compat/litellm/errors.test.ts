import { A2AError, type ErrorCode } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { litellm } from '../../../src/compat/index.js'
import { WIRE_ERRORS } from '../../../src/wire/index.js'

const dialect = litellm()

describe('an error', () => {
  const taskId = 't-1'

  test.each<[A2AError, object]>([
    [
      new A2AError('TASK_NOT_FOUND', 'No such task', { taskId }),
      { code: -32001, message: 'Task not found: t-1' },
    ],
    [new A2AError('TASK_EXPIRED', 'Too old', { taskId }), { code: -32001, message: 'Task not found: t-1' }],
    [
      new A2AError('UNAVAILABLE', 'The agent has too much to do', { reason: 'busy' }),
      { code: -32003, message: 'The agent has too much to do', data: { retry_after: 5, retryable: true } },
    ],
    [
      new A2AError('UNAVAILABLE', 'Busy', { reason: 'busy', retryAfterMs: 1_001 }),
      { code: -32003, message: 'Busy', data: { retry_after: 2, retryable: true } },
    ],
    [
      new A2AError('UNAVAILABLE', 'Busy', { reason: 'busy', retryAfterMs: 0 }),
      { code: -32003, message: 'Busy', data: { retry_after: 1, retryable: true } },
    ],
    [
      new A2AError('TASK_LIMIT_REACHED', 'Maximum task limit reached: 9', { maxTasks: 9 }),
      { code: -32003, message: 'Maximum task limit reached: 9', data: { retry_after: 5, retryable: true } },
    ],
    [
      new A2AError('TASK_CANCELED', 'Task t-1 was canceled', { taskId }),
      { code: -32004, message: 'Task t-1 was canceled' },
    ],
    [
      new A2AError('TASK_NOT_CANCELABLE', 'Too late', { taskId, state: 'failed' }),
      { code: -32602, message: 'Cannot cancel a completed task' },
    ],
    [
      new A2AError('INVALID_TRANSITION', 'No', { taskId, from: 'input-required', to: 'submitted' }),
      { code: -32602, message: 'Invalid state transition from InputRequired to Pending' },
    ],
    [
      new A2AError('INVALID_TRANSITION', 'No', { taskId, from: 'in-review', to: 'constructor' }),
      { code: -32602, message: 'Invalid state transition from InReview to Constructor' },
    ],
    [new A2AError('TASK_TERMINAL', 'Over', { taskId, state: 'failed' }), { code: -32602, message: 'Over' }],
    [
      new A2AError('INVALID_PARAMS', 'input is missing', { path: 'input', reason: 'is missing' }),
      { code: -32602, message: 'input is missing' },
    ],
    [
      new A2AError('UNSUPPORTED_OPERATION', 'Streaming is not supported', {
        operation: 'SendStreamingMessage',
      }),
      { code: -32005, message: 'Streaming is not supported' },
    ],
    [
      new A2AError('AGENT_NOT_FOUND', 'Agent not found: a', { agentId: 'a' }),
      { code: -32002, message: 'Agent not found: a' },
    ],
    [
      new A2AError('AGENT_BUSY', 'Agent is busy: a', {
        ...{ agentId: 'a', reason: 'it has too much to do', retryable: true, retryAfterMs: 5_000 },
      }),
      { code: -32003, message: 'Agent is busy: a', data: { retry_after: 5, retryable: true } },
    ],
    [
      new A2AError('CAPABILITY_MISMATCH', 'No agent can do this', { capabilities: ['sing'] }),
      { code: -32005, message: 'No agent can do this' },
    ],
    [
      new A2AError('RATE_LIMITED', 'Rate limited: retry after 60 seconds', {
        ...{ retryable: true, retryAfterMs: 59_001 },
      }),
      {
        code: -32006,
        message: 'Rate limited: retry after 60 seconds',
        data: { retry_after: 60, retryable: true },
      },
    ],
    [
      new A2AError('INTERNAL', 'secret', {}, { cause: new Error('secret') }),
      { code: -32603, message: 'Internal error' },
    ],
    [
      new A2AError('EXTERNAL_SERVICE_ERROR', 'secret', { service: 's', url: 'u' }),
      { code: -32603, message: 'Internal error' },
    ],
  ])('%s is %j', (error, expected) => {
    expect(dialect.encodeRpcError(error)).toStrictEqual(expected)
  })

  test.each<[ErrorCode, number]>([
    ['PARSE_ERROR', -32700],
    ['INVALID_REQUEST', -32600],
    ['METHOD_NOT_FOUND', -32601],
    ['LIMIT_EXCEEDED', -32602],
    ['CONTENT_TYPE_NOT_SUPPORTED', -32005],
    ['EXTENSION_SUPPORT_REQUIRED', -32005],
    ['VERSION_NOT_SUPPORTED', -32600],
    ['INVALID_AGENT_RESPONSE', -32603],
    ['UNAUTHENTICATED', -32603],
    ['TASK_TIMED_OUT', -32603],
  ])('%s has the code %i', (code, number) => {
    expect(dialect.encodeRpcError(new A2AError(code, 'No', {})).code).toBe(number)
  })

  const KNOWN = [...[-32700, -32600, -32601, -32602, -32603, -32001, -32002, -32003, -32004, -32005, -32006]]

  test.each(Object.keys(WIRE_ERRORS) as ErrorCode[])('%s has a code of the document', (code) => {
    // `data` of the right shape is of no matter here.
    const { code: number, message, data } = dialect.encodeRpcError(new A2AError(code, 'No', {}))
    expect(KNOWN).toContain(number)
    expect(message).not.toContain('undefined')
    const isPassing = number === -32003 || number === -32006
    expect(data).toEqual(isPassing ? { retry_after: 5, retryable: true } : undefined)
  })

  test('is bounded, and has a status of HTTP', () => {
    const error = new A2AError('TASK_NOT_FOUND', 'No', { taskId: 'x'.repeat(9_999) })
    const { status, body } = dialect.encodeHttpError(error)
    expect(JSON.stringify(body).length).toBeLessThan(300)
    expect(status).toBe(404)
    expect(dialect.encodeHttpError(error, 405)).toStrictEqual({
      status: 405,
      body: dialect.encodeRpcError(error),
    })
  })
})
