/** Answers of A2A 0.3 without kinds and ids, as VoltAgent and agents of .NET send them. */
import { A2AClient } from 'a2a-tasks/client'
import { describe, expect, test } from 'vitest'
import { v0_3Client, v1Client, type Operation } from '../../../src/wire/index.js'

const status = { state: 'completed' }
const parts = [{ kind: 'text', text: 'Hello' }]
const SAID = { role: 'agent', parts }
const TASK = { id: 't', contextId: 'c', status }

const codecs = [v0_3Client.rpc, v0_3Client.rest]

function read(operation: Operation, json: unknown, of = v0_3Client.rpc): object {
  const decoded: unknown = of[operation]?.decode(json)
  return decoded as object
}

describe.each(codecs)('an object of 0.3 without a kind', (codec) => {
  test.each([
    ['a task', 'SendMessage', TASK, { type: 'task', task: { id: 't', state: 'completed' } }],
    [
      'a message',
      'SendMessage',
      { messageId: 'm', ...SAID },
      { type: 'message', message: { messageId: 'm' } },
    ],
    ['a task in a stream', 'SubscribeToTask', TASK, { type: 'task', task: { id: 't' } }],
    [
      'a status',
      'SubscribeToTask',
      { taskId: 't', status, final: true },
      { type: 'status', state: 'completed' },
    ],
    [
      'an artifact',
      'SubscribeToTask',
      { taskId: 't', artifact: { artifactId: 'a', parts } },
      { type: 'artifact', artifact: { artifactId: 'a' } },
    ],
  ] as const)('is read by its shape: %s', (_, operation, json, expected) => {
    expect(read(operation, json, codec)).toMatchObject(expected)
  })

  test('and of no known shape is refused', () => {
    expect(() => read('SendMessage', { id: 't' }, codec)).toThrow('must be exactly one of task, message')
  })
})

describe('a message of 0.3 without an id', () => {
  test.each([undefined, null, ''])('(%j) gets one from its content, wherever it is', (messageId) => {
    const message = { ...SAID, messageId }
    const { messageId: id } = (
      read('SendMessage', { kind: 'message', ...message }) as { message: { messageId: string } }
    ).message
    expect(id).toMatch(/^message-\w+-\w+$/)
    expect(read('GetTask', { ...TASK, status: { ...status, message }, history: [message] })).toMatchObject({
      message: { messageId: id },
      messages: [{ messageId: id }],
    })
  })

  test('gets another one for another text or role', () => {
    const others = [SAID, { ...SAID, role: 'user' }, { ...SAID, parts: [{ kind: 'text', text: 'Hello!' }] }]
    const { messages } = read('GetTask', { ...TASK, history: others }) as {
      messages: { messageId: string }[]
    }
    expect(new Set(messages.map(({ messageId }) => messageId)).size).toBe(3)
  })
})

test('artifacts of 0.3 without ids get them by their place, and chunks are of the first one', () => {
  const artifacts = [{ parts }, { artifactId: '', parts }, { artifactId: 'own', parts }]
  expect(read('GetTask', { ...TASK, artifacts })).toMatchObject({
    artifacts: [{ artifactId: 'artifact-1' }, { artifactId: 'artifact-2' }, { artifactId: 'own' }],
  })
  const update = { kind: 'artifact-update', taskId: 't', append: true, artifact: { parts } }
  expect(read('SubscribeToTask', update)).toMatchObject({ artifact: { artifactId: 'artifact-1' } })
})

test.each([
  ['SendMessage', TASK, 'must be exactly one of'],
  ['GetTask', { ...TASK, artifacts: [{ parts }] }, 'result.artifacts[0].artifactId is missing'],
  ['GetTask', { ...TASK, history: [SAID] }, 'result.history[0].messageId is missing'],
] as const)('1.0 requires what it has named: %s', (operation, json, reason) => {
  expect(() => read(operation, json, v1Client.rpc)).toThrow(reason)
})

test('a run with such an agent has its result', async () => {
  const card = { name: 'Old', url: 'http://old.test', protocolVersion: '0.3.0', capabilities: {} }
  const result = { ...TASK, artifacts: [{ parts }], history: [SAID] }
  const client = new A2AClient({
    card,
    fetch: (_, { body }) => {
      const { id } = JSON.parse(body as string) as { id: number }
      return Promise.resolve(Response.json({ jsonrpc: '2.0', id, result }))
    },
  })
  expect(await client.run('hi')).toMatchObject({ type: 'completed', text: 'Hello', task: { id: 't' } })
  expect(await client.getTask('t')).toEqual(await client.getTask('t'))
})
