/** Tasks for the sessions of a corvid-agent: what is documented of them, and what must not go wrong. */
import { setImmediate as turn } from 'node:timers/promises'
import { A2AError } from 'a2a-tasks'
import { clearTaskStore, handleTaskGet, handleTaskSend, NotFoundError } from 'a2a-tasks/compat'
import { afterEach, describe, expect, test } from 'vitest'
import { thrown } from '../../support/manager.js'
import {
  AGENTS,
  answers,
  assistant,
  message,
  own,
  START,
  thrower,
  world,
  type Callback,
} from './support/inbound.js'

afterEach(() => {
  clearTaskStore()
})

describe('Scenario: inbound task lifecycle', () => {
  test('Given an agent with a project, a task is worked on, answered, completed', () => {
    const { deps, pm, clock, sessions } = world()
    const task = handleTaskSend(deps, { message: 'Hello' })
    expect(JSON.stringify(task)).toBe(
      JSON.stringify({
        id: 'task-1',
        state: 'working',
        messages: [message('user', 'Hello')],
        sessionId: 'session-1',
        createdAt: START,
        updatedAt: START,
      }),
    )
    expect(pm.calls).toEqual([
      ['subscribe', 'session-1'],
      ['startProcess', 'session-1', 'Hello', { schedulerMode: true }],
    ])
    expect(sessions).toEqual([
      {
        id: 'session-1',
        input: {
          projectId: 'project-2',
          agentId: 'agent-2',
          name: 'A2A Task: Hello',
          initialPrompt: 'Hello',
          source: 'agent',
        },
      },
    ])

    clock.advance(1_000)
    pm.emit('session-1', assistant('Hi there'))
    expect(handleTaskGet('task-1')).toEqual({
      ...task,
      messages: [message('user', 'Hello'), message('agent', 'Hi there')],
      updatedAt: '2026-01-01T00:00:01.000Z',
    })

    clock.advance(1_000)
    pm.emit('session-1', { type: 'session_exited' })
    expect(handleTaskGet('task-1')).toMatchObject({
      state: 'completed',
      updatedAt: '2026-01-01T00:00:02.000Z',
    })
    expect(clock.pending).toBe(0)
  })

  test('the task is submitted before its session is created', () => {
    const states: unknown[] = []
    const { deps } = world()
    const createSession: typeof deps.createSession = (db, input) => {
      states.push(handleTaskGet('task-1'))
      return deps.createSession(db, input)
    }
    handleTaskSend({ ...deps, createSession }, { message: 'Hello' })
    expect(states).toMatchObject([
      { state: 'submitted', sessionId: null, messages: [message('user', 'Hello')] },
    ])
  })
})

describe('Scenario: inbound task timeout', () => {
  test('Given a time limit of 5 s, the task fails after 5 s, says so, and its session is stopped', () => {
    const { handleTaskSend, handleTaskGet, clock, pm, errors } = own()
    handleTaskSend({ message: 'Slow', timeoutMs: 5_000 })
    clock.advance(4_999)
    expect(handleTaskGet('task-1')?.state).toBe('working')
    clock.advance(1)
    expect(handleTaskGet('task-1')).toMatchObject({
      state: 'failed',
      messages: [message('user', 'Slow'), message('agent', 'Task timed out')],
      updatedAt: '2026-01-01T00:00:05.000Z',
    })
    expect(pm.names()).toEqual(['subscribe', 'startProcess', 'unsubscribe', 'stopProcess'])
    expect([pm.listeners, clock.pending, errors]).toEqual([0, 0, []])
  })

  test.each([undefined, null])('a time limit of %s is 5 minutes', (timeoutMs) => {
    const { handleTaskSend, handleTaskGet, clock } = own()
    handleTaskSend({ message: 'Slow', timeoutMs })
    clock.advance(299_999)
    expect(handleTaskGet('task-1')?.state).toBe('working')
    clock.advance(1)
    expect(handleTaskGet('task-1')?.state).toBe('failed')
  })

  test('a time limit longer than a timer can be is kept', () => {
    const { handleTaskSend, handleTaskGet, clock } = own()
    handleTaskSend({ message: 'Slow', timeoutMs: 2 ** 32 })
    clock.advance(2 ** 32 - 1)
    expect(handleTaskGet('task-1')?.state).toBe('working')
    clock.advance(1)
    expect(handleTaskGet('task-1')?.state).toBe('failed')
  })

  test('if sessions cannot be stopped, the task fails anyway', () => {
    const processManager = { subscribe: () => undefined, startProcess: () => undefined }
    const { handleTaskSend, handleTaskGet, clock, errors } = own({ processManager })
    handleTaskSend({ message: 'Slow' })
    clock.advance(300_000)
    expect(handleTaskGet('task-1')?.state).toBe('failed')
    expect(errors).toEqual([])
  })

  test.each([
    ['thrown', thrower('Busy')],
    ['rejected', () => Promise.reject(new Error('Busy'))],
  ])('an error that is %s by stopProcess is reported', async (_, stopProcess) => {
    const { handleTaskSend, handleTaskGet, clock, errors, pm } = own()
    Object.assign(pm, { stopProcess })
    handleTaskSend({ message: 'Slow', timeoutMs: 1 })
    clock.advance(1)
    await turn()
    expect(handleTaskGet('task-1')?.state).toBe('failed')
    expect(errors).toEqual([
      { error: new Error('Busy'), context: { during: 'stopProcess', taskId: 'task-1' } },
    ])
  })
})

describe('Scenario: no suitable agent for inbound task', () => {
  test.each([[[]], [AGENTS.slice(0, 2)]])(
    'Given no agent with a project, NotFoundError is thrown',
    (agents) => {
      const { deps, pm, clock, sessions } = world({ listAgents: () => agents })
      const error = thrown(() => handleTaskSend(deps, { message: 'Hello' }))
      expect(error).toBeInstanceOf(NotFoundError)
      expect(error).toMatchObject({
        name: 'NotFoundError',
        message: 'Agent with default project not found',
        code: 'NOT_FOUND',
        statusCode: 404,
        data: { resource: 'Agent with default project' },
      })
      expect(A2AError.is(error, 'NOT_FOUND')).toBe(true)
      expect(handleTaskGet('task-1')).toBeNull()
      expect([sessions, pm.calls, clock.pending]).toEqual([[], [], 0])
    },
  )
})

describe('events', () => {
  test.each<[unknown, string[]]>([
    [assistant('Hi'), ['Hi']],
    [assistant([{ type: 'text', text: 'Hi' }]), ['Hi']],
    [
      assistant([{ type: 'thinking', thinking: 'Hm' }, { type: 'text', text: 'One' }, { text: 'Two' }]),
      ['One'],
    ],
    [assistant([{ text: '' }, { text: 7 }, null, 'text', { text: 'Late' }]), ['Late']],
    [assistant('half \uD83D of it'), ['half \uFFFD of it']],
    [assistant(''), []],
    [assistant([]), []],
    [assistant([{ type: 'tool_use', name: 'read' }]), []],
    [assistant(undefined), []],
    [assistant({ text: 'no block' }), []],
    [{ type: 'assistant' }, []],
    [{ type: 'assistant', message: 'Hi' }, []],
    [{ type: 'result', result: 'Hi', message: { content: 'Hi' } }, []],
    [{ type: 'session_error' }, []],
    [{ type: 'user', message: { content: 'Hi' } }, []],
    [{}, []],
    [null, []],
    ['session_exited', []],
  ])('%j says %j', (event, expected) => {
    const { handleTaskSend, handleTaskGet, pm } = own()
    handleTaskSend({ message: 'Hello' })
    pm.emit('session-1', event)
    const task = handleTaskGet('task-1')
    expect(answers(task)).toEqual(expected)
    expect(task?.state).toBe('working')
  })

  const ENDS = [
    ['session_exited', 'completed'],
    ['session_stopped', 'completed'],
    ['error', 'failed'],
  ] as const

  test.each(ENDS)('%s: the task has %s; timer and subscription are gone', (type, state) => {
    const { handleTaskSend, handleTaskGet, pm, clock } = own()
    handleTaskSend({ message: 'Hello' })
    expect(clock.pending).toBe(1)
    pm.emit('session-1', { type, error: { message: 'secret' } })
    expect(handleTaskGet('task-1')).toMatchObject({ state, messages: [message('user', 'Hello')] })
    expect([pm.listeners, clock.pending]).toEqual([0, 0])
    expect(pm.names()).not.toContain('stopProcess')
  })

  test.each(ENDS)('after %s nothing changes any more, though events still come', (type, state) => {
    const { handleTaskSend, handleTaskGet, pm, clock, errors } = own()
    let callback: Callback | undefined
    pm.onSubscribe = (_, given) => void (callback = given)
    handleTaskSend({ message: 'Hello' })
    pm.emit('session-1', { type })
    const ended = handleTaskGet('task-1')
    clock.advance(1_000)
    for (const late of [assistant('Late'), ...ENDS.map(([each]) => ({ type: each }))])
      callback?.('session-1', late)
    clock.advance(300_000)
    expect(handleTaskGet('task-1')).toEqual(ended)
    expect(ended?.state).toBe(state)
    expect(errors).toEqual([])
    expect(pm.names()).not.toContain('stopProcess')
  })

  test('after a timeout nothing changes any more', () => {
    const { handleTaskSend, handleTaskGet, pm, clock } = own()
    let callback: Callback | undefined
    pm.onSubscribe = (_, given) => void (callback = given)
    handleTaskSend({ message: 'Hello', timeoutMs: 10 })
    clock.advance(10)
    const ended = handleTaskGet('task-1')
    callback?.('session-1', assistant('Late'))
    callback?.('session-1', { type: 'session_exited' })
    expect(handleTaskGet('task-1')).toEqual(ended)
  })

  test('those within startProcess count', () => {
    const { handleTaskSend, handleTaskGet, pm, clock } = own()
    pm.onStart = (id) => {
      pm.emit(id, assistant('Done'))
      pm.emit(id, { type: 'session_exited' })
    }
    const task = handleTaskSend({ message: 'Quick' })
    expect(task).toMatchObject({ state: 'completed', messages: [{}, message('agent', 'Done')] })
    expect(handleTaskGet(task.id)).toEqual(task)
    expect([pm.listeners, clock.pending]).toEqual([0, 0])
  })

  test.each(['by a function', 'by unsubscribe'])(
    'those within subscribe count: left %s, nothing is started',
    (how) => {
      const { handleTaskSend, pm, clock, errors } = own()
      pm.onSubscribe = (id, callback) => {
        pm.emit(id, { type: 'error' })
        return how === 'by a function' ? () => pm.callbacks.get(id)?.delete(callback) : undefined
      }
      expect(handleTaskSend({ message: 'Quick' }).state).toBe('failed')
      expect(pm.names()).toEqual(['subscribe', ...(how === 'by a function' ? [] : ['unsubscribe'])])
      expect([pm.listeners, clock.pending, errors]).toEqual([0, 0, []])
    },
  )

  test('the function that subscribe returns ends the subscription, once', () => {
    const { handleTaskSend, pm } = own()
    let calls = 0
    pm.onSubscribe = () => () => calls++
    handleTaskSend({ message: 'Hello' })
    pm.emit('session-1', { type: 'session_exited' })
    pm.emit('session-1', { type: 'session_exited' })
    expect(calls).toBe(1)
    expect(pm.names()).not.toContain('unsubscribe')
  })

  test('an error in unsubscribing is reported, and does not reach the emitter', () => {
    const { handleTaskSend, handleTaskGet, pm, errors } = own()
    pm.onSubscribe = () => thrower('No such subscription')
    handleTaskSend({ message: 'Hello' })
    pm.emit('session-1', { type: 'session_exited' })
    expect(handleTaskGet('task-1')?.state).toBe('completed')
    expect(errors).toMatchObject([{ context: { during: 'unsubscribe', taskId: 'task-1' } }])
  })

  test('a session that says more than a task holds fails it, and is stopped', () => {
    const { handleTaskSend, handleTaskGet, pm, clock, errors } = own()
    handleTaskSend({ message: 'Hello' })
    pm.emit('session-1', assistant('x'.repeat(17_000_000)))
    expect(handleTaskGet('task-1')).toMatchObject({ state: 'failed', messages: [message('user', 'Hello')] })
    expect(errors).toMatchObject([{ error: { code: 'LIMIT_EXCEEDED' }, context: { during: 'assistant' } }])
    expect(pm.names().at(-1)).toBe('stopProcess')
    expect(clock.pending).toBe(0)
  })
})
