/** Irregular input of clients: tolerated deviations and errors. */
import { A2AError } from 'a2a-tasks'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { v0_3Client, v1Client, type ClientCodecs, type Operation } from '../../../src/wire/index.js'
import { samples } from '../../support/samples.js'

const CLIENTS: readonly (readonly [name: string, codecs: ClientCodecs])[] = [
  ['A2A 1.0', v1Client.rpc],
  ['A2A 1.0 over HTTP+JSON', v1Client.rest],
  ['A2A 0.3 over JSON-RPC', v0_3Client.rpc],
  ['A2A 0.3 over HTTP+JSON', v0_3Client.rest],
]

function read(codecs: ClientCodecs, operation: Operation, json: unknown): unknown {
  const codec = codecs[operation]
  if (codec === undefined) throw new Error(`There is no ${operation}`)
  return codec.decode(json)
}

const BARE = { id: 't', status: { state: 'TASK_STATE_WORKING' } }
const PLAIN = { id: 't', state: 'working', artifacts: [], messages: [], metadata: {} }
const HOOK = 'https://client.example'
const SAID = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] }

describe.each(CLIENTS)('%s is read leniently', (_name, codecs) => {
  const task = (json: unknown): unknown => read(codecs, 'GetTask', json)

  test('empty, null and unknown fields', () => {
    expect(task(BARE)).toStrictEqual(PLAIN)
    const nulls = { contextId: null, artifacts: null, history: null, metadata: null, kind: 'task' }
    expect(task({ ...BARE, ...nulls })).toStrictEqual(PLAIN)
    expect(task({ ...BARE, contextId: '', future: { any: 'thing' } })).toStrictEqual(PLAIN)
    const status = { state: 'TASK_STATE_WORKING', timestamp: null, message: null, mood: 'good' }
    expect(task({ ...BARE, status })).toStrictEqual(PLAIN)
    expect(task({ ...BARE, status: { ...status, timestamp: '' } })).toStrictEqual(PLAIN)
  })

  test('artifacts and messages without parts', () => {
    for (const parts of [[], null, undefined]) {
      const json = {
        ...BARE,
        artifacts: [{ artifactId: 'a', parts }],
        history: [{ messageId: 'm', role: 'ROLE_USER', parts }],
      }
      expect(task(json)).toStrictEqual({
        ...PLAIN,
        artifacts: [{ artifactId: 'a', parts: [] }],
        messages: [{ messageId: 'm', role: 'user', parts: [] }],
      })
    }
  })

  test('parts with unneeded fields', () => {
    const parts = [
      { text: 'hi', metadata: null, filename: '', mediaType: null, other: 1 },
      { text: '', raw: null },
      { data: { a: null } },
      { raw: '-_8', mediaType: 'a/b' },
    ]
    expect(task({ ...BARE, artifacts: [{ artifactId: 'a', parts }] })).toStrictEqual({
      ...PLAIN,
      artifacts: [
        {
          artifactId: 'a',
          parts: [{ text: 'hi' }, { text: '' }, { data: { a: null } }, { raw: '+/8=', mediaType: 'a/b' }],
        },
      ],
    })
  })

  test.each([
    ['unknown', 'working'],
    ['TASK_STATE_UNSPECIFIED', 'working'],
    ['TASK_STATE_CANCELED', 'canceled'],
    ['TASK_STATE_CANCELLED', 'canceled'],
    ['canceled', 'canceled'],
    // The task-lifecycle document and agents of older versions write it so.
    ['cancelled', 'canceled'],
    ['input-required', 'input-required'],
    ['TASK_STATE_AUTH_REQUIRED', 'auth-required'],
  ])('the state %s', (state, expected) => {
    expect(task({ ...BARE, status: { state } })).toMatchObject({ state: expected })
  })

  test('a task that is cancelled, with two l, in every answer that has one', () => {
    const cancelled = { ...BARE, status: { state: 'cancelled' } }
    const expected = { ...PLAIN, state: 'canceled' }
    expect(read(codecs, 'CancelTask', cancelled)).toStrictEqual(expected)
    for (const answer of [{ task: cancelled }, { ...cancelled, kind: 'task' }]) {
      expect(read(codecs, 'SendMessage', answer)).toMatchObject({ task: expected })
      expect(read(codecs, 'SubscribeToTask', answer)).toMatchObject({ task: expected })
    }
    const update = { taskId: 't', contextId: 'c', status: cancelled.status }
    for (const event of [{ statusUpdate: update }, { ...update, kind: 'status-update', final: true }]) {
      expect(read(codecs, 'SubscribeToTask', event)).toMatchObject({ state: 'canceled' })
    }
    if (codecs.ListTasks === undefined) return
    const pages = [[cancelled], { tasks: [cancelled], nextPageToken: '', pageSize: 1, totalSize: 1 }]
    const page = pages[codecs === v0_3Client.rest ? 0 : 1]
    expect(read(codecs, 'ListTasks', page)).toMatchObject({ tasks: [expected] })
  })

  test('either form of an answer to a message', () => {
    const message = { messageId: 'm', role: 'agent', parts: [{ text: 'hi' }] }
    const forms = [{ message: SAID }, { message: SAID, task: null }, { ...SAID, kind: 'message' }]
    for (const json of forms) {
      expect(read(codecs, 'SendMessage', json)).toStrictEqual({ type: 'message', message })
      expect(read(codecs, 'SubscribeToTask', json)).toStrictEqual({ type: 'message', message })
    }
    expect(read(codecs, 'SendMessage', { task: BARE })).toStrictEqual({ type: 'task', task: PLAIN })
  })

  test('events with no more than they need', () => {
    const status = { taskId: 't', status: { state: 'TASK_STATE_COMPLETED' } }
    const ended = { type: 'status', taskId: 't', state: 'completed' }
    expect(read(codecs, 'SubscribeToTask', { statusUpdate: status })).toStrictEqual(ended)
    expect(read(codecs, 'SubscribeToTask', { kind: 'status-update', final: true, ...status })).toStrictEqual(
      ended,
    )
    const artifact = { taskId: 't', artifact: { artifactId: 'a' }, append: null }
    expect(read(codecs, 'SubscribeToTask', { artifactUpdate: artifact })).toStrictEqual({
      ...{ type: 'artifact', taskId: 't', append: false, lastChunk: false },
      artifact: { artifactId: 'a', parts: [] },
    })
  })

  test('push configurations with fields that a client does not need', () => {
    const config = (json: object): unknown =>
      read(codecs, 'GetTaskPushNotificationConfig', { taskId: 't', url: HOOK, ...json })
    expect(config({ tenant: 5 })).toStrictEqual({ taskId: 't', config: { url: HOOK } })
    expect(config({ name: {} })).toStrictEqual({ taskId: 't', config: { url: HOOK } })
    expect(config({ authentication: { scheme: 'B', schemes: 5 } })).toStrictEqual({
      taskId: 't',
      config: { url: HOOK, authentication: { scheme: 'B' } },
    })
  })
})

describe.each(CLIENTS)('%s is refused with the path', (_name, codecs) => {
  test.each([
    ['GetTask', null, 'result must be an object'],
    ['GetTask', [], 'result must be an object'],
    ['GetTask', 'text', 'result must be an object'],
    ['GetTask', undefined, 'result is missing'],
    ['GetTask', {}, 'result.id is missing'],
    ['GetTask', { ...BARE, id: '' }, 'result.id must not be empty'],
    ['GetTask', { ...BARE, id: 7 }, 'result.id must be a string'],
    ['GetTask', { id: 't' }, 'result.status is missing'],
    ['GetTask', { id: 't', status: 'working' }, 'result.status must be an object'],
    ['GetTask', { id: 't', status: {} }, 'result.status.state is missing'],
    ['GetTask', { id: 't', status: { state: 'asleep' } }, 'result.status.state must be one of'],
    ['GetTask', { id: 't', status: { state: 'constructor' } }, 'result.status.state must be one of'],
    ['GetTask', { id: 't', status: { state: 2 } }, 'result.status.state must be one of'],
    ['GetTask', { ...BARE, metadata: [] }, 'result.metadata must be an object'],
    ['GetTask', { ...BARE, artifacts: {} }, 'result.artifacts must be an array'],
    ['GetTask', { ...BARE, artifacts: [null] }, 'result.artifacts[0] must be an object'],
    [
      'GetTask',
      { ...BARE, artifacts: [{ artifactId: 7, parts: [] }] },
      'result.artifacts[0].artifactId must be',
    ],
    ['GetTask', { ...BARE, history: [{ ...SAID, role: 'boss' }] }, 'result.history[0].role must be one of'],
    ['GetTask', { ...BARE, history: [{ ...SAID, parts: 'x' }] }, 'result.history[0].parts must be an array'],
    [
      'GetTask',
      { ...BARE, history: [{ ...SAID, parts: [{}] }] },
      'result.history[0].parts[0] must have exactly one',
    ],
    [
      'GetTask',
      { ...BARE, history: [{ ...SAID, parts: [{ text: 'a', url: 'b' }] }] },
      'result.history[0].parts[0] must have exactly one',
    ],
    [
      'GetTask',
      { ...BARE, history: [{ ...SAID, parts: [{ text: 1 }] }] },
      'result.history[0].parts[0].text must be',
    ],
    [
      'GetTask',
      { ...BARE, history: [{ ...SAID, parts: [{ raw: '?' }] }] },
      'result.history[0].parts[0].raw must be',
    ],
    [
      'GetTask',
      { ...BARE, history: [{ ...SAID, extensions: [1] }] },
      'result.history[0].extensions[0] must be',
    ],
    ['SendMessage', {}, 'result must be exactly one of'],
    ['SendMessage', { task: BARE, message: SAID }, 'result must be exactly one of'],
    ['SendMessage', { kind: 'toString' }, 'result must be exactly one of'],
    ['SendMessage', { statusUpdate: { taskId: 't', ...BARE } }, 'result must be a task or a message'],
    ['SubscribeToTask', { task: { id: 't' } }, 'result.task.status is missing'],
    ['SubscribeToTask', { statusUpdate: { status: BARE.status } }, 'result.statusUpdate.taskId is missing'],
    ['SubscribeToTask', { artifactUpdate: { taskId: 't' } }, 'result.artifactUpdate.artifact is missing'],
    [
      'SubscribeToTask',
      { artifactUpdate: { taskId: 't', artifact: { artifactId: 'a' }, append: 'yes' } },
      'result.artifactUpdate.append must be a boolean',
    ],
    ['GetTaskPushNotificationConfig', { taskId: 't' }, 'result.url is missing'],
    ['ListTaskPushNotificationConfigs', { configs: 1 }, 'result.configs must be an array'],
    ['GetTask', { ...BARE, contextId: [] }, 'result.contextId must be a string, got an array'],
    [
      'GetTask',
      { id: 't', status: { ...BARE.status, timestamp: [] } },
      'result.status.timestamp must be a string, got an array',
    ],
    [
      'SendMessage',
      { message: { ...SAID, taskId: [] } },
      'result.message.taskId must be a string, got an array',
    ],
    ['GetTask', { ...BARE, metadata: 'x' }, 'result.metadata must be an object, got a string'],
    ['GetTask', { ...BARE, metadata: [] }, 'result.metadata must be an object, got an array'],
    ...(['id', 'taskId', 'token'] as const).map(
      (name) =>
        [
          'GetTaskPushNotificationConfig',
          { url: HOOK, [name]: [] },
          `result.${name} must be a string, got an array`,
        ] as const,
    ),
    [
      'GetTaskPushNotificationConfig',
      { pushNotificationConfig: 'x' },
      'result.pushNotificationConfig must be an object, got a string',
    ],
    [
      'GetTaskPushNotificationConfig',
      { name: {}, pushNotificationConfig: { url: HOOK } },
      'result.name must be a string, got an object',
    ],
    [
      'GetTaskPushNotificationConfig',
      { url: HOOK, authentication: { schemes: 5 } },
      'result.authentication.schemes must be an array, got a number',
    ],
    [
      'GetTaskPushNotificationConfig',
      { url: HOOK, authentication: { schemes: ['A', 3] } },
      'result.authentication.schemes[1] must be a string, got a number',
    ],
    [
      'ListTaskPushNotificationConfigs',
      { configs: [{ url: HOOK, authentication: { schemes: ['B', {}] } }] },
      'result.configs[0].authentication.schemes[1] must be a string, got an object',
    ],
    [
      'GetTaskPushNotificationConfig',
      { url: HOOK, authentication: { credentials: 5 } },
      'result.authentication.credentials must be a string, got a number',
    ],
  ] as const)('%s %j', (operation, json, expected) => {
    let error: unknown
    try {
      read(codecs, operation, json)
    } catch (thrown) {
      error = thrown
    }
    if (!A2AError.is(error, 'INVALID_AGENT_RESPONSE')) throw new Error(`It was read: ${String(error)}`)
    expect(error.data.reason).toContain(expected)
    expect(error.message).toBe(`The agent's answer is not A2A: ${error.data.reason}`)
  })

  test.each([
    ['x', '.file must be an object, got a string'],
    [{ uri: 'u', bytes: 5 }, '.file.bytes must be a string, got a number'],
    [{ bytes: {} }, '.file.bytes must be a string, got an object'],
    [{ uri: 'u', fileWithBytes: 5 }, '.file.fileWithBytes must be a string, got a number'],
    [{ uri: 5 }, '.file.uri must be a string, got a number'],
    [{ uri: 'u', name: [] }, '.file.name must be a string, got an array'],
    [{ uri: 'u', mimeType: [] }, '.file.mimeType must be a string, got an array'],
  ])('the file %j', (file, expected) => {
    const json = { ...BARE, artifacts: [{ artifactId: 'a', parts: [{ kind: 'file', file }] }] }
    expect(() => read(codecs, 'GetTask', json)).toThrow(`result.artifacts[0].parts[0]${expected}`)
  })

  test('any value is read, or fails with an A2AError', () => {
    const operations = Object.keys(codecs) as Operation[]
    const near = fc.record(
      {
        ...{ id: fc.jsonValue(), taskId: fc.jsonValue(), kind: fc.string(), messageId: fc.jsonValue() },
        ...{ role: fc.jsonValue(), parts: fc.jsonValue(), status: fc.record({ state: fc.string() }) },
        ...{ task: fc.jsonValue(), message: fc.jsonValue(), artifacts: fc.array(fc.jsonValue()) },
        ...{ configs: fc.jsonValue(), tasks: fc.jsonValue(), url: fc.jsonValue() },
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), near), fc.constantFrom(...operations), (json, operation) => {
        try {
          read(codecs, operation, json)
        } catch (error) {
          expect(A2AError.is(error, 'INVALID_AGENT_RESPONSE'), String(error)).toBe(true)
        }
      }),
      { numRuns: samples(500) },
    )
  })
})

describe('A2A 0.3', () => {
  test('a list of tasks is a list', () => {
    const { ListTasks } = v0_3Client.rest
    expect(ListTasks?.decode([BARE])).toStrictEqual({ tasks: [PLAIN], nextPageToken: '' })
    // A page of 1.0, of a tenant that is called v1: it would say that there are no tasks.
    expect(() => ListTasks?.decode({ tasks: [], nextPageToken: '' })).toThrow('result must be an array')
  })

  test('a list of push configurations is one, or in an object', () => {
    const config = { taskId: 't', pushNotificationConfig: { id: 'c', url: 'https://client.example' } }
    const expected = {
      configs: [{ taskId: 't', config: { id: 'c', url: 'https://client.example' } }],
      nextPageToken: '',
    }
    for (const codecs of [v0_3Client.rpc, v0_3Client.rest]) {
      expect(codecs.ListTaskPushNotificationConfigs?.decode([config])).toStrictEqual(expected)
      expect(codecs.ListTaskPushNotificationConfigs?.decode({ configs: [config] })).toStrictEqual(expected)
    }
  })

  test('files, and data that is wrapped', () => {
    const parts = [
      { kind: 'file', file: { bytes: 'AAAA', name: 'a', mimeType: 'b/c' } },
      { file: { fileWithUri: 'https://files.example/a', name: '', mimeType: '' } },
      { kind: 'data', data: { value: [1] }, metadata: { data_part_compat: true } },
      { data: { data: { value: 1 } } },
      // Only files have a name and a media type in 0.3.
      { kind: 'data', data: { a: 1 }, filename: 'a', mediaType: {} },
    ]
    const task = v0_3Client.rpc.GetTask?.decode({ ...BARE, artifacts: [{ artifactId: 'a', parts }] })
    expect(task?.artifacts[0]?.parts).toStrictEqual([
      { raw: 'AAAA', filename: 'a', mediaType: 'b/c' },
      { url: 'https://files.example/a' },
      { data: [1] },
      { data: { value: 1 } },
      { data: { a: 1 } },
    ])
  })
})
