import { describe, expect, test, vi } from 'vitest'
import { A2AError, TaskManager, VALID_STATES, canTransition, shortestPath, type TaskState } from 'a2a-tasks'
import { setup, thrown, walk } from '../support/manager.js'

const TERMINAL = ['completed', 'failed', 'canceled', 'rejected'] as const
const LIVE = ['submitted', 'working', 'input-required', 'auth-required'] as const

/** A manager with a task in `state`. */
function inState(state: TaskState): ReturnType<typeof setup> {
  const made = setup()
  walk(made.tasks, made.id, ...(shortestPath('submitted', state) ?? []))
  return made
}

describe('createTask', () => {
  test('returns a task with every documented property', () => {
    const { tasks, id } = setup()
    expect(tasks.getTask(id)).toEqual({
      id: 'task-1',
      contextId: 'task-1',
      skill: 'test',
      state: 'submitted',
      input: null,
      output: null,
      messages: [],
      artifacts: [],
      metadata: {},
      history: [{ state: 'submitted', timestamp: '2026-01-01T00:00:00.000Z' }],
      generation: 1,
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
    })
  })

  test('stores the given properties', () => {
    const { tasks } = setup()
    const params = {
      skill: 'summarize',
      input: { pages: [1, 2], draft: false },
      metadata: { priority: 'high' },
      contextId: 'conversation',
      referenceTaskIds: ['task-1', 'elsewhere'],
      owner: 'ada',
      id: 'my-own',
    }
    expect(tasks.createTask(params)).toMatchObject(params)
  })

  test('keeps falsy input as it is', () => {
    const { tasks } = setup()
    for (const input of [0, '', false]) expect(tasks.createTask({ skill: 'test', input }).input).toBe(input)
  })

  test('names the context after the first task of it', () => {
    const { tasks } = setup()
    const first = tasks.createTask({ skill: 'test' })
    const second = tasks.createTask({ skill: 'test', contextId: first.contextId })
    expect(tasks.listTasks({ contextId: first.id }).map(({ id }) => id)).toEqual([first.id, second.id])
  })

  test('makes UUIDs v4 by default', () => {
    const ids = Array.from({ length: 100 }, () => new TaskManager().createTask({ skill: 'test' }).id)
    for (const id of ids)
      expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(new Set(ids).size).toBe(100)
  })

  test('refuses an id that is taken, also by the generator', () => {
    const tasks = new TaskManager({ generateId: () => 'same' })
    tasks.createTask({ skill: 'test' })
    expect(() => tasks.createTask({ skill: 'test' })).toThrow('id is taken: same')
    expect(() => tasks.createTask({ skill: 'test', id: 'same' })).toThrow('id is taken: same')
    expect(tasks.size()).toBe(1)
  })

  test.each([
    ['no params', undefined],
    ['null', null],
    ['no skill', {}],
    ['an empty skill', { skill: '' }],
  ])('refuses %s', (_, params) => {
    const { tasks } = setup()
    const error = thrown(() => tasks.createTask(params as never))
    expect(error).toMatchObject({ code: 'INVALID_PARAMS', message: 'Task requires a skill parameter' })
    expect(tasks.size()).toBe(1)
  })

  test.each([
    [{ skill: 7 }, 'skill must be a string, got a number'],
    [{ skill: 'x'.repeat(1025) }, 'skill must have at most 1024 characters, got 1025'],
    [{ skill: 'test', owner: '' }, 'owner must not be empty'],
    [{ skill: 'test', metadata: [] }, 'metadata must be an object, got an array'],
    [{ skill: 'test', metadata: 'x' }, 'metadata must be an object, got a string'],
    [{ skill: 'test', referenceTaskIds: ['a', 1] }, 'referenceTaskIds[1] must be a string, got a number'],
    [
      { skill: 'test', inputs: 1 },
      'createTask(): "inputs" is unknown, did you mean "input"?; known are skill, input',
    ],
  ])('refuses %j', (params, message) => {
    const { tasks } = setup()
    const error = thrown(() => tasks.createTask(params as never))
    expect(error).toMatchObject({ code: 'INVALID_PARAMS' })
    expect(String(error)).toContain(message)
  })
})

describe('updateTask', () => {
  test('changes state, output, artifacts and message at once', () => {
    const { tasks, clock, id } = inState('working')
    clock.advance(5)
    const artifact = { type: 'summary', url: '/reports/1.pdf' }
    const task = tasks.updateTask(id, {
      state: 'completed',
      output: { ok: true },
      artifacts: [artifact],
      message: 'Done',
    })
    expect(task).toMatchObject({
      state: 'completed',
      output: { ok: true },
      artifacts: [artifact],
      message: 'Done',
    })
    expect(task.updatedAt).toBe('2026-01-01T00:00:00.005Z')
    expect(task.history.at(-1)).toEqual({ state: 'completed', timestamp: '2026-01-01T00:00:00.005Z' })
    expect(task).toEqual(tasks.getTask(id))
  })

  test('without a state reports progress in every live state', () => {
    for (const state of LIVE) {
      const { tasks, id } = inState(state)
      const before = tasks.getTask(id)
      const after = tasks.updateTask(id, { message: 'Still here' })
      expect(after).toEqual({ ...before, message: 'Still here', generation: (before?.generation ?? 0) + 1 })
    }
  })

  test('without changes reports progress too', () => {
    const { tasks, id } = inState('working')
    expect(tasks.updateTask(id, {}).generation).toBe(3)
    expect(tasks.events(id).at(-1)).toMatchObject({ type: 'status', from: 'working', to: 'working' })
  })

  test('keeps the message until the next one, and sets output to null on request', () => {
    const { tasks, id } = inState('working')
    tasks.updateTask(id, { message: 'One', output: 1 })
    expect(tasks.updateTask(id, { output: null })).toMatchObject({ message: 'One', output: null })
  })

  test('takes a message of parts, and gives it an id', () => {
    const { tasks, id } = inState('working')
    const message = { role: 'agent' as const, parts: [{ text: 'Which page?' }] }
    const task = tasks.updateTask(id, { state: 'input-required', message })
    expect(task.message).toEqual({ ...message, messageId: 'task-2' })
  })

  test('adds artifacts, and replaces one whose artifactId it knows', () => {
    const { tasks, id } = inState('working')
    tasks.updateTask(id, { artifacts: [{ n: 1 }, { artifactId: 'a', n: 2 }] })
    const { artifacts } = tasks.updateTask(id, { artifacts: [{ artifactId: 'a', n: 3 }, { n: 1 }] })
    expect(artifacts).toEqual([{ n: 1 }, { artifactId: 'a', n: 3 }, { n: 1 }])
  })

  test('refuses each illegal step, and nothing changes', () => {
    for (const from of LIVE) {
      for (const to of VALID_STATES) {
        const { tasks, id } = inState(from)
        const before = tasks.getTask(id)
        expect(tasks.can(id, to)).toBe(canTransition(from, to))
        if (canTransition(from, to)) continue
        const error = thrown(() => tasks.updateTask(id, { state: to, output: 'lost' }))
        expect(error).toMatchObject({
          code: 'INVALID_TRANSITION',
          message: expect.stringContaining(`Invalid transition from ${from} to ${to}: `) as string,
          data: { taskId: id, from, to },
        })
        expect(tasks.getTask(id)).toEqual(before)
      }
    }
  })

  test.each([
    [{ state: 'done' }, 'Invalid transition from working to done'],
    [
      { state: '' },
      'Invalid transition from working to : working leads to input-required, auth-required, completed',
    ],
    [{ state: 1 }, 'state must be a string, got a number'],
    [{ artifacts: 'x' }, 'artifacts must be an array, got a string'],
    [{ artifacts: [1] }, 'artifacts[0] must be an object, got a number'],
    [{ artifacts: [{ parts: 'x' }] }, 'artifacts[0].parts must be an array, got a string'],
    [{ artifacts: [{ artifactId: '' }] }, 'artifacts[0].artifactId must not be empty'],
    [{ message: 7 }, 'message must be a string or a message, got 7'],
    [{ message: { role: 'system', parts: [] } }, 'message.role must be "user" or "agent", got "system"'],
    [
      { message: { role: 'agent', parts: [{}] } },
      'message.parts[0] must have exactly one of text, raw, url, data',
    ],
    [
      { message: { role: 'agent', parts: [{ text: 'a', url: 'b' }] } },
      'must have exactly one of text, raw, url, data, not both text and url',
    ],
    [
      { message: { role: 'agent', parts: [{ text: 1 }] } },
      'message.parts[0].text must be a string, got a number',
    ],
    [
      { status: 'working' },
      'updateTask(): "status" is unknown, did you mean "state"?; known are state, output',
    ],
    [
      { expectedGeneration: undefined },
      'expectedGeneration must be a generation, got undefined: leave it out',
    ],
    [{ expectedGeneration: 1.5 }, 'expectedGeneration must be a generation (an integer, 0 or more), got 1.5'],
    [null, 'updateTask() takes an object, got null'],
  ])('refuses %j', (update, message) => {
    const { tasks, id } = inState('working')
    const before = tasks.getTask(id)
    const error = thrown(() => tasks.updateTask(id, update as never))
    expect(A2AError.is(error)).toBe(true)
    expect(String(error)).toContain(message)
    expect(tasks.getTask(id)).toEqual(before)
  })
})

describe('patchTask', () => {
  test('does what updateTask does, and returns nothing', () => {
    const { tasks, id } = setup()
    const listener = vi.fn()
    tasks.on('task:updated', listener)
    tasks.patchTask(id, { state: 'working', output: 1 })
    expect(tasks.getTask(id)).toMatchObject({ state: 'working', output: 1, generation: 3 })
    expect(listener).toHaveBeenCalledOnce()
    expect(() => tasks.patchTask(id, { state: 'working' })).toThrow('Invalid transition')
  })
})

test('stateOf is the state, and makes no snapshot', () => {
  const tasks = new TaskManager()
  const { id } = tasks.createTask({ skill: 'echo' })
  const before = tasks.peekTask(id)
  expect(tasks.stateOf(id)).toBe('submitted')
  tasks.patchTask(id, { state: 'working' })
  expect([tasks.stateOf(id), before?.state]).toEqual(['working', 'submitted'])
})

describe('a status message', () => {
  test('stays until the next one, or until `null` takes it away', () => {
    const { tasks, id } = setup()
    tasks.updateTask(id, { state: 'working', message: 'Reading' })
    expect(tasks.updateTask(id, { output: 1 }).message).toBe('Reading')
    expect(tasks.updateTask(id, { state: 'input-required', message: 'Which?' }).message).toBe('Which?')
    expect(tasks.updateTask(id, { state: 'working', message: null })).not.toHaveProperty('message')
    expect(tasks.events(id).at(-1)).toMatchObject({ type: 'status', message: null })
    tasks.updateTask(id, { message: 'Reading on' })
    expect(tasks.cancelTask(id, { message: null })).not.toHaveProperty('message')
  })
})

describe('cancelTask', () => {
  test('cancelTask works from every live state', () => {
    for (const state of LIVE) {
      const { tasks, id } = inState(state)
      expect(tasks.cancelTask(id, { message: 'No longer needed' })).toMatchObject({
        state: 'canceled',
        message: 'No longer needed',
      })
    }
  })

  test('refuses a task that has ended', () => {
    for (const state of TERMINAL) {
      const { tasks, id } = inState(state)
      const error = thrown(() => tasks.cancelTask(id))
      const message = `Cannot cancel task in terminal state: ${state}`
      expect(error).toMatchObject({ code: 'TASK_NOT_CANCELABLE', message, data: { taskId: id, state } })
    }
  })
})

describe('a task that does not exist', () => {
  test('is null for getTask and peekTask, and TASK_NOT_FOUND for methods that change or follow it', async () => {
    const { tasks } = setup()
    expect(tasks.getTask('unknown')).toBeNull()
    expect(tasks.peekTask('unknown')).toBeNull()
    expect(tasks.can('unknown', 'working')).toBe(false)
    expect(tasks.stateOf('unknown')).toBeNull()
    const notFound = { code: 'TASK_NOT_FOUND', message: 'Task not found: unknown', name: 'TaskNotFoundError' }
    for (const run of [
      () => tasks.updateTask('unknown', {}),
      () => tasks.cancelTask('unknown'),
      () => tasks.appendArtifact('unknown', { artifactId: 'a' }),
      () => tasks.addMessage('unknown', { role: 'user', parts: [{ text: 'hi' }] }),
      () => tasks.events('unknown'),
      () => tasks.subscribe('unknown'),
      () => tasks.signalOf('unknown'),
    ]) {
      expect(thrown(run)).toMatchObject(notFound)
    }
    await expect(tasks.waitFor('unknown')).rejects.toMatchObject(notFound)
  })

  test('appears in errors with a shortened id', () => {
    expect(String(thrown(() => setup().tasks.cancelTask('x'.repeat(100_000)))).length).toBeLessThan(200)
  })
})

describe('a task that has ended', () => {
  test('terminal states absorb every command', () => {
    for (const state of TERMINAL) {
      const { tasks, id } = inState(state)
      const before = tasks.peekTask(id)
      const listener = vi.fn()
      tasks.on('task:event', listener)
      const terminal = { code: 'TASK_TERMINAL', message: `Cannot update task in terminal state: ${state}` }
      for (const update of [{}, { message: 'late' }, { output: 1 }, { artifacts: [{}] }, ...VALID_STATES]) {
        const late = typeof update === 'string' ? { state: update } : update
        expect(thrown(() => tasks.updateTask(id, late))).toMatchObject(terminal)
      }
      expect(thrown(() => tasks.appendArtifact(id, { artifactId: 'a' }))).toMatchObject(terminal)
      const message = { role: 'user' as const, parts: [{ text: 'late' }] }
      expect(thrown(() => tasks.addMessage(id, message))).toMatchObject(terminal)
      expect(tasks.peekTask(id)).toBe(before)
      expect(listener).not.toHaveBeenCalled()
    }
  })
})

describe('expectedGeneration', () => {
  test('one of two writers with the same expectation wins', () => {
    const { tasks, id } = inState('working')
    const { generation: expectedGeneration } = tasks.updateTask(id, {})
    const writes = [
      () => tasks.updateTask(id, { output: 1, expectedGeneration }),
      () => tasks.appendArtifact(id, { artifactId: 'a' }, { expectedGeneration }),
      () => tasks.addMessage(id, { role: 'user', parts: [{ text: 'hi' }] }, { expectedGeneration }),
      () => tasks.cancelTask(id, { expectedGeneration }),
    ]
    const [first, ...others] = writes
    first?.()
    for (const write of others) {
      expect(thrown(write)).toMatchObject({
        code: 'TASK_GENERATION_MISMATCH',
        message: 'Task task-1 is at generation 4, not 3: read it again',
        data: { taskId: id, expectedGeneration: 3, generation: 4 },
      })
    }
    expect(tasks.getTask(id)).toMatchObject({ output: 1, artifacts: [], messages: [], state: 'working' })
  })
})

describe('appendArtifact', () => {
  test('appends parts, merges metadata, overwrites the rest', () => {
    const { tasks, id } = inState('working')
    tasks.appendArtifact(id, {
      artifactId: 'a',
      name: 'Draft',
      parts: [{ text: '1' }],
      metadata: { x: 1, y: 1 },
    })
    const chunk = {
      artifactId: 'a',
      name: 'Report',
      parts: [{ text: '2' }, { text: '3' }],
      metadata: { y: 2 },
    }
    const event = tasks.appendArtifact(id, chunk, { lastChunk: true })
    expect(event).toMatchObject({
      type: 'artifact',
      generation: 4,
      append: true,
      lastChunk: true,
      artifact: chunk,
    })
    expect(tasks.getTask(id)?.artifacts).toEqual([
      {
        artifactId: 'a',
        name: 'Report',
        parts: [{ text: '12' }, { text: '3' }],
        metadata: { x: 1, y: 2 },
      },
    ])
  })

  test('creates an artifact that the task does not have, and says so', () => {
    const { tasks, id } = inState('working')
    expect(tasks.appendArtifact(id, { artifactId: 'new' }, { append: true })).toMatchObject({ append: false })
    expect(tasks.appendArtifact(id, { parts: [{ text: 'x' }] }).artifact).toEqual({
      artifactId: 'task-2',
      parts: [{ text: 'x' }],
    })
  })

  test('replaces when append is false', () => {
    const { tasks, id } = inState('working')
    tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: '1' }], metadata: { x: 1 } })
    tasks.appendArtifact(id, { artifactId: 'a', parts: [{ text: '2' }] }, { append: false })
    expect(tasks.getTask(id)?.artifacts).toEqual([{ artifactId: 'a', parts: [{ text: '2' }] }])
  })

  test('refuses options that are no booleans', () => {
    const { tasks, id } = inState('working')
    const append = (options: object) => () => tasks.appendArtifact(id, {}, options)
    expect(append({ append: 'yes' })).toThrow('append must be a boolean, got a string')
    expect(append({ lastChunk: 1 })).toThrow('lastChunk must be a boolean, got a number')
    expect(append({ last: true })).toThrow('"last" is unknown')
  })
})

describe('addMessage', () => {
  test('adds to the conversation, oldest first', () => {
    const { tasks, id } = setup()
    const hello = tasks.addMessage(id, { role: 'user', parts: [{ text: 'Hello' }], messageId: 'm1' })
    tasks.addMessage(id, { role: 'agent', parts: [{ data: { any: null } }] })
    expect(hello).toMatchObject({ type: 'message', generation: 2, message: { messageId: 'm1' } })
    expect(tasks.getTask(id)?.messages).toEqual([
      { messageId: 'm1', role: 'user', parts: [{ text: 'Hello' }] },
      { messageId: 'task-2', role: 'agent', parts: [{ data: { any: null } }] },
    ])
  })
})

describe('the copies', () => {
  test('copies never alias the stored task', () => {
    const { tasks } = setup()
    const input = { list: [{ deep: 1 }] }
    const created = tasks.createTask({ skill: 'test', input, metadata: input })
    const { id } = created
    const output = { list: [{ deep: 1 }] }
    const artifact = { artifactId: 'a', parts: [{ text: 'a', metadata: { deep: 1 } }] }
    const updated = tasks.updateTask(id, { state: 'working', output, artifacts: [artifact] })
    const before = JSON.stringify(tasks.peekTask(id))

    for (const mine of [input, output, artifact, created, updated, tasks.getTask(id), ...tasks.listTasks()]) {
      scribble(mine)
    }
    expect(JSON.stringify(tasks.peekTask(id))).toBe(before)
    expect(Object.isFrozen(tasks.peekTask(id)?.input)).toBe(true)
  })

  test('peekTask gives the same frozen object until the task changes', () => {
    const { tasks, id } = inState('working')
    const before = tasks.peekTask(id)
    expect(tasks.peekTask(id)).toBe(before)
    tasks.appendArtifact(id, { artifactId: 'a' })
    expect(before?.artifacts).toEqual([])
    expect(tasks.peekTask(id)).not.toBe(before)
    expect(() => scribble(tasks.peekTask(id))).toThrow(TypeError)
  })
})

/** Overwrites everything in `value`, all the way down. */
function scribble(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    scribble(member)
    Object.assign(value, { [key]: 'scribbled' })
  }
}
