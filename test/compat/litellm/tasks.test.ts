import { type Artifact, type JsonValue, type TaskState } from 'a2a-tasks'
import { describe, expect, test } from 'vitest'
import { litellm } from '../../../src/compat/index.js'
import { type StreamEntry } from '../../../src/wire/index.js'
import { collect, setup, thrown, walk } from '../../support/manager.js'
import { newTask, shown, taken } from './support/litellm.js'

const { rpc } = litellm()

describe('a task that is shown', () => {
  test.each<[string, TaskState[]]>([
    ['pending', []],
    ['running', ['working']],
    ['completed', ['working', 'completed']],
    ['failed', ['failed']],
    ['failed', ['rejected']],
    ['cancelled', ['canceled']],
    ['input_required', ['working', 'input-required']],
    ['input_required', ['working', 'auth-required']],
  ])('is %s after %j', (state, path) => {
    expect(taken(newTask(), ...path).show()).toHaveProperty('state', state)
  })

  test('has its times in whole seconds', () => {
    const { tasks, clock, id } = setup()
    clock.advance(1_999)
    tasks.updateTask(id, { state: 'working' })
    expect(shown(tasks.peekTask(id))).toMatchObject({ created_at: 1_767_225_600, updated_at: 1_767_225_601 })
  })

  test('has an agent and a provider even if no client named any', () => {
    const { tasks, id } = setup()
    const metadata = { agent_id: 7, provider: null, tags: ['a', 1] }
    const { contextId } = tasks.createTask({ skill: 'test' })
    expect(shown(tasks.peekTask(id))['metadata']).toStrictEqual({
      agent_id: 'default',
      provider: 'custom',
      session_id: tasks.peekTask(id)?.contextId,
      tags: [],
    })
    tasks.addMessage(id, { role: 'user', contextId, parts: [{ text: 'go' }], metadata })
    expect(shown(tasks.peekTask(id))['metadata']).toMatchObject({
      agent_id: 'default',
      provider: 'custom',
      tags: ['a'],
    })
  })

  test.each<[JsonValue, object]>([
    [null, { instruction: '', context: null, artifacts: [] }],
    ['go', { instruction: 'go', context: null, artifacts: [] }],
    [{ a: 1 }, { instruction: '', context: { a: 1 }, artifacts: [] }],
  ])('has an input without a message, of %j', (input, expected) => {
    const { tasks } = setup()
    const { id } = tasks.createTask({ skill: 'test', input })
    expect(shown(tasks.peekTask(id))['input']).toStrictEqual(expected)
  })

  test('builds on the task that it was made with', () => {
    const { tasks } = setup()
    const { id } = tasks.createTask({ skill: 'test', referenceTaskIds: ['t-8', 't-9'] })
    expect(shown(tasks.peekTask(id))).toHaveProperty('metadata.parent_task_id', 't-8')
  })

  test('has of a message of another dialect all parts in its input', () => {
    const { tasks, id } = setup()
    const parts = [{ text: 'one ' }, { data: 1 }, { raw: 'aGk=' }, { text: 'two' }, { data: null }]
    tasks.addMessage(id, { role: 'agent', parts: [{ text: 'Hello' }] })
    tasks.addMessage(id, { role: 'user', parts, referenceTaskIds: ['t-9'] })
    expect(shown(tasks.peekTask(id))).toMatchObject({
      input: {
        instruction: 'one two',
        context: [1, null],
        artifacts: [
          { id: 'artifact-1', name: 'artifact-1', mime_type: 'application/octet-stream', content: 'aGk=' },
        ],
      },
      metadata: { parent_task_id: 't-9' },
    })
  })
})

describe('the output', () => {
  function made(state: TaskState, artifacts: Artifact[], message?: string) {
    const { tasks, id, show } = taken(newTask(), 'working')
    tasks.updateTask(id, { artifacts })
    if (state !== 'working') tasks.updateTask(id, { state, ...(message !== undefined && { message }) })
    return show()['output']
  }

  test('is of artifacts: their texts, their data, their files', () => {
    const chart = [
      { raw: 'aGk=', mediaType: 'image/png' },
      { url: 'https://example.com/b', filename: 'b.png', mediaType: 'image/png' },
    ]
    const artifacts: Artifact[] = [
      { artifactId: 'a', parts: [{ text: 'One ' }, { text: 'line' }, { data: { n: 1 } }] },
      { artifactId: 'b', name: 'Chart', parts: chart },
      { artifactId: 'c', parts: [{ text: '# Report', filename: 'report.md', mediaType: 'text/markdown' }] },
      { artifactId: 'd', parts: [{ text: 'Another' }] },
    ]
    expect(made('completed', artifacts, 'Done')).toStrictEqual({
      response: 'One line\nAnother',
      data: { n: 1 },
      artifacts: [
        { id: 'b/1', name: 'Chart', mime_type: 'image/png', content: 'aGk=' },
        { id: 'b/2', name: 'b.png', mime_type: 'image/png', url: 'https://example.com/b' },
        { id: 'c', name: 'report.md', mime_type: 'text/markdown', content: '# Report' },
      ],
    })
  })

  test('is there before the task has ended', () => {
    const output = { response: 'So far', artifacts: [] }
    expect(made('working', [{ parts: [{ text: 'So far' }] }])).toStrictEqual(output)
    expect(made('failed', [{ parts: [{ text: 'So far' }] }], 'Disk full')).toStrictEqual(output)
  })

  test('has all data, as a list, and what the agent said where no artifact has a text', () => {
    const artifacts = [{ any: 'object' }, { parts: [{ data: null }] }]
    expect(made('completed', artifacts, 'Done')).toStrictEqual({
      response: 'Done',
      data: [{ any: 'object' }, null],
      artifacts: [],
    })
    expect(made('completed', artifacts)).toHaveProperty('response', '')
  })

  test.each<TaskState>(['completed', 'input-required', 'auth-required', 'canceled'])(
    'is what the agent said when the task became %s',
    (state) => {
      const { tasks, id, show } = taken(newTask(), 'working')
      const parts = [{ text: 'Which one?' }, { data: ['a', 'b'] }, { raw: 'aGk=' }]
      const message = { messageId: 'm', role: 'agent' as const, parts }
      if (state === 'canceled') tasks.cancelTask(id, { message })
      else tasks.updateTask(id, { state, message })
      expect(show()['output']).toStrictEqual({
        response: 'Which one?',
        data: ['a', 'b'],
        artifacts: [{ id: 'm', name: 'm', mime_type: 'application/octet-stream', content: 'aGk=' }],
      })
    },
  )

  test('is the last message of the conversation when that is the agent’s', () => {
    const { tasks, id, show } = taken(newTask(), 'working')
    tasks.addMessage(id, { role: 'agent', parts: [{ text: 'There you are' }] })
    expect(show()).not.toHaveProperty('output')
    tasks.updateTask(id, { state: 'completed' })
    expect(show()['output']).toStrictEqual({ response: 'There you are', artifacts: [] })
  })

  test('is absent without one: progress is not a result or an error', () => {
    const { tasks, id, show } = taken(newTask(), 'working')
    tasks.updateTask(id, { message: 'Reading' })
    expect(show()).not.toHaveProperty('output')
    expect(taken(newTask(), 'working', 'completed').show()).not.toHaveProperty('output')
  })
})

describe('the error', () => {
  test.each<[TaskState, string, string]>([
    ['failed', 'TASK_FAILED', 'The task failed'],
    ['rejected', 'TASK_REJECTED', 'The agent rejected the task'],
  ])('of a task that %s', (state, code, text) => {
    expect(taken(newTask(), state).show()['error']).toStrictEqual({ code, message: text, retryable: false })
    const { tasks, id, show } = taken(newTask())
    tasks.updateTask(id, { state, message: 'Disk full' })
    expect(show()['error']).toStrictEqual({ code, message: 'Disk full', retryable: false })
    expect(show()).not.toHaveProperty('output')
  })

  test.each([
    ['rate_limit-exceeded.2', 'rate_limit-exceeded.2'],
    ['x'.repeat(100), 'x'.repeat(100)],
    ['x'.repeat(101), 'TASK_FAILED'],
    ['', 'TASK_FAILED'],
    ['two words', 'TASK_FAILED'],
    ['line\n', 'TASK_FAILED'],
    ['<b>', 'TASK_FAILED'],
    [7, 'TASK_FAILED'],
    [null, 'TASK_FAILED'],
  ])('has the code that its message has, where that is a name: %j', (code, shown) => {
    for (const [state, fallback] of [
      ['failed', 'TASK_FAILED'],
      ['rejected', 'TASK_REJECTED'],
    ] as const) {
      const { tasks, id, show } = taken(newTask())
      const message = { role: 'agent', parts: [{ text: 'No' }], metadata: { code } } as const
      tasks.updateTask(id, { state, message })
      expect(show()['error']).toHaveProperty('code', shown === 'TASK_FAILED' ? fallback : shown)
    }
  })

  test('is worth a retry only where the message says so plainly', () => {
    const { tasks, id, show } = taken(newTask())
    const message = { role: 'agent', parts: [{ text: 'No' }], metadata: { retryable: 'true' } } as const
    tasks.updateTask(id, { state: 'failed', message })
    expect(show()['error']).toHaveProperty('retryable', false)
  })

  test('has the details and the advice of the message', () => {
    const { tasks, id, show } = taken(newTask())
    const parts = [{ text: 'Busy' }, { data: { queue: 9 } }]
    tasks.updateTask(id, {
      state: 'failed',
      message: { role: 'agent', parts, metadata: { retryable: true } },
    })
    expect(show()['error']).toStrictEqual({
      code: 'TASK_FAILED',
      message: 'Busy',
      details: { queue: 9 },
      retryable: true,
    })
  })
})

describe('a stream', () => {
  /** The updates that a client receives of all changes of a task, each with the task as it is at the end. */
  async function updatesOf(work: (tasks: ReturnType<typeof setup>['tasks'], id: string) => void) {
    const { tasks, id } = taken(newTask())
    const opening = tasks.peekTask(id)
    work(tasks, id)
    const events = await collect(tasks.subscribe(id, { after: opening?.generation }))
    const entries = events.flatMap<StreamEntry>((event) => {
      if (event.type !== 'status' && event.type !== 'artifact') return []
      const source = { task: () => tasks.peekTask(id) ?? undefined }
      return [{ type: event.type, contextId: 'c', event, last: event === events.at(-1), source }]
    })
    return entries.map((entry) => {
      const { task_id: taskId, ...update } = rpc.SendStreamingMessage?.encode(entry) as Record<
        string,
        JsonValue
      >
      expect(taskId).toBe(id)
      return update
    })
  }

  test('reports each change once, and the end at its end', async () => {
    const updates = await updatesOf((tasks, id) => {
      tasks.updateTask(id, { state: 'working', message: 'Reading' })
      tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'One ' }] })
      tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: 'two' }, { raw: 'aGk=' }] })
      tasks.appendArtifact(id, { any: 'object' })
      tasks.updateTask(id, { state: 'completed', message: 'Done' })
    })
    const chunk = { id: 'a', name: 'a', mime_type: 'application/octet-stream', content: 'aGk=' }
    expect(updates).toStrictEqual([
      { state: 'running', message: 'Reading' },
      { state: 'running', partial_output: { response: 'One ', artifacts: [] } },
      { state: 'running', partial_output: { response: 'two', artifacts: [chunk] } },
      {
        state: 'running',
        partial_output: {
          response: '',
          data: { artifactId: expect.any(String) as string, any: 'object' },
          artifacts: [],
        },
      },
      { state: 'completed', message: 'Done' },
    ])
  })

  test('reports how far the work is where the agent counts', async () => {
    const counted = (progress: JsonValue) =>
      ({ role: 'agent', parts: [{ data: 0 }], metadata: { progress } }) as const
    const given = [
      { current: 1, total: 4 },
      { current: 9, total: 4 },
      { current: 3 },
      { current: 1, total: 0 },
      'half',
      null,
    ]
    const updates = await updatesOf((tasks, id) => {
      tasks.updateTask(id, { state: 'working' })
      for (const progress of given) tasks.updateTask(id, { message: counted(progress) })
      tasks.cancelTask(id, { message: null })
    })
    expect(updates.map((update) => update['progress'])).toEqual([
      undefined,
      0.25,
      1,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    expect(updates.at(-1)).toStrictEqual({ state: 'cancelled' })
  })

  test('reports all that a status message has', async () => {
    const [update] = await updatesOf((tasks, id) => {
      const parts = [{ text: 'No' }, { data: { why: 'policy' } }]
      tasks.updateTask(id, { state: 'rejected', message: { role: 'agent', parts } })
    })
    expect(update).toStrictEqual({
      state: 'failed',
      message: 'No',
      partial_output: { response: 'No', data: { why: 'policy' }, artifacts: [] },
    })
  })

  test('begins with the task in its current state', () => {
    const { tasks, id } = taken(newTask(), 'working')
    tasks.updateTask(id, { message: 'Reading', artifacts: [{ parts: [{ text: 'So far' }] }] })
    const task = tasks.peekTask(id)
    if (task === null) throw new Error('The task is gone')
    const entry: StreamEntry = { type: 'task', task, last: false, isResync: false }
    expect(rpc.SendStreamingMessage?.encode(entry)).toStrictEqual({
      task_id: id,
      state: 'running',
      message: 'Reading',
      partial_output: { response: 'So far', artifacts: [] },
    })
  })

  const artifact = { artifactId: 'a', parts: [{ text: 'x' }] }
  const base = { taskId: 't', generation: 3, timestamp: '2026-01-01T00:00:00.000Z' }
  const event = { ...base, type: 'artifact', artifact, append: false, lastChunk: false } as const

  test('takes a task for a running one while it makes artifacts, unless it knows better', () => {
    const entry: StreamEntry = { type: 'artifact', contextId: 'c', event, last: false }
    const { tasks, id } = setup()
    const source = { task: () => tasks.peekTask(id) ?? undefined }
    expect(rpc.SendStreamingMessage?.encode(entry)).toHaveProperty('state', 'running')
    expect(rpc.SendStreamingMessage?.encode({ ...entry, source })).toHaveProperty('state', 'pending')
    walk(tasks, id, 'working', 'completed')
    expect(rpc.SendStreamingMessage?.encode({ ...entry, source })).toHaveProperty('state', 'running')
  })
})

test('an answer without a task cannot be shown', () => {
  const message = { messageId: 'm', role: 'agent' as const, parts: [{ text: 'Hi' }] }
  const refusal = { code: 'INVALID_AGENT_RESPONSE' }
  expect(thrown(() => rpc.SendMessage?.encode({ type: 'message', message }))).toMatchObject(refusal)
  expect(
    thrown(() => rpc.SendStreamingMessage?.encode({ type: 'message', last: true, message })),
  ).toMatchObject(refusal)
})
