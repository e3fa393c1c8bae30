/** Errors, from one side of the wire to the other. */
import { A2AError, type ErrorCode, type ErrorData } from 'a2a-tasks'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeError, v0_3, v1, WIRE_ERRORS } from '../../../src/wire/index.js'
import { overTheWire } from '../support/arbitraries.js'

/** What comes back whole: texts are clipped at 200 characters, and lists are joined by commas. */
const text = fc.string({ minLength: 1, maxLength: 200 })
const name = text.filter((given) => !given.includes(','))
const names = fc.array(name, { minLength: 1, maxLength: 3 }).filter((all) => all.join(',').length <= 200)
const count = fc.nat()

/** The errors that cross the wire as what they are, and their data. */
const DATA: { readonly [C in ErrorCode]?: fc.Arbitrary<ErrorData[C]> } = {
  INVALID_PARAMS: fc.record({ path: text, reason: text }),
  BUDGET_EXCEEDED: fc.record(
    { taskId: text, limit: text, unit: text, max: count, spent: count, retryAfterMs: count },
    { requiredKeys: ['limit', 'unit', 'max', 'spent'] },
  ),
  LIMIT_EXCEEDED: fc.record({ limit: text, max: count, actual: count }),
  TASK_LIMIT_REACHED: fc.record({ maxTasks: count }),
  TASK_NOT_FOUND: fc.record({ taskId: text }),
  TASK_NOT_CANCELABLE: fc.record({ taskId: text, state: text }),
  TASK_GENERATION_MISMATCH: fc.record({ taskId: text, expectedGeneration: count, generation: count }),
  PARSE_ERROR: fc.record({ reason: text }),
  INVALID_REQUEST: fc.record({ reason: text }),
  METHOD_NOT_FOUND: fc.record({ method: text }),
  UNSUPPORTED_OPERATION: fc.record({ operation: text }),
  CONTENT_TYPE_NOT_SUPPORTED: fc.record({ mediaType: text }),
  PUSH_NOTIFICATION_NOT_SUPPORTED: fc.constant({}),
  INVALID_AGENT_RESPONSE: fc.record({ reason: text }),
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: fc.constant({}),
  EXTENSION_SUPPORT_REQUIRED: fc.record({ extensions: names }),
  VERSION_NOT_SUPPORTED: fc.record({ version: text, supported: names }),
  UNAUTHENTICATED: fc.constant({}),
  PERMISSION_DENIED: fc.constant({}),
  NOT_FOUND: fc.record({ resource: text }),
  UNAVAILABLE: fc.record({ reason: text }),
  AGENT_NOT_FOUND: fc.record({ agentId: text }),
  AGENT_BUSY: fc.record({
    ...{ agentId: text, reason: text, retryable: fc.constant(true as const), retryAfterMs: count },
  }),
  CAPABILITY_MISMATCH: fc.record({ capabilities: names }),
  RATE_LIMITED: fc.record({ retryable: fc.constant(true as const), retryAfterMs: count }),
  INTERNAL: fc.constant({}),
}

/** The others, as their clients receive them. */
const TOLD_AS: Readonly<Record<string, ErrorCode>> = {
  INVALID_TRANSITION: 'UNSUPPORTED_OPERATION',
  TASK_TERMINAL: 'UNSUPPORTED_OPERATION',
  TASK_CANCELED: 'UNSUPPORTED_OPERATION',
  TASK_TIMED_OUT: 'UNSUPPORTED_OPERATION',
  TASK_EXPIRED: 'TASK_NOT_FOUND',
  MANAGER_DESTROYED: 'UNAVAILABLE',
  WAIT_TIMED_OUT: 'UNAVAILABLE',
  WAIT_ABORTED: 'UNAVAILABLE',
  STORE_FAILED: 'UNAVAILABLE',
  JOURNAL_MISMATCH: 'INTERNAL',
  LEASE_LOST: 'UNAVAILABLE',
  EXTERNAL_SERVICE_ERROR: 'INTERNAL',
  VALIDATION_ERROR: 'INTERNAL',
  REQUEST_TIMED_OUT: 'INTERNAL',
  REQUEST_ABORTED: 'INTERNAL',
  URL_BLOCKED: 'INTERNAL',
  SIGNATURE_INVALID: 'INTERNAL',
  PROVIDER_ERROR: 'INTERNAL',
  CONFIGURATION_ERROR: 'INTERNAL',
}

const operation = 'GetTask'
const CODES = Object.keys(WIRE_ERRORS) as ErrorCode[]
const DIALECTS = [v1(), v1({ profile: '1.0.0' }), v0_3()]

/** By each way that an error can come. */
function decoded(error: A2AError): (A2AError | undefined)[] {
  return DIALECTS.flatMap((dialect) => {
    const rpc = overTheWire(dialect.encodeRpcError(error))
    const { status, body } = overTheWire(dialect.encodeHttpError(error))
    return [
      decodeError(rpc, { operation }),
      // JSON-RPC over HTTP has a status, too: 401, 503.
      decodeError(rpc, { operation, status }),
      decodeError(body, { operation, status }),
      // In a stream there is none.
      decodeError(body, { operation }),
    ]
  })
}

test('every code is in one of the two tables', () => {
  expect([...Object.keys(DATA), ...Object.keys(TOLD_AS)].sort()).toEqual([...CODES].sort())
})

test.each(Object.keys(DATA) as ErrorCode[])('%s comes back with its data', (code) => {
  // What the table has at this code.
  const arbitrary = DATA[code] as fc.Arbitrary<ErrorData[typeof code]>
  fc.assert(
    fc.property(arbitrary.map(overTheWire), text, (data, message) => {
      for (const error of decoded(new A2AError(code, message, data))) {
        expect(error).toMatchObject({ code })
        expect(error?.data).toStrictEqual(data)
        expect(error?.message).toBe(code === 'INTERNAL' ? 'Internal error' : message)
      }
    }),
  )
})

test.each(Object.entries(TOLD_AS))('%s is read as %s', (given, expected) => {
  // A key of the table.
  const code = given as ErrorCode
  const data = {
    taskId: 't',
    state: 'completed',
    from: 'a',
    to: 'b',
    reason: 'why',
    url: 'https://secret.example',
  }
  for (const error of decoded(new A2AError(code, 'The text', data))) {
    expect(error?.code).toBe(expected)
    expect(JSON.stringify(error?.data)).not.toContain('secret')
  }
})

describe('what the agent leaves out is what the request was about', () => {
  const context = { operation: 'CancelTask', taskId: 'task-1' }

  test.each([
    [{ code: -32001, message: 'Task not found' }, 'TASK_NOT_FOUND', { taskId: 'task-1' }],
    [{ code: -32002, message: 'No' }, 'TASK_NOT_CANCELABLE', { taskId: 'task-1', state: '' }],
    [{ code: -32004, message: 'No' }, 'UNSUPPORTED_OPERATION', { operation: 'CancelTask' }],
    [{ code: -32601, message: 'No' }, 'METHOD_NOT_FOUND', { method: 'CancelTask' }],
    [{ code: -32602, message: 'Bad' }, 'INVALID_PARAMS', { path: 'params', reason: 'Bad' }],
    [{ code: -32008, message: 'No' }, 'EXTENSION_SUPPORT_REQUIRED', { extensions: [] }],
    [{ code: -32009, message: 'No' }, 'VERSION_NOT_SUPPORTED', { version: '', supported: [] }],
    [{ code: -32005, message: 'No', data: null }, 'CONTENT_TYPE_NOT_SUPPORTED', { mediaType: '' }],
    [{ code: -1, message: 'What?' }, 'INTERNAL', {}],
    [{ code: -32099 }, 'INTERNAL', {}],
    // Any JSON may be the data of 0.3.
    [{ code: -32603, message: 'No', data: 'text' }, 'INTERNAL', {}],
    [{ code: -32603, message: 'No', data: [null, 1, { '@type': 7 }] }, 'INTERNAL', {}],
    [
      { error: { code: 400, message: 'Bad', details: [] } },
      'INVALID_PARAMS',
      { path: 'params', reason: 'Bad' },
    ],
  ])('%j', (json, code, data) => {
    const error = decodeError(json, context)
    expect(error).toMatchObject({ code })
    expect(error?.data).toStrictEqual(data)
    expect(error?.message).not.toBe('')
  })

  test.each([
    [401, 'UNAUTHENTICATED'],
    [403, 'PERMISSION_DENIED'],
    [429, 'UNAVAILABLE'],
    [503, 'UNAVAILABLE'],
    [500, 'INTERNAL'],
  ] as const)('an internal error with HTTP %i', (status, code) => {
    expect(decodeError({ code: -32603, message: 'No' }, { operation, status })?.code).toBe(code)
    // An error of a gateway, which may have lost the agent in the middle: only the status decides.
    const bare = decodeError({ error: { code: status, message: 'No' } }, { operation, status })
    expect(bare?.code).toBe(status === 401 || status === 403 ? code : undefined)
  })

  test('a reason says more than a code, and a code more than the HTTP status', () => {
    const info = (reason: string): unknown => ({
      '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
      reason,
      domain: 'a2a-protocol.org',
    })
    const body = { code: -32603, message: 'No', data: [info('TASK_NOT_FOUND')] }
    expect(decodeError(body, { operation, status: 500 })?.code).toBe('TASK_NOT_FOUND')
    expect(decodeError({ ...body, code: -32001, data: [info('OF_ITS_OWN')] }, { operation })?.code).toBe(
      'TASK_NOT_FOUND',
    )
    expect(decodeError({ code: -32001, message: 'No' }, { operation, status: 400 })?.code).toBe(
      'TASK_NOT_FOUND',
    )
    for (const reason of ['constructor', '__proto__', 'toString', 'TASK_CANCELED', '']) {
      expect(decodeError({ code: -32603, message: 'No', data: [info(reason)] }, { operation })?.code).toBe(
        'INTERNAL',
      )
    }
  })

  test.each([
    null,
    1,
    'text',
    [],
    {},
    { code: null },
    { error: 'text' },
    { error: {} },
    { message: 'No code' },
  ])('%j is no error of the protocol', (json) => {
    expect(decodeError(json, context)).toBeUndefined()
  })

  test('any value becomes a bounded A2AError or none', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.integer(), fc.jsonValue(), (json, code, data) => {
        for (const given of [json, { code, message: json, data }, { error: { code, details: [data] } }]) {
          const error = decodeError(given, context)
          expect(error === undefined || A2AError.is(error)).toBe(true)
        }
      }),
    )
    const long = decodeError({ code: -32602, message: 'x'.repeat(1_000_000) }, context)
    expect(long?.message.length).toBeLessThan(2_000)
    expect(JSON.stringify(long?.data).length).toBeLessThan(2_000)
  })
})
