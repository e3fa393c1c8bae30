import fc from 'fast-check'
import type { JsonObject, JsonValue, Message, Part, TaskSnapshot } from 'a2a-tasks'
import { expect, test } from 'vitest'
import { v0_3 } from '../../../src/wire/index.js'
import { setup } from '../../support/manager.js'

const { rpc, rest } = v0_3()

const text = fc.string({ minLength: 1 })
const isHarmless = (value: unknown): boolean => !/"(__proto__|constructor)":/.test(JSON.stringify(value))
const json = fc
  .jsonValue({ maxDepth: 2 })
  .filter(isHarmless)
  .map((value) => value as JsonValue)
const metadata = fc
  .dictionary(fc.string(), json, { noNullPrototype: true })
  .filter(isHarmless) as fc.Arbitrary<JsonObject>
const optional = { metadata, filename: text, mediaType: text }
const part: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ text: fc.string(), ...optional }, { requiredKeys: ['text'] }),
  fc.record({ raw: fc.base64String(), ...optional }, { requiredKeys: ['raw'] }),
  fc.record({ url: fc.webUrl(), ...optional }, { requiredKeys: ['url'] }),
  fc.record({ data: json, ...optional }, { requiredKeys: ['data'] }),
)
const message: fc.Arbitrary<Message> = fc.record(
  {
    messageId: text,
    role: fc.constantFrom('user', 'agent'),
    parts: fc.array(part, { minLength: 1, maxLength: 3 }),
    contextId: text,
    taskId: text,
    metadata,
    extensions: fc.array(fc.webUrl(), { maxLength: 2 }),
    referenceTaskIds: fc.array(text, { maxLength: 2 }),
  },
  { requiredKeys: ['messageId', 'role', 'parts'] },
)

function overTheWire<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

/** What A2A 0.3 has room for. */
function survivorOf(given: Part): Part {
  if (given.text === undefined && given.data === undefined) return given
  const survivor = { ...given }
  delete survivor.filename
  delete survivor.mediaType
  // The metadata that says that data is wrapped comes back as none, when there was none in it.
  if (given.data !== undefined && !isObject(given.data) && Object.keys(given.metadata ?? {}).length === 0)
    delete survivor.metadata
  return survivor
}

function isObject(value: JsonValue): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function survivor(given: Message): Message {
  return { ...given, parts: given.parts.map(survivorOf) }
}

test('JSON-RPC: a message comes back with all but the names and media types of texts and data', () => {
  fc.assert(
    fc.property(message, (given) => {
      const shown = rpc.SendMessage?.encode({ type: 'message', message: given })
      const back = rpc.SendMessage?.decode(overTheWire({ message: shown }))
      expect(back?.message).toStrictEqual(overTheWire(survivor(given)))
    }),
  )
})

test('HTTP+JSON: a message comes back without the tasks that it refers to, too', () => {
  fc.assert(
    fc.property(message, (given) => {
      const back = rest.SendMessage?.decode(
        overTheWire(rest.SendMessage.encode({ type: 'message', message: given })),
      )
      const expected = survivor(given)
      delete expected.referenceTaskIds
      expect(back?.message).toStrictEqual(overTheWire(expected))
    }),
  )
})

/** All objects in `value`, with the keys that lead to them. */
function* objectsIn(value: JsonValue, key = ''): Generator<[key: string, object: JsonObject]> {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value)) {
    for (const element of value) yield* objectsIn(element, key)
    return
  }
  yield [key, value]
  // What the agent made may have any keys.
  for (const [name, child] of Object.entries(value)) {
    if (name !== 'data' && name !== 'metadata') yield* objectsIn(child, name)
  }
}

const KINDS: Readonly<Record<string, readonly string[]>> = {
  '': ['task', 'status-update', 'artifact-update'],
  history: ['message'],
  message: ['message'],
  parts: ['text', 'file', 'data'],
}

const anyTask: fc.Arbitrary<TaskSnapshot> = fc
  .record({
    messages: fc.array(message, { maxLength: 2 }),
    status: fc.oneof(text, message),
    output: json,
    artifacts: fc.array(
      fc.oneof(
        fc.record({ artifactId: text, parts: fc.array(part, { minLength: 1, maxLength: 2 }) }),
        metadata,
      ),
      { maxLength: 2 },
    ),
  })
  .map(({ messages, status, output, artifacts }) => {
    const { tasks, id } = setup()
    for (const each of messages) tasks.addMessage(id, each)
    tasks.updateTask(id, { state: 'working', message: status, output, artifacts })
    const task = tasks.peekTask(id)
    if (task === null) throw new Error('The task is gone')
    return task
  })

test('a task has a context id, and every object its kind', () => {
  fc.assert(
    fc.property(anyTask, fc.option(fc.nat(2), { nil: undefined }), (task, historyLength) => {
      const shown = rpc.GetTask?.encode({ task, historyLength }) ?? null
      expect(shown).toMatchObject({ kind: 'task', id: task.id, contextId: task.contextId })
      for (const [key, object] of objectsIn(shown)) {
        if (KINDS[key] !== undefined) expect(KINDS[key]).toContain(object['kind'])
      }
      const proto = rest.GetTask?.encode({ task, historyLength }) ?? null
      for (const [, object] of objectsIn(proto)) expect(object).not.toHaveProperty('kind')
    }),
  )
})
