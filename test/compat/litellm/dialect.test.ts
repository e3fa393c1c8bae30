import type { Part } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { buildAgentCard } from '../../../src/agent-card/index.js'
import { litellm } from '../../../src/compat/index.js'
import { toV03Card } from '../../../src/wire/index.js'
import { thrown } from '../../support/manager.js'
import { newTask, send, taken } from './support/litellm.js'

const dialect = litellm()
const { rpc } = dialect

test('every method leads to a codec, or to the card', () => {
  expect([...dialect.methods.keys()]).toEqual(['task_send', 'task_send_subscribe', 'task_get', 'task_cancel'])
  for (const operation of dialect.methods.values()) expect(rpc).toHaveProperty(operation)
  expect([...(dialect.cardMethods?.keys() ?? [])]).toEqual(['agent_capabilities', 'ping'])
  expect(dialect).toMatchObject({
    version: 'litellm',
    isInCards: false,
    hasTenants: false,
    routes: [],
    rest: {},
  })
})

describe("the document's requests", () => {
  test('task_send: the whole task, answered with the whole task', () => {
    const params = newTask()
    expect(dialect.methods.get('task_send')).toBe('SendMessage')
    expect(send(params)).toStrictEqual({
      message: {
        role: 'user',
        parts: [{ text: 'Summarize this' }],
        metadata: { agent_id: 'research-agent', provider: 'langgraph', tags: [] },
      },
      returnImmediately: false,
      acceptedOutputModes: [],
      needsTask: true,
      chosenId: params.id,
    })
    const { tasks, id } = taken(params, 'working')
    tasks.updateTask(id, { state: 'completed', output: 'It says hello' })
    const task = tasks.peekTask(id)
    expect(task && rpc.SendMessage?.encode({ type: 'task', task })).toStrictEqual({
      ...params,
      id,
      state: 'completed',
      output: { response: 'It says hello', artifacts: [] },
      metadata: { ...params.metadata, session_id: task?.contextId },
    })
  })

  test('task_get', () => {
    expect(rpc.GetTask?.decode({ task_id: 't-1' })).toStrictEqual({ id: 't-1' })
    const { id, show } = taken(newTask())
    expect(show()).toMatchObject({ id, state: 'pending', input: { instruction: 'Summarize this' } })
    expect(show()).not.toHaveProperty('output')
    expect(show()).not.toHaveProperty('error')
  })

  test('task_cancel is answered with the task, since JSON-RPC has no result for nothing', () => {
    expect(rpc.CancelTask?.decode({ task_id: 't-1' })).toStrictEqual({ id: 't-1' })
    const { tasks, id } = taken(newTask())
    tasks.cancelTask(id)
    const task = tasks.peekTask(id)
    expect(task && rpc.CancelTask?.encode({ task })).toMatchObject({ id, state: 'cancelled' })
  })

  test('task_send_subscribe takes what task_send takes', () => {
    expect(rpc.SendStreamingMessage?.decode(newTask())).toStrictEqual(send(newTask()))
  })
})

describe('a task that is sent', () => {
  const whole = {
    ...newTask(),
    input: {
      instruction: 'Compare',
      context: { depth: [1, null] },
      artifacts: [
        { id: 'f-1', name: 'a.bin', mime_type: 'application/octet-stream', content: 'aGk=' },
        { id: 'f-2', name: 'b', mime_type: 'image/png', url: 'https://example.com/b.png' },
        { id: 'f-3', name: 'c.txt', mime_type: 'text/plain', content: 'Not base64!' },
        { id: 'f-4', name: 'd', mime_type: 'image/png', content: 'aGk=', url: 'https://example.com/d' },
      ],
    },
    metadata: {
      agent_id: 'code-agent',
      provider: 'vertex_ai',
      parent_task_id: 't-0',
      session_id: 's-1',
      tags: ['fast', 'cheap'],
    },
  }

  test('becomes a message with everything that it says', () => {
    expect(send(whole).message).toStrictEqual({
      role: 'user',
      parts: [
        { text: 'Compare' },
        { data: { depth: [1, null] } },
        { raw: 'aGk=', filename: 'a.bin', mediaType: 'application/octet-stream', metadata: { id: 'f-1' } },
        { url: 'https://example.com/b.png', filename: 'b', mediaType: 'image/png', metadata: { id: 'f-2' } },
        { text: 'Not base64!', filename: 'c.txt', mediaType: 'text/plain', metadata: { id: 'f-3' } },
        {
          raw: 'aGk=',
          filename: 'd',
          mediaType: 'image/png',
          metadata: { id: 'f-4', url: 'https://example.com/d' },
        },
      ],
      contextId: 's-1',
      referenceTaskIds: ['t-0'],
      metadata: { agent_id: 'code-agent', provider: 'vertex_ai', tags: ['fast', 'cheap'] },
    })
  })

  test('comes back as it was', () => {
    const { id, show } = taken(whole)
    expect(show()).toStrictEqual({ ...whole, id })
  })

  test('keeps its input when the user answers later', () => {
    const { tasks, id, show } = taken(whole, 'working', 'input-required')
    const { metadata, ...answer } = send(newTask('Yes')).message
    tasks.addMessage(id, { ...answer, metadata })
    expect(show()).toMatchObject({ input: whole.input, metadata: whole.metadata })
  })

  test('needs no more than an instruction', () => {
    expect(send({ input: { instruction: '' } })).toStrictEqual({
      message: { role: 'user', parts: [{ text: '' }] },
      returnImmediately: false,
      acceptedOutputModes: [],
      needsTask: true,
    })
  })

  test('may be null, or empty, where it says nothing: nulls of the context stay', () => {
    const input = { instruction: 'go', context: { a: null }, artifacts: null }
    const metadata = { agent_id: null, provider: null, parent_task_id: '', session_id: null, tags: null }
    expect(send({ id: '', input, metadata }).message).toStrictEqual({
      role: 'user',
      parts: [{ text: 'go' }, { data: { a: null } }],
    })
    expect(send({ id: null, input, metadata: null })).not.toHaveProperty('chosenId')
  })

  test('may be in any state: only the agent says how far the work is', () => {
    const params = { ...newTask(), state: 7, output: 'none', error: [], created_at: 'today' }
    expect(send(params)).toStrictEqual(send(newTask()))
  })

  test.each<[object, Part]>([
    [{ content: 'aGk' }, { raw: 'aGk=' }],
    [{ content: '' }, { raw: '' }],
    [{ content: '', url: 'https://example.com' }, { url: 'https://example.com' }],
    [{ content: '{"a": 1}', mime_type: 'application/json' }, file('artifact-1', 'application/json')],
    [
      { content: '{"a": 1}', id: 'f' },
      { text: '{"a": 1}', filename: 'f', metadata: { id: 'f' } },
    ],
  ])('has the artifact %j as the part %j', (artifact, part) => {
    expect(send({ input: { instruction: 'go', artifacts: [artifact] } }).message.parts[1]).toStrictEqual(part)
  })

  function file(filename: string, mediaType: string): Part {
    return { text: '{"a": 1}', filename, mediaType }
  }
})

const instruction = 'go'
const long = 'x'.repeat(1025)

test.each<[unknown, string]>([
  [undefined, 'params'],
  [null, 'params'],
  [[], 'params'],
  ['text', 'params'],
  [{}, 'input'],
  [{ task: newTask() }, 'input'],
  [{ input: null }, 'input'],
  [{ input: [] }, 'input'],
  [{ input: {} }, 'input.instruction'],
  [{ input: { instruction: null } }, 'input.instruction'],
  [{ input: { instruction: ['go'] } }, 'input.instruction'],
  [{ id: 7, input: { instruction } }, 'id'],
  [{ id: long, input: { instruction } }, 'id'],
  [{ input: { instruction, artifacts: {} } }, 'input.artifacts'],
  [{ input: { instruction, artifacts: ['a'] } }, 'input.artifacts[0]'],
  [{ input: { instruction, artifacts: [{ id: 'a' }] } }, 'input.artifacts[0]'],
  [{ input: { instruction, artifacts: [{ url: '' }] } }, 'input.artifacts[0]'],
  [{ input: { instruction, artifacts: [{ url: 'u' }, { content: 1 }] } }, 'input.artifacts[1].content'],
  [
    { input: { instruction, artifacts: [{ content: '%', mime_type: 'image/png' }] } },
    'input.artifacts[0].content',
  ],
  [{ input: { instruction, artifacts: [{ url: 'u', name: long }] } }, 'input.artifacts[0].name'],
  [{ input: { instruction, artifacts: [{ url: 'u', mime_type: [] }] } }, 'input.artifacts[0].mime_type'],
  [{ input: { instruction }, metadata: 'm' }, 'metadata'],
  [{ input: { instruction }, metadata: { tags: 'a' } }, 'metadata.tags'],
  [{ input: { instruction }, metadata: { tags: ['a', null] } }, 'metadata.tags[1]'],
  [{ input: { instruction }, metadata: { agent_id: 1 } }, 'metadata.agent_id'],
  [{ input: { instruction }, metadata: { provider: {} } }, 'metadata.provider'],
  [{ input: { instruction }, metadata: { session_id: long } }, 'metadata.session_id'],
  [{ input: { instruction }, metadata: { parent_task_id: 0 } }, 'metadata.parent_task_id'],
])('%j is refused for its %s', (params, path) => {
  for (const operation of ['SendMessage', 'SendStreamingMessage'] as const) {
    const error = thrown(() => rpc[operation]?.decode(params))
    expect(error).toMatchObject({ code: 'INVALID_PARAMS', data: { path } })
  }
})

test.each([[{}], [{ id: 't' }], [{ task_id: '' }], [{ task_id: 7 }], [{ task_id: null }]])(
  'the task %j cannot be found or canceled',
  (params) => {
    for (const operation of ['GetTask', 'CancelTask'] as const) {
      const error = thrown(() => rpc[operation]?.decode(params))
      expect(error).toMatchObject({ code: 'INVALID_PARAMS', data: { path: 'task_id' } })
    }
  },
)

describe('the card', () => {
  const card = buildAgentCard({
    name: 'Research Agent',
    description: 'Performs web research',
    version: '2.0.0',
    url: 'https://agent.example/a2a',
    skills: [{ id: 'web_search', name: 'Web search', description: 'Search the web', tags: ['web'] }],
  })

  test('says what the agent is capable of', () => {
    expect(dialect.cardMethods?.get('agent_capabilities')?.(card)).toStrictEqual({
      capabilities: [{ name: 'web_search', description: 'Search the web' }],
    })
  })

  test('has no say in whether it is online', () => {
    expect(dialect.cardMethods?.get('ping')?.(card)).toStrictEqual({ status: 'online' })
  })

  test('contradicts no other card', () => {
    const shared = dialect.encodeCard(card)
    expect(shared).toStrictEqual({
      name: 'Research Agent',
      description: 'Performs web research',
      version: '2.0.0',
      url: 'https://agent.example/a2a',
    })
    expect(toV03Card(card)).toMatchObject(shared)
  })
})
