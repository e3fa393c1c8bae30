import type { Artifact, JsonObject, JsonValue, Message, Part, TaskSnapshot } from 'a2a-tasks'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type * as z from 'zod/mini'
import {
  ArtifactSchema,
  MessageSchema,
  PartSchema,
  StreamResponseSchema,
  TaskSchema,
} from '../../../src/schemas/index.js'
import { v1, type StreamEntry } from '../../../src/wire/index.js'
import { setup } from '../../support/manager.js'

const { rpc } = v1()

const text = fc.string({ minLength: 1 })
/** Without the keys that the core refuses. */
const isTaken = (value: unknown): boolean =>
  !/"(__proto__|constructor|prototype)":/.test(JSON.stringify(value))
const json = fc
  .jsonValue({ maxDepth: 2 })
  .filter(isTaken)
  .map((value) => value as JsonValue)
const metadata = fc
  .dictionary(fc.string(), json, { noNullPrototype: true })
  .filter(isTaken) as fc.Arbitrary<JsonObject>
const optional = { metadata, filename: text, mediaType: text }
const part: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ text: fc.string(), ...optional }, { requiredKeys: ['text'] }),
  fc.record({ raw: fc.base64String(), ...optional }, { requiredKeys: ['raw'] }),
  fc.record({ url: fc.webUrl(), ...optional }, { requiredKeys: ['url'] }),
  fc.record({ data: json, ...optional }, { requiredKeys: ['data'] }),
)
const parts = fc.array(part, { minLength: 1, maxLength: 3 })
const message: fc.Arbitrary<Message> = fc.record(
  {
    messageId: text,
    role: fc.constantFrom('user', 'agent'),
    parts,
    contextId: text,
    taskId: text,
    metadata,
    extensions: fc.array(fc.webUrl(), { maxLength: 2 }),
    referenceTaskIds: fc.array(text, { maxLength: 2 }),
  },
  { requiredKeys: ['messageId', 'role', 'parts'] },
)
const artifact: fc.Arbitrary<Artifact> = fc.record(
  {
    artifactId: text,
    parts,
    name: fc.string(),
    description: fc.string(),
    metadata,
    extensions: fc.array(fc.webUrl(), { maxLength: 2 }),
  },
  { requiredKeys: ['artifactId', 'parts'] },
)

function overTheWire<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

/** Whether `schema` leaves `value` as it is: what it does not know it would leave out. */
function expectClosed(schema: z.ZodMiniType, value: unknown): void {
  const wire = overTheWire(value)
  expect(schema.parse(wire)).toStrictEqual(wire)
}

test('a message, and each of its parts, comes back as it was', () => {
  fc.assert(
    fc.property(message, (given) => {
      const shown = overTheWire(rpc.SendMessage?.encode({ type: 'message', message: given })) as JsonObject
      expectClosed(MessageSchema, shown['message'])
      for (const each of given.parts) expectClosed(PartSchema, each)
      const back = rpc.SendMessage?.decode({ message: shown['message'] })
      expect(back?.message).toStrictEqual(overTheWire(given))
    }),
  )
})

test('an artifact is shown as it is', () => {
  fc.assert(
    fc.property(artifact, fc.boolean(), fc.boolean(), (given, append, lastChunk) => {
      const entry: StreamEntry = {
        type: 'artifact',
        contextId: 'c',
        event: {
          type: 'artifact',
          taskId: 't',
          generation: 2,
          timestamp: '',
          artifact: given,
          append,
          lastChunk,
        },
        last: false,
      }
      const shown = overTheWire(rpc.SubscribeToTask?.encode(entry)) as { artifactUpdate: JsonObject }
      expectClosed(StreamResponseSchema, shown)
      expectClosed(ArtifactSchema, shown.artifactUpdate['artifact'])
      expect(shown.artifactUpdate).toStrictEqual({
        taskId: 't',
        contextId: 'c',
        artifact: overTheWire(given),
        ...(append && { append }),
        ...(lastChunk && { lastChunk }),
      })
    }),
  )
})

const anyTask: fc.Arbitrary<TaskSnapshot> = fc
  .record({
    messages: fc.array(message, { maxLength: 2 }),
    status: fc.oneof(text, message),
    output: json,
    artifacts: fc.array(fc.oneof(artifact, metadata), { maxLength: 3 }),
    metadata,
  })
  .map(({ messages, status, output, artifacts, metadata: more }) => {
    const { tasks } = setup()
    const { id } = tasks.createTask({ skill: 'test', metadata: more })
    for (const each of messages) tasks.addMessage(id, each)
    tasks.updateTask(id, { state: 'working', message: status, output, artifacts })
    const task = tasks.peekTask(id)
    if (task === null) throw new Error('The task is gone')
    return task
  })

test('whatever a task holds, its schema knows all of it', () => {
  fc.assert(
    fc.property(
      anyTask,
      fc.option(fc.nat(3), { nil: undefined }),
      fc.boolean(),
      (task, historyLength, artifacts) => {
        expectClosed(TaskSchema, rpc.GetTask?.encode({ task, historyLength, artifacts }))
        const entry: StreamEntry = { type: 'task', task, historyLength, isResync: false, last: false }
        expectClosed(StreamResponseSchema, rpc.SubscribeToTask?.encode(entry))
      },
    ),
  )
})

test('an artifact with its own properties shows none of them', () => {
  fc.assert(
    fc.property(artifact, fc.dictionary(text, json, { minKeys: 1, noNullPrototype: true }), (given, more) => {
      const { tasks, id } = setup()
      const own = Object.fromEntries(Object.entries(more).map(([key, value]) => [`x-${key}`, value]))
      tasks.appendArtifact(id, { ...own, ...given })
      const task = tasks.peekTask(id)
      expectClosed(TaskSchema, task && rpc.GetTask?.encode({ task }))
    }),
  )
})
