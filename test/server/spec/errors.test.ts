import { A2AError, type ErrorCode } from 'a2a-tasks'
import type { JsonObject } from 'a2a-tasks/schemas'
import { describe, expect, test } from 'vitest'
import { v1 } from '../../../src/wire/index.js'
import {
  agent,
  as,
  authenticate,
  BINDINGS,
  get,
  httpJson,
  jsonRpc,
  ORIGIN,
  post,
  refused,
  user,
} from './support/agent.js'
import type { TestAgent } from './support/agent.js'
import { expectWarnings } from '../../support/warnings.js'

const CARD = { name: 'Test', url: ORIGIN }
const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo'
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest'

const idle = (): TestAgent => agent(() => 'done')

/** The errors of A2A 1.0 §5.4: JSON-RPC code, HTTP status, gRPC status; the HTTP status of 1.0.0 where it is another. */
const ERRORS: readonly [code: ErrorCode, rpc: number, http: number, status: string, old?: number][] = [
  ['TASK_NOT_FOUND', -32001, 404, 'NOT_FOUND'],
  ['TASK_NOT_CANCELABLE', -32002, 400, 'FAILED_PRECONDITION', 409],
  ['PUSH_NOTIFICATION_NOT_SUPPORTED', -32003, 400, 'FAILED_PRECONDITION'],
  ['UNSUPPORTED_OPERATION', -32004, 400, 'FAILED_PRECONDITION'],
  ['CONTENT_TYPE_NOT_SUPPORTED', -32005, 400, 'INVALID_ARGUMENT', 415],
  ['INVALID_AGENT_RESPONSE', -32006, 500, 'INTERNAL', 502],
  ['EXTENDED_AGENT_CARD_NOT_CONFIGURED', -32007, 400, 'FAILED_PRECONDITION'],
  ['EXTENSION_SUPPORT_REQUIRED', -32008, 400, 'FAILED_PRECONDITION'],
  ['VERSION_NOT_SUPPORTED', -32009, 400, 'FAILED_PRECONDITION'],
]

/** An agent that answers one operation with whatever error is wanted. */
function failing(code: ErrorCode, profile: '1.0.0' | '1.0.1' = '1.0.1'): TestAgent {
  return agent(() => 'done', {
    dialects: [v1({ profile })],
    authenticate,
    extendedCard: () => {
      throw new A2AError(code, 'As it happened', { taskId: 't', state: 's' })
    },
  })
}

describe.each(ERRORS)('%s', (code, rpc, http, status, old = http) => {
  test('92, 93, 94, 97, 98, 99. in JSON-RPC', async () => {
    const a = failing(code)
    const response = await a.handler.fetch(jsonRpc.request('GetExtendedAgentCard', {}, as('me')))
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toStrictEqual({
      jsonrpc: '2.0',
      id: 'request-1',
      error: {
        code: rpc,
        message: 'As it happened',
        data: [
          {
            '@type': ERROR_INFO,
            reason: code,
            domain: 'a2a-protocol.org',
            metadata: { taskId: 't', state: 's' },
          },
        ],
      },
    })
    expect(rpc).toBeLessThanOrEqual(-32001)
    expect(rpc).toBeGreaterThanOrEqual(-32099)
  })

  test('92, 93, 94, 100, 101. in HTTP+JSON', async () => {
    const response = await failing(code).handler.fetch(httpJson.request('GetExtendedAgentCard', {}, as('me')))
    expect(response.status).toBe(http)
    expect(await response.json()).toStrictEqual({
      error: {
        code: http,
        status,
        message: 'As it happened',
        details: [
          {
            '@type': ERROR_INFO,
            reason: code,
            domain: 'a2a-protocol.org',
            metadata: { taskId: 't', state: 's' },
          },
        ],
      },
    })
  })

  test('94. in HTTP+JSON as 1.0.0 has it', async () => {
    const a = failing(code, '1.0.0')
    const response = await a.handler.fetch(httpJson.request('GetExtendedAgentCard', {}, as('me')))
    expect(response.status).toBe(old)
    expect(await response.json()).toMatchObject({ error: { code: old, details: [{ reason: code }] } })
  })
})

const part = (parts: unknown) => ({ message: { messageId: 'm', role: 'ROLE_USER', parts } })

const INVALID: readonly [what: string, params: object, field: string][] = [
  ['no message', {}, 'message'],
  ['a message that is a text', { message: 'hi' }, 'message'],
  ['no messageId', { message: { role: 'ROLE_USER', parts: [{ text: 'hi' }] } }, 'message.messageId'],
  ['an empty messageId', { message: { ...user('hi'), messageId: '' } }, 'message.messageId'],
  ['no role', { message: { messageId: 'm', parts: [{ text: 'hi' }] } }, 'message.role'],
  ['a role of 0.3', { message: { ...user('hi'), role: 'user' } }, 'message.role'],
  ["the agent's role", { message: { ...user('hi'), role: 'ROLE_AGENT' } }, 'message.role'],
  ['no parts', { message: { messageId: 'm', role: 'ROLE_USER' } }, 'message.parts'],
  ['empty parts', part([]), 'message.parts'],
  ['a part with no content', part([{ metadata: {} }]), 'message.parts[0]'],
  ['a part with two contents', part([{ text: 'a' }, { text: 'a', data: 1 }]), 'message.parts[1]'],
  ['a text that is a number', part([{ text: 1 }]), 'message.parts[0].text'],
  ['raw that is not base64', part([{ raw: '%' }]), 'message.parts[0].raw'],
  ['metadata that is a list', { message: user('hi'), metadata: [] }, 'metadata'],
  ['a configuration that is a text', { message: user('hi'), configuration: 'x' }, 'configuration'],
  [
    'modes that are a text',
    { message: user('hi'), configuration: { acceptedOutputModes: 'text/plain' } },
    'configuration.acceptedOutputModes',
  ],
  [
    'returnImmediately that is a text',
    { message: user('hi'), configuration: { returnImmediately: 'true' } },
    'configuration.returnImmediately',
  ],
]

describe.each(BINDINGS)('$name: parameters', (binding) => {
  test.each(INVALID)('95. %s is refused before anything is done', async (_, params, field) => {
    const a = idle()
    for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
      const error = await refused(binding, a, operation, params)
      expect(error.reason).toBe('INVALID_PARAMS')
      expect(error.message.startsWith(`${field} `)).toBe(true)
      expect(error.details).toMatchObject([
        { '@type': ERROR_INFO },
        { '@type': BAD_REQUEST, fieldViolations: [{ field, description: expect.any(String) as string }] },
      ])
    }
    expect(a.tasks.size()).toBe(0)
  })

  test.each([
    [
      'a lone surrogate in metadata',
      { message: user('hi', { metadata: { a: '\ud800' } }) },
      'message.metadata.a',
    ],
    ['a lone surrogate in a text', { message: user('\ud800') }, 'message.parts[0].text'],
    [
      'a key __proto__',
      { message: user('hi', { metadata: JSON.parse('{"__proto__":{"a":1}}') as JsonObject }) },
      // Whatever it is under.
      expect.any(String),
    ],
    ['an extension without a name', { message: user('hi', { extensions: [''] }) }, 'message.extensions[0]'],
    [
      'a messageId too long',
      { message: { ...user('hi'), messageId: 'm'.repeat(10_000) } },
      'message.messageId',
    ],
    ['a contextId too long', { message: user('hi', { contextId: 'c'.repeat(10_000) }) }, 'message.contextId'],
    ['a tenant too long', { message: user('hi'), tenant: 't'.repeat(10_000) }, 'tenant'],
    ['a lone surrogate in the tenant', { message: user('hi'), tenant: '\ud800' }, 'tenant'],
  ])(
    '95. %s is refused before the agent begins',
    async (_, params, field) => {
      const begun: string[] = []
      const a = agent((run) => {
        begun.push(run.text)
        return 'done'
      })
      const error = await refused(binding, a, 'SendMessage', params)
      expect(error.reason).toBe('INVALID_PARAMS')
      expect(error.details[1]).toMatchObject({ fieldViolations: [{ field: field as string }] })
      expect({ begun, tasks: a.tasks.size(), errors: a.errors }).toEqual({ begun: [], tasks: 0, errors: [] })
    },
    1000,
  )

  test('96. internal errors are not shown', async () => {
    const a = agent(() => 'done', {
      authenticate: () => {
        throw new Error('The password of the database is 1234')
      },
    })
    const response = await a.handler.fetch(binding.request('ListTasks', {}))
    expect(response.status).toBe(500)
    const text = await response.text()
    expect(text).toContain('Internal error')
    expect(text).not.toMatch(/password|1234|Error:|\.ts/)
    expect(a.errors).toHaveLength(1)
  })

  test('103, 104. no credentials: 401, with a challenge', async () => {
    const a = agent(() => 'done', { authenticate })
    const response = await a.handler.fetch(binding.request('SendMessage', { message: user('go') }))
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="Test"')
    const { error } = binding.unwrap((await response.json()) as never)
    expect(error?.reason).toBe('UNAUTHENTICATED')
    expect(a.tasks.size()).toBe(0)
  })

  test('103. no permission: 403, without a challenge', async () => {
    const a = agent(() => 'done', {
      authenticate: () => {
        throw new A2AError('PERMISSION_DENIED', 'Not you', {})
      },
    })
    const response = await a.handler.fetch(binding.request('ListTasks', {}))
    expect(response.status).toBe(403)
    expect(response.headers.has('www-authenticate')).toBe(false)
    expect(a.errors).toEqual([])
  })

  test('an onError that throws does not make the handler reject', async () => {
    expectWarnings(/^onError: Error: onError/)
    const a = agent(() => 'done', {
      authenticate: () => {
        throw new Error('inside')
      },
      onError: () => {
        throw new Error('onError')
      },
    })
    expect((await a.handler.fetch(binding.request('ListTasks', {}))).status).toBe(500)
  })
})

test.each([
  [
    'an API key',
    { apiKeySecurityScheme: { location: 'header', name: 'X-"Key' } },
    'ApiKey realm="Test", in="header", name="X-Key"',
  ],
  ['a certificate', { mtlsSecurityScheme: {} }, 'Bearer realm="Test"'],
  ['Basic', { httpAuthSecurityScheme: { scheme: 'basic' } }, 'Basic realm="Test"'],
  [
    'OpenID Connect',
    { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://id' } },
    'Bearer realm="Test"',
  ],
] as const)("104. the challenge is for the card's schemes: %s", async (_, scheme, challenge) => {
  const a = agent(() => 'done', { authenticate, card: { ...CARD, securitySchemes: { one: scheme } } })
  const response = await a.handler.fetch(get('/tasks'))
  expect(response.headers.get('www-authenticate')).toBe(challenge)
})

describe('102. the errors of JSON-RPC', () => {
  test.each([
    ['not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), -32700, null],
    ['a text as parameters', '{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":"x"}', -32600, 1],
    [
      'parameters by position where there are none',
      '{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard","params":["x"]}',
      -32602,
      1,
    ],
    ['a method of Object', '{"jsonrpc":"2.0","id":1,"method":"constructor"}', -32601, 1],
  ])('102. %s', async (_, body, code, id) => {
    const request = new Request(`${ORIGIN}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const response = await idle().handler.fetch(request)
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      jsonrpc: '2.0',
      id,
      error: { code, message: expect.any(String) as string },
    })
  })

  test('102. dispatch answers the same, and never rejects', async () => {
    const { handler } = idle()
    for (const [body, code] of [
      [undefined, -32600],
      [[], -32600],
      [{ jsonrpc: '2.0', id: {}, method: 'ListTasks' }, -32600],
      [{ jsonrpc: '2.0', id: 1.5, method: 'ListTasks' }, -32600],
      [{ jsonrpc: '2.0', id: 1, method: 'nothing' }, -32601],
      [{ jsonrpc: '2.0', id: 1, method: 'GetTask' }, -32602],
    ] as const) {
      expect(await handler.dispatch(body)).toMatchObject({ error: { code } })
    }
  })
})

test('94, 100. no such path: 404; no such verb: 405 that says which', async () => {
  const { handler } = idle()
  const nowhere = await handler.fetch(get('/nowhere'))
  expect(nowhere.status).toBe(404)
  expect(await nowhere.json()).toMatchObject({ error: { code: 404, status: 'NOT_FOUND' } })
  const verb = await handler.fetch(post('/tasks', {}))
  expect(verb.status).toBe(405)
  expect(verb.headers.get('allow')).toBe('GET')
  expect(await verb.json()).toMatchObject({ error: { code: 405 } })
})

test('94. a browser at the URL of the agent reads where the card is', async () => {
  const { handler } = idle()
  const answer = await handler.fetch(get('/'))
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
  const message = 'Nothing is served at GET /: use POST or GET …/.well-known/agent-card.json'
  expect(await answer.json()).toMatchObject({ error: { message } })
})
