import fc from 'fast-check'
import {
  A2AError,
  type ArtifactChanged,
  type ErrorCode,
  type JsonObject,
  type JsonValue,
  type StatusChanged,
  type TaskSnapshot,
  type TaskState,
} from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { AgentCardSchema } from '../../../src/schemas/index.js'
import { v0_1 } from '../../../src/compat/index.js'
import { WIRE_ERRORS, type Operation, type Results, type StreamEntry } from '../../../src/wire/index.js'
import { setup, walk } from '../../support/manager.js'
import * as any from '../../wire/support/arbitraries.js'

const dialect = v0_1()
const { rpc } = dialect

/** As `method` of 0.1 prints `result`. */
function print(method: string, result: Results[Operation]): JsonObject {
  const operation = dialect.methods.get(method)
  // Which operation it is, the caller knows.
  const codec = operation && (rpc[operation] as { encode(result: unknown): JsonValue } | undefined)
  return any.overTheWire(codec?.encode(result)) as JsonObject
}

const USER = { role: 'user', parts: [{ type: 'text', text: 'go' }] }

describe('the methods', () => {
  test('are those of 0.1, all over JSON-RPC', () => {
    expect([...dialect.methods.keys()]).toEqual([
      ...['tasks/send', 'tasks/sendSubscribe', 'tasks/get', 'tasks/cancel', 'tasks/resubscribe'],
      ...['tasks/pushNotification/set', 'tasks/pushNotification/get'],
    ])
    expect(Object.keys(rpc).sort()).toEqual([...dialect.methods.values()].sort())
    expect(dialect).toMatchObject({
      version: '0.1',
      isInCards: false,
      hasTenants: false,
      routes: [],
      rest: {},
    })
    expect(dialect).toMatchObject({ mediaType: 'application/json', extensionsHeader: 'X-A2A-Extensions' })
  })

  test('that stream fail in the stream', () => {
    expect(dialect.errorsInStream).toEqual(['SendStreamingMessage', 'SubscribeToTask'])
  })

  test.each<[boolean, JsonObject]>([
    [true, { id: 't', message: USER }],
    [true, { id: 't', message: {} }],
    [false, { message: USER }],
    [false, { id: 7, message: USER }],
    [false, { id: 't' }],
    [false, { id: 't', message: 'go' }],
    [false, { id: 't', message: [USER] }],
    [false, { id: 't', message: null }],
    [false, {}],
  ])('0.1 is recognized: %s, by %j', (isOurs, params) => {
    expect(dialect.recognizes?.(params)).toBe(isOurs)
  })
})

function wholeTask(): TaskSnapshot {
  const { tasks } = setup()
  const { id } = tasks.createTask({ skill: 'test', metadata: { from: 'us' } })
  tasks.addMessage(id, { messageId: 'm-1', role: 'user', parts: [{ text: 'go' }], metadata: { a: 1 } })
  tasks.addMessage(id, { messageId: 'm-2', role: 'agent', parts: [{ text: 'how?' }], extensions: ['e'] })
  tasks.updateTask(id, {
    state: 'working',
    message: 'Reading',
    output: [1],
    artifacts: [
      { artifactId: 'a', name: 'A', description: 'An a', parts: [{ raw: 'aGk=' }], metadata: { b: 2 } },
      { any: 'object' },
    ],
  })
  return snapshot(tasks.peekTask(id))
}

function snapshot(task: TaskSnapshot | null): TaskSnapshot {
  if (task === null) throw new Error('The task is gone')
  return task
}

describe('a task', () => {
  const task = wholeTask()
  const { id, contextId, updatedAt: timestamp } = task
  const status = {
    state: 'working',
    message: { role: 'agent', parts: [{ type: 'text', text: 'Reading' }] },
    timestamp,
  }
  const go = { role: 'user', parts: [{ type: 'text', text: 'go' }], metadata: { a: 1 } }
  const how = { role: 'agent', parts: [{ type: 'text', text: 'how?' }] }
  const whole = {
    id,
    sessionId: contextId,
    status,
    artifacts: [
      {
        name: 'A',
        description: 'An a',
        parts: [{ type: 'file', file: { bytes: 'aGk=' } }],
        index: 0,
        metadata: { b: 2 },
      },
      { parts: [{ type: 'data', data: { any: 'object' } }], index: 1 },
      {
        parts: [{ type: 'data', data: { value: [1] }, metadata: { data_part_compat: true } }],
        index: 2_147_483_647,
      },
    ],
    history: [go, how],
    metadata: { from: 'us' },
  }

  test('whole', () => {
    expect(print('tasks/get', { task })).toStrictEqual(whole)
    expect(print('tasks/send', { type: 'task', task })).toStrictEqual(whole)
  })

  test('a webhook receives it whole, by the name of its id that the specification has', () => {
    expect(any.overTheWire(dialect.encodeTaskNotification?.(task))).toStrictEqual({ ...whole, taskId: id })
  })

  test('with as much of its history as is asked for', () => {
    expect(print('tasks/get', { task, historyLength: 1 })['history']).toStrictEqual([how])
    expect(print('tasks/get', { task, historyLength: 0 })).not.toHaveProperty('history')
    expect(print('tasks/send', { type: 'task', task, historyLength: 0 })).not.toHaveProperty('history')
  })

  test('that is canceled is shown without its history, because no client can ask for it', () => {
    const unasked: JsonObject = { ...whole }
    delete unasked['history']
    expect(print('tasks/cancel', { task })).toStrictEqual(unasked)
  })

  test('without artifacts', () => {
    expect(print('tasks/get', { task, artifacts: false })).not.toHaveProperty('artifacts')
  })

  test.each<[shown: string, path: TaskState[]]>([
    ['submitted', []],
    ['working', ['working']],
    ['input-required', ['working', 'input-required']],
    ['input-required', ['working', 'auth-required']],
    ['completed', ['working', 'completed']],
    ['failed', ['failed']],
    ['canceled', ['canceled']],
    ['failed', ['rejected']],
  ])('is %s after %j', (shown, path) => {
    const { tasks, id: other } = setup()
    walk(tasks, other, ...path)
    const moved = snapshot(tasks.peekTask(other))
    expect(print('tasks/get', { task: moved })).toHaveProperty('status.state', shown)
    const entry: StreamEntry = { type: 'task', task: moved, last: true, isResync: false }
    expect(print('tasks/resubscribe', entry)).toHaveProperty('status.state', shown)
  })
})

describe.each(['tasks/sendSubscribe', 'tasks/resubscribe'])('a stream of %s', (method) => {
  const base = { taskId: 't', generation: 3, timestamp: '2026-01-01T00:00:00.000Z' }
  const { timestamp } = base
  const status: StatusChanged = { ...base, type: 'status', from: 'working', to: 'rejected', message: 'Bye' }
  const bye = { role: 'agent', parts: [{ type: 'text', text: 'Bye' }] }
  const artifact: ArtifactChanged = {
    ...base,
    type: 'artifact',
    artifact: { artifactId: 'b', name: 'B', parts: [{ text: 'x' }], extensions: ['e'] },
    append: true,
    lastChunk: false,
  }

  test.each([true, false])('the status is final when the stream ends: %s', (last) => {
    const entry: StreamEntry = { type: 'status', contextId: 'c', event: status, last }
    expect(print(method, entry)).toStrictEqual({
      id: 't',
      status: { state: 'failed', message: bye, timestamp },
      final: last,
    })
  })

  test('a status message that was removed is left out', () => {
    const event = { ...status, message: null }
    const entry: StreamEntry = { type: 'status', contextId: 'c', event, last: true }
    expect(print(method, entry)).not.toHaveProperty('status.message')
  })

  test.each([true, false])('a task is its status, and final when the stream ends: %s', (last) => {
    const task = wholeTask()
    expect(print(method, { type: 'task', task, last, isResync: true })).toStrictEqual({
      id: task.id,
      status: print('tasks/get', { task })['status'],
      final: last,
    })
  })

  /** As the stream shows `event` of a task with `artifacts`. */
  function chunk(
    event: ArtifactChanged,
    artifacts?: ArtifactChanged['artifact'][],
    output: JsonValue = null,
  ) {
    const task = artifacts && ({ ...wholeTask(), artifacts, output } as TaskSnapshot)
    const source = { task: () => task }
    return print(method, { type: 'artifact', contextId: 'c', event, last: false, source })
  }

  test('an artifact has its place among those of the task', () => {
    const others = [{ artifactId: 'a', parts: [{ text: 'a' }] }, artifact.artifact, { any: 'object' }]
    expect(chunk(artifact, others)).toStrictEqual({
      id: 't',
      artifact: {
        name: 'B',
        parts: [{ type: 'text', text: 'x' }],
        index: 1,
        append: true,
        lastChunk: false,
      },
    })
    const end = { ...artifact, append: false, lastChunk: true }
    expect(chunk(end, others)).toMatchObject({ artifact: { index: 1, append: false, lastChunk: true } })
  })

  test('an artifact without an id is the last', () => {
    const event = { ...artifact, artifact: { any: 'object' } }
    const shown = { parts: [{ type: 'data', data: { any: 'object' } }], append: true, lastChunk: false }
    const others = [artifact.artifact, { any: 'object' }]
    expect(chunk(event, others)).toStrictEqual({ id: 't', artifact: { ...shown, index: 1 } })
    expect(chunk(event, [])).toStrictEqual({ id: 't', artifact: { ...shown, index: 0 } })
  })

  test('the output is an artifact after all others, those to come, too', () => {
    const event = { ...artifact, artifact: { artifactId: 'output', parts: [{ text: 'o' }] } }
    const after = { artifact: { index: 2_147_483_647 } }
    expect(chunk(event, [], 'o')).toMatchObject(after)
    expect(chunk(event, [artifact.artifact], 'o')).toMatchObject(after)
    expect(chunk(event)).toMatchObject(after)
  })

  test('an artifact of a task that is gone is the first', () => {
    expect(chunk(artifact)).toMatchObject({ artifact: { index: 0 } })
    const entry: StreamEntry = { type: 'artifact', contextId: 'c', event: artifact, last: false }
    expect(print(method, entry)).toMatchObject({ id: 't', artifact: { index: 0 } })
  })

  test('a reply without a task is a task that is completed', () => {
    const message = { messageId: 'm', role: 'agent' as const, parts: [{ text: 'Bye' }], contextId: 'c' }
    const completed = { id: 'm', status: { state: 'completed', message: bye } }
    expect(print(method, { type: 'message', last: true, message })).toStrictEqual({
      ...completed,
      final: true,
    })
    const sent = { type: 'message' as const, message: { ...message, taskId: 't' } }
    expect(print('tasks/send', sent)).toStrictEqual({ ...completed, id: 't', sessionId: 'c' })
  })
})

// What the JSON schema of 0.1.0 demands, and nothing that it does not know.
const metadata = z.record(z.string(), z.unknown()).optional()
const data = z.record(z.string(), z.unknown())
const FileContent = z.strictObject({
  ...{ name: z.string().optional(), mimeType: z.string().optional() },
  ...{ bytes: z.base64().optional(), uri: z.string().optional() },
})
const WirePart = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string(), metadata }),
  z.strictObject({ type: z.literal('file'), file: FileContent, metadata }),
  z.strictObject({ type: z.literal('data'), data, metadata }),
])
const parts = z.array(WirePart)
const WireMessage = z.strictObject({ role: z.enum(['user', 'agent']), parts, metadata })
const WireStatus = z.strictObject({
  state: z.enum(['submitted', 'working', 'input-required', 'completed', 'canceled', 'failed']),
  message: WireMessage.optional(),
  timestamp: z.iso.datetime(),
})
const WireArtifact = z.strictObject({
  name: z.string().optional(),
  description: z.string().optional(),
  parts,
  index: z.int(),
  append: z.boolean().optional(),
  lastChunk: z.boolean().optional(),
  metadata,
})
const WireTask = z.strictObject({
  id: z.string(),
  sessionId: z.string(),
  status: WireStatus,
  artifacts: z.array(WireArtifact).optional(),
  history: z.array(WireMessage).optional(),
  metadata,
})
const WireEvent = z.union([
  z.strictObject({ id: z.string(), status: WireStatus, final: z.boolean() }),
  z.strictObject({ id: z.string(), artifact: WireArtifact }),
])

describe('the schema of 0.1 takes', () => {
  test('every task, and every stream that begins with one', () => {
    fc.assert(
      fc.property(any.task, fc.boolean(), (task, last) => {
        WireTask.parse(print('tasks/get', { task }))
        WireEvent.parse(print('tasks/resubscribe', { type: 'task', task, last, isResync: false }))
      }),
    )
  })

  test('every artifact of a stream', () => {
    const about = {
      type: 'artifact',
      taskId: 't',
      generation: 2,
      timestamp: '2026-01-01T00:00:00.000Z',
    } as const
    fc.assert(
      fc.property(fc.oneof(any.artifact, any.metadata), fc.boolean(), (artifact, append) => {
        const event: ArtifactChanged = { ...about, artifact, append, lastChunk: !append }
        WireEvent.parse(
          print('tasks/sendSubscribe', { type: 'artifact', contextId: 'c', event, last: false }),
        )
      }),
    )
  })
})

describe('an error', () => {
  // The texts and the data of the errors are of no matter here.
  const codeOf = (code: ErrorCode, given = {}): number =>
    dialect.encodeRpcError(new A2AError(code, 'No', given)).code

  test.each<[ErrorCode, number]>([
    ['TASK_NOT_FOUND', -32001],
    ['TASK_EXPIRED', -32001],
    ['TASK_NOT_CANCELABLE', -32002],
    ['PUSH_NOTIFICATION_NOT_SUPPORTED', -32003],
    ['UNSUPPORTED_OPERATION', -32004],
    ['CONTENT_TYPE_NOT_SUPPORTED', -32005],
    ['UNAUTHENTICATED', -32007],
    ['PERMISSION_DENIED', -32008],
    ['TASK_TERMINAL', -32009],
    ['INVALID_TRANSITION', -32009],
    ['INVALID_AGENT_RESPONSE', -32603],
    ['EXTENDED_AGENT_CARD_NOT_CONFIGURED', -32600],
    ['EXTENSION_SUPPORT_REQUIRED', -32600],
    ['VERSION_NOT_SUPPORTED', -32600],
    ['TASK_GENERATION_MISMATCH', -32600],
    ['INVALID_PARAMS', -32602],
    ['METHOD_NOT_FOUND', -32601],
    ['PARSE_ERROR', -32700],
    ['INTERNAL', -32603],
  ])('%s is %i', (code, expected) => {
    expect(codeOf(code)).toBe(expected)
  })

  test('says that there is no streaming where a stream is not supported', () => {
    for (const operation of dialect.errorsInStream) {
      expect(codeOf('UNSUPPORTED_OPERATION', { operation })).toBe(-32006)
    }
    expect(codeOf('UNSUPPORTED_OPERATION', { operation: 'SendMessage' })).toBe(-32004)
  })

  const KNOWN = [
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => -32000 - n),
  ]

  test.each(Object.keys(WIRE_ERRORS) as ErrorCode[])('%s has a code that 0.1 knows', (code) => {
    expect(KNOWN).toContain(codeOf(code))
  })

  test('says what is wrong, in an object, and nothing of what went wrong inside', () => {
    const invalid = new A2AError('INVALID_PARAMS', 'id is missing', { path: 'id', reason: 'is missing' })
    const inRpc = dialect.encodeRpcError(invalid)
    expect(inRpc).toMatchObject({
      message: 'id is missing',
      data: {
        details: [
          { reason: 'INVALID_PARAMS' },
          { fieldViolations: [{ field: 'id', description: 'is missing' }] },
        ],
      },
    })
    expect(dialect.encodeHttpError(invalid)).toEqual({ status: 400, body: inRpc })
    expect(dialect.encodeHttpError(invalid, 413).status).toBe(413)
    const secret = new A2AError('URL_BLOCKED', 'https://inside', { url: 'https://inside', reason: 'r' })
    expect(JSON.stringify(dialect.encodeRpcError(secret))).not.toContain('inside')
  })
})

describe('the card', () => {
  const skill = { id: 's', name: 'S', description: 'Sums', tags: ['math'] }
  const card = AgentCardSchema.parse({
    name: 'Echo',
    description: 'Says it again.',
    version: '1',
    supportedInterfaces: [
      { url: 'https://example.com/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      { url: 'https://example.com/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
    ],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['application/json'],
    skills: [skill],
  })
  const shown = {
    name: 'Echo',
    description: 'Says it again.',
    url: 'https://example.com/rpc',
    version: '1',
    capabilities: { streaming: false, pushNotifications: false },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['application/json'],
    skills: [skill],
  }

  test('with no more than it has to have', () => {
    expect(dialect.encodeCard(card)).toStrictEqual(shown)
    expect(dialect.encodeCard({ ...card, securitySchemes: {} })).toStrictEqual(shown)
  })

  test('with all that it may have, and that 0.1 has a place for', () => {
    const more = { examples: ['1 + 1'], inputModes: ['text/plain'], outputModes: ['text/plain'] }
    const provider = { organization: 'O', url: 'https://example.com' }
    const documentationUrl = 'https://example.com/docs'
    const capabilities = { streaming: true, pushNotifications: true }
    const flow = { tokenUrl: 'https://example.com/token', scopes: {} }
    const whole = AgentCardSchema.parse({
      ...{ ...card, provider, documentationUrl, iconUrl: 'https://example.com/icon' },
      capabilities: { ...capabilities, extendedAgentCard: true, extensions: [{ uri: 'https://e' }] },
      securitySchemes: {
        bearer: { httpAuthSecurityScheme: { scheme: 'bearer' } },
        token: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
        key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } },
        oauth: { oauth2SecurityScheme: { flows: { clientCredentials: flow } } },
        open: { openIdConnectSecurityScheme: { openIdConnectUrl: 'https://example.com/id' } },
        tls: { mtlsSecurityScheme: {} },
      },
      securityRequirements: [{ schemes: { bearer: {} } }],
      skills: [{ ...skill, ...more, securityRequirements: [{ schemes: { key: {} } }] }],
      signatures: [{ protected: 'a', signature: 'b' }],
    })
    expect(dialect.encodeCard(whole)).toStrictEqual({
      ...{ ...shown, provider, documentationUrl },
      capabilities,
      authentication: { schemes: ['Bearer', 'ApiKey', 'OAuth2', 'OpenIdConnect', 'MutualTLS'] },
      skills: [{ ...skill, ...more }],
    })
  })

  test('of an agent without JSON-RPC leads to what there is', () => {
    const supportedInterfaces = card.supportedInterfaces.slice(0, 1)
    expect(dialect.encodeCard({ ...card, supportedInterfaces })['url']).toBe('https://example.com/rest')
  })
})
