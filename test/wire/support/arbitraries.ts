/** Whatever the protocol can say, in the core's terms. */
import type { Artifact, JsonObject, JsonValue, Message, Part, TaskSnapshot, TaskState } from 'a2a-tasks'
import fc from 'fast-check'
import type { PushConfig, SendRequest } from '../../../src/wire/index.js'
import { setup } from '../../support/manager.js'

export const text = fc.string({ minLength: 1 })
/** Without the keys that the core refuses. */
const isTaken = (value: unknown): boolean =>
  !/"(__proto__|constructor|prototype)":/.test(JSON.stringify(value))
const json = fc
  .jsonValue({ maxDepth: 2 })
  .filter(isTaken)
  .map((value) => overTheWire(value) as JsonValue)
export const metadata = fc
  .dictionary(fc.string(), json, { noNullPrototype: true })
  .filter(isTaken) as fc.Arbitrary<JsonObject>
const about = { metadata, filename: text, mediaType: text }
const uris = fc.array(fc.webUrl(), { maxLength: 2 })

const part: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ text: fc.string(), ...about }, { requiredKeys: ['text'] }),
  fc.record({ raw: fc.base64String(), ...about }, { requiredKeys: ['raw'] }),
  fc.record({ url: fc.webUrl(), ...about }, { requiredKeys: ['url'] }),
  fc.record({ data: json, ...about }, { requiredKeys: ['data'] }),
)
const parts = fc.array(part, { minLength: 1, maxLength: 3 })

export const message: fc.Arbitrary<Message> = fc.record(
  {
    messageId: text,
    role: fc.constantFrom('user', 'agent'),
    parts,
    contextId: text,
    taskId: text,
    metadata,
    extensions: uris,
    referenceTaskIds: fc.array(text, { maxLength: 2 }),
  },
  { requiredKeys: ['messageId', 'role', 'parts'] },
)

export const artifact: fc.Arbitrary<Artifact> = fc.record(
  { artifactId: text, parts, name: text, description: text, metadata, extensions: uris },
  { requiredKeys: ['artifactId', 'parts'] },
)

export const state: fc.Arbitrary<TaskState> = fc.constantFrom(
  ...(['submitted', 'working', 'input-required', 'auth-required'] as const),
  ...(['completed', 'failed', 'canceled', 'rejected'] as const),
)

export const pushConfig: fc.Arbitrary<PushConfig & { readonly id: string }> = fc
  .record(
    {
      id: text.filter((id) => !id.includes('/')),
      url: fc.webUrl(),
      token: text,
      authentication: fc.record({ scheme: text, credentials: text }, { requiredKeys: ['scheme'] }),
    },
    { requiredKeys: ['id', 'url'] },
  )
  .map(overTheWire)

export const sendRequest: fc.Arbitrary<SendRequest> = fc.record(
  {
    message,
    returnImmediately: fc.boolean(),
    acceptedOutputModes: fc.array(text, { maxLength: 2 }),
    historyLength: fc.integer({ min: 1, max: 100 }),
    pushConfig,
    metadata,
  },
  { requiredKeys: ['message', 'returnImmediately', 'acceptedOutputModes'] },
)

/** With artifacts that are any JSON, an output, and statuses that are texts, too. */
export const task: fc.Arbitrary<TaskSnapshot> = fc
  .record({
    messages: fc.array(message, { maxLength: 2 }),
    status: fc.option(fc.oneof(text, message), { nil: undefined }),
    output: fc.option(json, { nil: undefined }),
    artifacts: fc.array(fc.oneof(artifact, metadata), { maxLength: 2 }),
    metadata,
    state,
  })
  .map(({ messages, status, output, artifacts, metadata: own, state: end }) => {
    const { tasks } = setup()
    const { id } = tasks.createTask({ skill: 'test', metadata: own })
    for (const each of messages) tasks.addMessage(id, each)
    if (end !== 'submitted') {
      tasks.updateTask(id, { state: 'working', artifacts, ...(output !== undefined && { output }) })
      tasks.updateTask(id, {
        ...(end !== 'working' && { state: end }),
        ...(status !== undefined && { message: status }),
      })
    }
    const made = tasks.peekTask(id)
    if (made === null) throw new Error('The task is gone')
    return made
  })

export function overTheWire<T>(value: T): T {
  return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T)
}
