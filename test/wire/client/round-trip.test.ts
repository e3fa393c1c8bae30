/** Round trips of every object between the codecs of servers and clients, as JSON. */
import type { Artifact, DeepReadonly, Message, Part, TaskSnapshot } from 'a2a-tasks'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  v0_3,
  v0_3Client,
  v1,
  v1Client,
  type ClientCodecs,
  type ClientDialect,
  type Codecs,
  type Dialect,
  type RemoteTask,
  type StreamEntry,
} from '../../../src/wire/index.js'
import { artifactsOf, statusMessage } from '../../../src/wire/view.js'
import * as any from '../support/arbitraries.js'

interface Pair {
  readonly name: string
  readonly server: Codecs
  readonly client: ClientCodecs
  /** What of a part, and of a message, the version has room for. */
  readonly part: (part: Part) => Part
  readonly message: (message: Message) => Message
}

const same = <T>(value: T): T => value

function without<T extends object>(value: T, ...keys: string[]): T {
  // What is gone may be absent.
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key))) as T
}

/** 0.3 has no place for the name and the media type of a text, or of data. */
function partOfV03(given: Part): Part {
  const { text, data, metadata = {} } = given
  if (text === undefined && data === undefined) return given
  const isObject = typeof data === 'object' && data !== null && !Array.isArray(data)
  const isWrapped = data !== undefined && !isObject
  // The metadata that says that data is wrapped comes back as none, when there was none in it.
  const isUnsaid = isWrapped && Object.keys(metadata).length === 0
  return without(given, 'filename', 'mediaType', ...(isUnsaid ? ['metadata'] : []))
}

function ofV03(message: Message): Message {
  return { ...message, parts: message.parts.map(partOfV03) }
}

/** Its proto has no referenceTaskIds. */
function ofV03Proto(message: Message): Message {
  return without(ofV03(message), 'referenceTaskIds')
}

function pairsOf(
  server: Dialect,
  client: ClientDialect,
  part: Pair['part'],
  rpc: Pair['message'],
  rest: Pair['message'],
): Pair[] {
  const { version } = server
  return [
    { name: `A2A ${version} over JSON-RPC`, server: server.rpc, client: client.rpc, part, message: rpc },
    { name: `A2A ${version} over HTTP+JSON`, server: server.rest, client: client.rest, part, message: rest },
  ]
}

const PAIRS = [
  ...pairsOf(v1(), v1Client, same, same, same),
  ...pairsOf(v0_3(), v0_3Client, partOfV03, ofV03, ofV03Proto),
]
const NO_REST_LIST = 'A2A 0.3 over JSON-RPC'

function must<T>(codec: T | undefined): T {
  if (codec === undefined) throw new Error('There is no codec')
  return codec
}

function artifactIn(pair: Pair, given: DeepReadonly<Artifact>): unknown {
  const { parts = [], ...rest } = given as Artifact
  return { ...rest, parts: parts.map(pair.part) }
}

/** The task as a client should know it. */
function remote(pair: Pair, task: TaskSnapshot, historyLength = Infinity): RemoteTask {
  const { id, contextId, state, updatedAt, message, metadata, messages } = task
  const shown = message === undefined ? undefined : statusMessage(message, id, contextId)
  const history = historyLength === 0 ? [] : messages.slice(-historyLength)
  return any.overTheWire({
    ...{ id, contextId, state, updatedAt, metadata },
    ...(shown !== undefined && { message: pair.message(shown as Message) }),
    artifacts: artifactsOf(task).map((artifact) => artifactIn(pair, artifact)),
    messages: history.map((each) => pair.message(each as Message)),
  }) as unknown as RemoteTask
}

function expectEvent(pair: Pair, entry: StreamEntry, expected: unknown): void {
  for (const operation of ['SendStreamingMessage', 'SubscribeToTask'] as const) {
    const shown = any.overTheWire(must(pair.server[operation]).encode(entry))
    expect(must(pair.client[operation]).decode(shown)).toStrictEqual(any.overTheWire(expected))
  }
}

describe.each(PAIRS)('$name: what the server writes', (pair) => {
  const { server, client } = pair

  test('a task', () => {
    fc.assert(
      fc.property(any.task, fc.option(fc.nat(3), { nil: undefined }), (task, historyLength) => {
        const view = { task, ...(historyLength !== undefined && { historyLength }) }
        const expected = remote(pair, task, historyLength)
        for (const operation of ['GetTask', 'CancelTask'] as const) {
          const shown = any.overTheWire(must(server[operation]).encode(view))
          expect(must(client[operation]).decode(shown)).toStrictEqual(expected)
        }
        const sent = any.overTheWire(must(server.SendMessage).encode({ type: 'task', ...view }))
        expect(must(client.SendMessage).decode(sent)).toStrictEqual({ type: 'task', task: expected })
        const entry = { type: 'task', last: false, isResync: false, ...view } as const
        expectEvent(pair, entry, { type: 'task', task: expected })
      }),
    )
  })

  test('a message', () => {
    fc.assert(
      fc.property(any.message, (message) => {
        const shown = any.overTheWire(must(server.SendMessage).encode({ type: 'message', message }))
        const expected = { type: 'message', message: pair.message(message) }
        expect(must(client.SendMessage).decode(shown)).toStrictEqual(any.overTheWire(expected))
        expectEvent(pair, { type: 'message', last: true, message }, expected)
      }),
    )
  })

  test('a change of the status', () => {
    fc.assert(
      fc.property(
        any.state,
        fc.option(any.message, { nil: undefined }),
        fc.boolean(),
        (to, message, last) => {
          const timestamp = '2026-01-01T00:00:00.000Z'
          const ids = { taskId: 't', contextId: 'c' }
          const event = {
            type: 'status',
            taskId: 't',
            generation: 2,
            timestamp,
            from: 'working',
            to,
          } as const
          const entry = { type: 'status', contextId: 'c', last, event: { ...event, message } } as StreamEntry
          const said = message === undefined ? {} : { message: pair.message(message) }
          expectEvent(pair, entry, { type: 'status', ...ids, state: to, ...said, updatedAt: timestamp })
        },
      ),
    )
  })

  test('an artifact, or a chunk of one', () => {
    fc.assert(
      fc.property(any.artifact, fc.boolean(), fc.boolean(), (artifact, append, lastChunk) => {
        const about = { type: 'artifact', taskId: 't', append, lastChunk } as const
        const event = { ...about, generation: 2, timestamp: '', artifact }
        expectEvent(
          pair,
          { type: 'artifact', contextId: 'c', last: false, event },
          { ...about, contextId: 'c', artifact: artifactIn(pair, artifact) },
        )
      }),
    )
  })

  test('push configurations', () => {
    fc.assert(
      fc.property(fc.array(any.pushConfig, { maxLength: 3 }), (given) => {
        const configs = given.map((config) => ({ taskId: 't', config }))
        for (const config of configs) {
          for (const operation of [
            'CreateTaskPushNotificationConfig',
            'GetTaskPushNotificationConfig',
          ] as const) {
            const shown = any.overTheWire(must(server[operation]).encode(config))
            expect(must(client[operation]).decode(shown)).toStrictEqual(config)
          }
        }
        const listed = must(server.ListTaskPushNotificationConfigs).encode({ configs, nextPageToken: '' })
        expect(must(client.ListTaskPushNotificationConfigs).decode(any.overTheWire(listed))).toStrictEqual({
          configs,
          nextPageToken: '',
        })
      }),
    )
  })

  test('a page of tasks', () => {
    if (pair.name === NO_REST_LIST) {
      expect([server.ListTasks, client.ListTasks]).toEqual([undefined, undefined])
      return
    }
    fc.assert(
      fc.property(fc.array(any.task, { maxLength: 2 }), (tasks) => {
        const page = { nextPageToken: 'next', pageSize: 2, totalSize: 7 }
        const shown = must(server.ListTasks).encode({ tasks: tasks.map((task) => ({ task })), ...page })
        const expected = tasks.map((task) => remote(pair, task))
        expect(must(client.ListTasks).decode(any.overTheWire(shown))).toStrictEqual({
          tasks: expected,
          ...(pair.name.includes('0.3') ? { nextPageToken: '' } : { nextPageToken: 'next', totalSize: 7 }),
        })
      }),
    )
  })
})

describe.each(PAIRS)('$name: what the client writes', (pair) => {
  const { server, client } = pair
  const isV1 = pair.name.includes('1.0')

  test('a message to be sent', () => {
    fc.assert(
      fc.property(any.sendRequest, (request) => {
        const expected = any.overTheWire({ ...request, message: pair.message(request.message) })
        for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
          const asked = any.overTheWire(must(client[operation]).encode(request))
          expect(must(server[operation]).decode(asked)).toStrictEqual(expected)
        }
      }),
    )
  })

  test('the id of a task', () => {
    fc.assert(
      fc.property(
        any.text,
        fc.option(fc.nat(100), { nil: undefined }),
        any.metadata,
        (id, length, metadata) => {
          const get = { id, ...(length !== undefined && { historyLength: length }) }
          expect(must(server.GetTask).decode(must(client.GetTask).encode(get))).toStrictEqual(get)
          const cancel = { id, metadata }
          expect(must(server.CancelTask).decode(must(client.CancelTask).encode(cancel))).toStrictEqual(cancel)
          const subscribe = must(server.SubscribeToTask).decode(must(client.SubscribeToTask).encode({ id }))
          // 0.3 answers with a task that has ended.
          expect(subscribe).toStrictEqual({ id, evenIfEnded: !isV1 })
        },
      ),
    )
  })

  test('which tasks to list', () => {
    if (pair.name === NO_REST_LIST) {
      expect(client.ListTasks).toBeUndefined()
      return
    }
    const query = fc.record(
      {
        contextId: any.text,
        state: any.state,
        pageSize: fc.integer({ min: 1, max: 100 }),
        historyLength: fc.nat(100),
        since: fc.constant('2026-01-01T00:00:00.000Z'),
        ...(isV1 && { pageToken: any.text, includeArtifacts: fc.boolean() }),
      },
      { requiredKeys: [] },
    )
    const defaults = isV1
      ? { pageSize: 50, includeArtifacts: false }
      : { pageSize: 100, includeArtifacts: true }
    fc.assert(
      fc.property(query, (asked) => {
        const decoded = must(server.ListTasks).decode(must(client.ListTasks).encode(asked))
        expect(decoded).toStrictEqual({ ...defaults, ...asked })
      }),
    )
  })

  test('push configurations', () => {
    fc.assert(
      fc.property(any.text, any.pushConfig, (taskId, config) => {
        const create = must(client.CreateTaskPushNotificationConfig).encode({ taskId, config })
        const created = must(server.CreateTaskPushNotificationConfig).decode(any.overTheWire(create))
        expect(created).toStrictEqual({ taskId, config })
        const ids = { taskId, id: config.id }
        for (const operation of [
          'GetTaskPushNotificationConfig',
          'DeleteTaskPushNotificationConfig',
        ] as const) {
          expect(must(server[operation]).decode(must(client[operation]).encode(ids))).toStrictEqual(ids)
        }
        const list = must(client.ListTaskPushNotificationConfigs).encode({ taskId })
        expect(must(server.ListTaskPushNotificationConfigs).decode(list)).toStrictEqual({ taskId })
      }),
    )
  })

  test('a push configuration without an id', () => {
    const given = { taskId: 't', config: { url: 'https://client.example/hook' } }
    const asked = must(client.CreateTaskPushNotificationConfig).encode(given)
    expect(must(server.CreateTaskPushNotificationConfig).decode(asked)).toStrictEqual(given)
  })

  test('nothing but the question, and no card of its own', () => {
    const asked = must(client.GetExtendedAgentCard).encode({})
    expect(must(server.GetExtendedAgentCard).decode(asked)).toStrictEqual({})
    expect(must(client.GetExtendedAgentCard).decode({ any: 'card' })).toStrictEqual({ any: 'card' })
    for (const nothing of [null, {}, undefined]) {
      expect(must(client.DeleteTaskPushNotificationConfig).decode(nothing)).toBeNull()
    }
  })
})
