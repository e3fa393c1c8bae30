import { afterEach, describe, expect, test } from 'vitest'
import * as schemas from '../../src/schemas/index.js'
import { examplesOf, issuePaths } from './examples.js'

afterEach(() => {
  expect(Reflect.get({}, 'polluted')).toBeUndefined()
})

describe('a part', () => {
  test.each([
    { text: '' },
    { raw: '' },
    { data: null },
    { data: false },
    { data: 0 },
    { data: '' },
    { data: [] },
  ])('has its content: %j', (part) => {
    expect(schemas.PartSchema.parse(part)).toStrictEqual(part)
  })

  test.each([
    [{}, 'none'],
    [{ filename: 'a', kind: 'text' }, 'none'],
    [{ text: 'a', url: 'b' }, 'text and url'],
    [{ text: '', data: null }, 'text and data'],
    [{ url: 'b', raw: '', text: 'a' }, 'text, raw and url'],
  ])('has exactly one: %j', (part, got) => {
    const result = schemas.MessageSchema.safeParse({
      messageId: 'm',
      role: 'ROLE_USER',
      parts: [{ text: 'a' }, part],
    })
    expect(result.error?.issues).toMatchObject([
      { path: ['parts', 1], message: `must have exactly one of text, raw, url and data, got ${got}` },
    ])
  })

  test('with a content of the wrong type is wrong in that alone', () => {
    expect(issuePaths(schemas.PartSchema, { text: 5, url: 'x' })).toEqual(['text'])
  })

  test.each(['aGk=', 'aGk', 'aA==', 'aA', '-_8=', '-_8', '+/8', ''])('takes the base64 %j', (raw) => {
    expect(issuePaths(schemas.PartSchema, { raw })).toEqual([])
  })

  test.each(['a', 'aGk==', 'aA=', 'aG=k', '=', '====', '-/8=', 'a Gk', 'aGk=\n', 'äöüß'])(
    'refuses the base64 %j',
    (raw) => {
      expect(issuePaths(schemas.PartSchema, { raw })).toEqual(['raw'])
    },
  )

  test('may be large', () => {
    const raw = Buffer.alloc(6_000_000, 255).toString('base64url')
    expect(issuePaths(schemas.PartSchema, { raw })).toEqual([])
    expect(issuePaths(schemas.PartSchema, { raw: `${raw}*` })).toEqual(['raw'])
  })
})

describe('refused', () => {
  const { message, artifact, card } = {
    message: examplesOf('Message').minimal,
    artifact: examplesOf('Artifact').minimal,
    card: examplesOf('AgentCard').minimal,
  }
  const rpc = { jsonrpc: '2.0', id: 1 }
  test.each([
    ['Message', { ...message, messageId: '' }, 'messageId'],
    ['Message', { ...message, contextId: '' }, 'contextId'],
    ['Message', { ...message, taskId: '' }, 'taskId'],
    ['Message', { ...message, role: 'user' }, 'role'],
    ['Message', { ...message, role: 'ROLE_UNSPECIFIED' }, 'role'],
    ['Message', { ...message, parts: [] }, 'parts'],
    ['Message', { ...message, referenceTaskIds: ['t', ''] }, 'referenceTaskIds.1'],
    ['Message', { ...message, parts: [{ url: '' }] }, 'parts.0.url'],
    ['Artifact', { ...artifact, artifactId: '' }, 'artifactId'],
    ['Artifact', { ...artifact, parts: [] }, 'parts'],
    ['TaskStatus', { state: 'TASK_STATE_UNSPECIFIED' }, 'state'],
    ['TaskStatus', { state: 'working' }, 'state'],
    ['TaskStatus', { state: 2 }, 'state'],
    ...['2026-01-31', '2026-01-31T12:00:00', '2026-02-30T12:00:00Z', '2026-01-31 12:00:00Z', '0', ''].map(
      (timestamp) => ['TaskStatus', { state: 'TASK_STATE_WORKING', timestamp }, 'timestamp'] as const,
    ),
    ['Task', { id: '', status: { state: 'TASK_STATE_WORKING' } }, 'id'],
    ['StreamResponse', {}, ''],
    ['StreamResponse', { message, task: { id: 't', status: { state: 'TASK_STATE_WORKING' } } }, ''],
    [
      'StreamResponse',
      { statusUpdate: { taskId: 't', contextId: 'c', status: {} } },
      'statusUpdate.status.state',
    ],
    ['SendMessageResponse', { statusUpdate: {} }, ''],
    ...['5', -1, 1.5, Number.NaN, 2 ** 31, null].flatMap((historyLength) => [
      ['GetTaskRequest', { id: 't', historyLength }, 'historyLength'] as const,
      ['ListTasksRequest', { historyLength }, 'historyLength'] as const,
      [
        'SendMessageRequest',
        { message, configuration: { historyLength } },
        'configuration.historyLength',
      ] as const,
    ]),
    ...[0, 101, -1, 1.5, '50', null].map(
      (pageSize) => ['ListTasksRequest', { pageSize }, 'pageSize'] as const,
    ),
    ['ListTasksRequest', { status: 'TASK_STATE_CANCELLED' }, 'status'],
    ['ListTasksRequest', { includeArtifacts: 'false' }, 'includeArtifacts'],
    ['ListTasksRequest', { statusTimestampAfter: 1_769_860_800_000 }, 'statusTimestampAfter'],
    [
      'SendMessageRequest',
      { message, configuration: { returnImmediately: 'false' } },
      'configuration.returnImmediately',
    ],
    ['SendMessageRequest', { message: [message] }, 'message'],
    ['SendMessageRequest', { message, metadata: [] }, 'metadata'],
    ['TaskPushNotificationConfig', { url: '' }, 'url'],
    ['AuthenticationInfo', { scheme: '' }, 'scheme'],
    ['OAuthFlows', { implicit: {}, password: {} }, ''],
    ['SecurityScheme', { type: 'http', scheme: 'Bearer' }, ''],
    [
      'SecurityScheme',
      { apiKeySecurityScheme: { location: 'body', name: 'k' } },
      'apiKeySecurityScheme.location',
    ],
    ['AgentCard', { ...card, supportedInterfaces: [] }, 'supportedInterfaces'],
    ['AgentCard', { ...card, defaultInputModes: [] }, 'defaultInputModes'],
    ['AgentCard', { ...card, defaultOutputModes: [] }, 'defaultOutputModes'],
    ['AgentCard', { ...card, securitySchemes: { a: {} } }, 'securitySchemes.a'],
    ['AgentInterface', { url: 'x', protocolBinding: '', protocolVersion: '1.0' }, 'protocolBinding'],
    ['AgentSkill', { id: 's', name: '', description: '', tags: [] }, 'tags'],
    ['JsonRpcRequest', { ...rpc, jsonrpc: 2, method: 'x' }, 'jsonrpc'],
    ...[1.5, 2 ** 53, true, {}].map((id) => ['JsonRpcRequest', { ...rpc, id, method: 'x' }, 'id'] as const),
    ['JsonRpcError', { code: 1.5, message: '' }, 'code'],
    ['JsonRpcResponse', { ...rpc, result: null, error: { code: 1, message: '' } }, ''],
  ] as const)('%s %j', (name, value, path) => {
    expect(issuePaths(examplesOf(name).schema, value)).toEqual([path])
  })
})

test('own messages read on after the path', () => {
  const messages = [
    schemas.SendMessageRequestSchema.safeParse({
      message: { messageId: '', role: 'ROLE_USER', parts: [] },
      metadata: [],
    }),
    schemas.ListTasksRequestSchema.safeParse({
      pageSize: 101,
      historyLength: -1,
      statusTimestampAfter: 'now',
    }),
    schemas.JsonRpcResponseSchema.safeParse({ jsonrpc: '2.0', id: 1.5 }),
    schemas.StreamResponseSchema.safeParse({}),
  ].flatMap(({ error }) => error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? [])
  expect(messages).toEqual([
    'message.messageId must not be empty',
    'message.parts must have at least one part',
    'metadata must be an object',
    'pageSize must be an integer from 1 to 100',
    'historyLength must be an integer from 0 to 2147483647',
    'statusTimestampAfter must be an ISO 8601 timestamp with a time zone, such as 2026-01-31T12:00:00.000Z',
    'id must be a string, an integer or null',
    ' must have exactly one of task, message, statusUpdate and artifactUpdate, got none',
  ])
})

test('JSON is looked at one level deep, and not copied', () => {
  const data = [1n]
  expect(schemas.PartSchema.parse({ data }).data).toBe(data)
  for (const value of [undefined, () => 1, 1n, Symbol('x')]) {
    expect(schemas.JsonValueSchema.safeParse(value).success).toBe(false)
    expect(schemas.JsonObjectSchema.safeParse(value).success).toBe(false)
  }
})

test('what code leaves undefined is absent', () => {
  expect(issuePaths(schemas.PartSchema, { text: 'x', data: undefined, metadata: undefined })).toEqual([])
  expect(issuePaths(schemas.PartSchema, { data: undefined })).toEqual([''])
})

describe('__proto__ pollutes nothing', () => {
  const evil = '"__proto__":{"polluted":true,"text":"x"}'

  test('in metadata, which is passed on as it is', () => {
    const metadata: unknown = JSON.parse(`{${evil}}`)
    const parsed = schemas.CancelTaskRequestSchema.parse({ id: 't', metadata })
    expect(parsed.metadata).toBe(metadata)
    expect(Object.getPrototypeOf(parsed.metadata)).toBe(Object.prototype)
  })

  test('as a field', () => {
    const parsed = schemas.PartSchema.parse(JSON.parse(`{"url":"x",${evil}}`))
    expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype)
    expect(parsed).toStrictEqual({ url: 'x' })
    expect(issuePaths(schemas.PartSchema, JSON.parse(`{${evil}}`))).toEqual([''])
  })

  test('as a key of a map', () => {
    const { schemes } = schemas.SecurityRequirementSchema.parse(
      JSON.parse('{"schemes":{"__proto__":{"list":[]},"a":{}}}'),
    )
    expect(schemes).toStrictEqual({ a: {} })
    expect(Object.getPrototypeOf(schemes)).toBe(Object.prototype)
  })
})

test('a map of schemes stops at the first one that is wrong, whatever comes after', () => {
  const entries = Array.from({ length: 100_000 }, (_, index) => [`s${index}`, { unknown: index }])
  const { minimal } = examplesOf('AgentCard')
  const wire = { ...(minimal as object), securitySchemes: Object.fromEntries(entries) as unknown }
  const { error } = schemas.AgentCardSchema.safeParse(wire)
  expect(error?.issues).toHaveLength(1)
  expect(error?.issues[0]?.path).toEqual(['securitySchemes', 's0'])
})
