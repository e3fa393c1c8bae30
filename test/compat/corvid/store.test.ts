/** Tasks for the sessions of a corvid-agent: what is refused, what fails at the start, what is kept, and for how long. */
import { setImmediate as turn } from 'node:timers/promises'
import { TaskManager } from 'a2a-tasks'
import {
  clearTaskStore,
  createInboundHandler,
  handleTaskGet,
  handleTaskSend,
  type A2ATaskDeps,
  type A2ATaskSendRequest,
} from 'a2a-tasks/compat'
import { ManualClock } from 'a2a-tasks/testing'
import { afterEach, describe, expect, test } from 'vitest'
import { thrown } from '../../support/manager.js'
import { answers, assistant, own, thrower, world, type DB } from './support/inbound.js'
import { expectWarnings } from '../../support/warnings.js'

type Params = A2ATaskSendRequest['params']

afterEach(() => {
  clearTaskStore()
})

describe('a request is refused', () => {
  test.each<[unknown, string]>([
    [{}, 'message is required'],
    [{ message: undefined }, 'message is required'],
    [{ message: null }, 'message is required'],
    [{ message: '' }, 'message is required'],
    [{ message: ' \n\t' }, 'message is required'],
    [{ message: 7 }, 'message must be a string, got a number'],
    [{ message: ['Hello'] }, 'message must be a string, got an array'],
    [{ message: 'half \uD83D' }, 'message has a lone surrogate, which UTF-8 cannot hold'],
    [{ message: 'Hello', skill: 7 }, 'skill must be a string, got a number'],
    [{ message: 'Hello', skill: '' }, 'skill must not be empty'],
    [{ message: 'Hello', timeoutMs: 0 }, 'timeoutMs must be a positive number of milliseconds, got 0'],
    [{ message: 'Hello', timeoutMs: -1 }, 'timeoutMs must be a positive number of milliseconds, got -1'],
    [{ message: 'Hello', timeoutMs: NaN }, 'timeoutMs must be a positive number of milliseconds, got NaN'],
    [
      { message: 'Hello', timeoutMs: Infinity },
      'timeoutMs must be a positive number of milliseconds, got Infinity',
    ],
    [
      { message: 'Hello', timeoutMs: '5' },
      'timeoutMs must be a positive number of milliseconds, got a string',
    ],
    [undefined, 'params must be an object, got undefined'],
    [null, 'params must be an object, got null'],
    ['Hello', 'params must be an object, got a string'],
    [[], 'params must be an object, got an array'],
  ])('%j: %s', (body, text) => {
    const { handleTaskSend, handleTaskGet, pm, sessions, clock } = own()
    expect(thrown(() => handleTaskSend(body as Params))).toMatchObject({
      code: 'INVALID_PARAMS',
      message: text,
    })
    expect(handleTaskGet('task-1')).toBeNull()
    expect([pm.calls, sessions, clock.pending]).toEqual([[], [], 0])
  })

  test('when the message is larger than 1 MiB', () => {
    const { handleTaskSend, sessions } = own()
    expect(thrown(() => handleTaskSend({ message: 'x'.repeat(1_048_577) }))).toMatchObject({
      code: 'LIMIT_EXCEEDED',
    })
    expect(sessions).toEqual([])
  })

  test('when its id is taken: nothing happens to the task that has it', () => {
    const { handleTaskSend, handleTaskGet, sessions } = own({ generateId: () => 'always' })
    const first = handleTaskSend({ message: 'First' })
    expect(thrown(() => handleTaskSend({ message: 'Second' }))).toMatchObject({ code: 'INVALID_PARAMS' })
    expect(handleTaskGet('always')).toEqual(first)
    expect(sessions).toHaveLength(1)
  })

  test('but not for what a peer of another version adds', () => {
    const { handleTaskSend } = own()
    const body = { message: 'Hello', skill: 'summarize', depth: 2, sourceAgent: 'other', timeoutMs: 0.5 }
    expect(handleTaskSend(body).state).toBe('working')
    expect(handleTaskSend({ message: 'Hello', skill: null, timeoutMs: null }).state).toBe('working')
  })
})

test('a promise of agents counts as no agents, and its rejection is reported', async () => {
  const listAgents = (): never => Promise.reject(new Error('Offline')) as never
  const { handleTaskSend, handleTaskGet, errors } = own({ listAgents })
  expect(() => handleTaskSend({ message: 'Hello' })).toThrow(
    new TypeError('"deps.listAgents" must return an array, got an instance of Promise'),
  )
  await turn()
  expect(handleTaskGet('task-1')).toBeNull()
  expect(errors).toEqual([{ error: new Error('Offline'), context: { during: 'listAgents' } }])
})

describe('a session', () => {
  test.each([
    ['x'.repeat(51), 'x'.repeat(50)],
    [`${'x'.repeat(49)}\u{1F600}y`, 'x'.repeat(49)],
    [`${'x'.repeat(48)}\u{1F600}y`, `${'x'.repeat(48)}\u{1F600}`],
    [' padded\n', ' padded\n'],
  ])('for %j is named after %j', (text, name) => {
    const { handleTaskSend, sessions, pm } = own()
    handleTaskSend({ message: text })
    expect(sessions[0]?.input).toMatchObject({ name: `A2A Task: ${name}`, initialPrompt: text })
    expect(pm.calls[1]).toEqual(['startProcess', 'session-1', text, { schedulerMode: true }])
  })

  test('that cannot be created fails its task, and the caller gets the error', () => {
    const { handleTaskSend, handleTaskGet, pm, clock } = own({ createSession: thrower('Disk full') })
    expect(() => handleTaskSend({ message: 'Hello' })).toThrow('Disk full')
    expect(handleTaskGet('task-1')).toMatchObject({ state: 'failed', sessionId: null })
    expect([pm.calls, clock.pending]).toEqual([[], 0])
  })

  test.each([undefined, {}, { id: '' }, { id: 7 }, Promise.resolve({ id: 'late' })])(
    'that is none, %o, counts as one that cannot be created',
    (session) => {
      const createSession = (() => session) as unknown as A2ATaskDeps<typeof DB>['createSession']
      const { deps, pm, clock } = world()
      const error = thrown(() =>
        handleTaskSend({ ...deps, createSession } as typeof deps, { message: 'Hello' }),
      )
      expect(error).toBeInstanceOf(TypeError)
      expect(String(error)).toContain('"deps.createSession" must return a session with an id')
      expect(handleTaskGet('task-1')).toMatchObject({ state: 'failed', sessionId: null })
      expect([pm.calls, clock.pending]).toEqual([[], 0])
    },
  )

  test.each(['onSubscribe', 'onStart'] as const)(
    'whose start fails in %s fails its task: no timer and no listener is left',
    (where) => {
      const { handleTaskSend, handleTaskGet, pm, clock } = own()
      pm[where] = thrower('No more processes')
      expect(() => handleTaskSend({ message: 'Hello' })).toThrow('No more processes')
      const failed = handleTaskGet('task-1')
      expect(failed).toMatchObject({ state: 'failed', sessionId: 'session-1' })
      expect(clock.pending).toBe(0)
      if (where === 'onStart') expect(pm.listeners).toBe(0)
      pm.emit('session-1', assistant('Late'))
      clock.advance(300_000)
      expect(handleTaskGet('task-1')).toEqual(failed)
    },
  )

  test('whose start fails after it has ended has ended as it did', () => {
    const { handleTaskSend, handleTaskGet, pm } = own()
    pm.onStart = (id) => {
      pm.emit(id, { type: 'session_exited' })
      throw new Error('Gone already')
    }
    expect(() => handleTaskSend({ message: 'Hello' })).toThrow('Gone already')
    expect(handleTaskGet('task-1')?.state).toBe('completed')
  })

  test('whose start fails later fails its task, and the error is reported', async () => {
    const { handleTaskSend, handleTaskGet, pm, clock, errors } = own()
    pm.onStart = () => Promise.reject(new Error('No more processes'))
    expect(handleTaskSend({ message: 'Hello' }).state).toBe('working')
    await turn()
    expect(handleTaskGet('task-1')?.state).toBe('failed')
    expect([pm.listeners, clock.pending]).toEqual([0, 0])
    expect(errors).toMatchObject([{ context: { during: 'startProcess', taskId: 'task-1' } }])
  })

  test('that is a promise counts as none, and its rejection is reported', async () => {
    const late = (): never => Promise.reject(new Error('Disk full')) as never
    const { handleTaskSend, handleTaskGet, errors } = own({ createSession: late })
    expect(() => handleTaskSend({ message: 'Hello' })).toThrow(
      new TypeError('"deps.createSession" must return a session with an id, got an instance of Promise'),
    )
    await turn()
    expect(handleTaskGet('task-1')?.state).toBe('failed')
    expect(errors).toEqual([
      { error: new Error('Disk full'), context: { during: 'createSession', taskId: 'task-1' } },
    ])
  })

  test.each([
    ['half \uD83D', '"deps.createSession" must return a session whose id has no lone surrogate'],
    ['x'.repeat(20 * 1024 * 1024), 'exceeds'],
  ])('whose id no task can hold fails its task', (id, text) => {
    const { handleTaskSend, handleTaskGet, pm, clock } = own({
      createSession: (_, input) => ({ id, input }),
    })
    expect(() => handleTaskSend({ message: 'Hello' })).toThrow(text)
    expect(handleTaskGet('task-1')).toMatchObject({ state: 'failed', sessionId: null })
    expect([pm.calls, clock.pending]).toEqual([[], 0])
  })

  test('that could not be subscribed to fails its task, and is stopped', async () => {
    const { handleTaskSend, handleTaskGet, pm, clock, errors } = own()
    pm.onSubscribe = () => Promise.reject(new Error('No such session'))
    expect(handleTaskSend({ message: 'Hello' }).state).toBe('working')
    await turn()
    expect(handleTaskGet('task-1')?.state).toBe('failed')
    expect(pm.names()).toEqual(['subscribe', 'startProcess', 'stopProcess', 'unsubscribe'])
    expect([pm.listeners, clock.pending]).toEqual([0, 0])
    expect(errors).toEqual([
      { error: new Error('No such session'), context: { during: 'subscribe', taskId: 'task-1' } },
    ])
  })

  test('that has ended before its subscription failed has ended as it did', async () => {
    const { handleTaskSend, handleTaskGet, pm, errors } = own()
    pm.onSubscribe = () => Promise.reject(new Error('No such session'))
    handleTaskSend({ message: 'Hello' })
    pm.emit('session-1', { type: 'session_exited' })
    await turn()
    expect(handleTaskGet('task-1')?.state).toBe('completed')
    expect(pm.names()).not.toContain('stopProcess')
    expect(errors).toMatchObject([{ context: { during: 'subscribe' } }])
  })

  test.each([true, false])(
    'is left by what subscribe has promised (%s), or by unsubscribe',
    async (promises) => {
      const { handleTaskSend, pm } = own()
      let count = 0
      pm.onSubscribe = () => Promise.resolve(promises ? () => count++ : undefined)
      handleTaskSend({ message: 'Hello' })
      pm.emit('session-1', { type: 'session_exited' })
      await turn()
      expect([count, pm.listeners]).toEqual(promises ? [1, 1] : [0, 0])
    },
  )

  test('of one task does not affect another', () => {
    const { handleTaskSend, handleTaskGet, pm } = own()
    handleTaskSend({ message: 'One' })
    handleTaskSend({ message: 'Two' })
    pm.emit('session-2', assistant('Second'))
    pm.emit('session-1', { type: 'error' })
    expect(handleTaskGet('task-1')).toMatchObject({ state: 'failed', sessionId: 'session-1' })
    expect(handleTaskGet('task-2')).toMatchObject({ state: 'working', sessionId: 'session-2' })
    expect(answers(handleTaskGet('task-2'))).toEqual(['Second'])
  })
})

describe('a task that is returned', () => {
  test('is a copy: nothing that happens changes it, and changing it changes nothing', () => {
    const { handleTaskSend, handleTaskGet, pm } = own()
    const sent = handleTaskSend({ message: 'Hello' })
    const before = structuredClone(sent)
    pm.emit('session-1', assistant('Hi'))
    pm.emit('session-1', { type: 'session_exited' })
    expect(sent).toEqual(before)
    const ended = handleTaskGet('task-1')
    const copy = structuredClone(ended)
    ended?.messages.splice(0)
    sent.state = 'failed'
    for (const { parts } of sent.messages) parts.splice(0)
    expect(handleTaskGet('task-1')).toEqual(copy)
  })
})

describe('the store', () => {
  test('drops ended tasks, oldest first, when it is full, and never working ones', () => {
    const { handleTaskSend, handleTaskGet, pm } = own({}, { maxTasks: 20 })
    const held = (): string[] =>
      Array.from({ length: 30 }, (_, index) => `task-${index + 1}`).filter((id) => handleTaskGet(id) !== null)
    for (let n = 1; n <= 20; n++) handleTaskSend({ message: `Task ${n}` })
    for (const n of [2, 3, 4, 5]) pm.emit(`session-${n}`, { type: n === 3 ? 'error' : 'session_exited' })
    expect(held()).toHaveLength(20)
    handleTaskSend({ message: 'One too many' })
    expect(held()).toHaveLength(19)
    expect([handleTaskGet('task-2'), handleTaskGet('task-3')]).toEqual([null, null])
    expect([handleTaskGet('task-1')?.state, handleTaskGet('task-4')?.state]).toEqual(['working', 'completed'])
  })

  test('holds 1,000 tasks, and drops 100 at a time', () => {
    const { handleTaskSend, handleTaskGet, pm } = own()
    for (let n = 1; n <= 1_000; n++) handleTaskSend({ message: `Task ${n}` })
    for (let n = 1; n <= 1_000; n += 2) pm.emit(`session-${n}`, { type: 'session_exited' })
    expect(handleTaskGet('task-1')?.state).toBe('completed')
    handleTaskSend({ message: 'One too many' })
    const held = Array.from({ length: 1_001 }, (_, index) => handleTaskGet(`task-${index + 1}`))
    expect(held.filter((task) => task !== null)).toHaveLength(901)
    expect(held.slice(0, 200).map((task) => task?.state)).toEqual(
      Array.from({ length: 200 }, (_, index) => (index % 2 === 0 ? undefined : 'working')),
    )
    expect(held[200]?.state).toBe('completed')
  })

  test('refuses a task while all that it may hold are worked on', () => {
    const { handleTaskSend, sessions, pm } = own({}, { maxTasks: 2 })
    handleTaskSend({ message: 'One' })
    handleTaskSend({ message: 'Two' })
    expect(thrown(() => handleTaskSend({ message: 'Three' }))).toMatchObject({
      code: 'TASK_LIMIT_REACHED',
      message: 'Maximum task limit reached: 2',
    })
    expect(sessions).toHaveLength(2)
    pm.emit('session-1', { type: 'session_exited' })
    expect(handleTaskSend({ message: 'Three' }).state).toBe('working')
  })

  test('keeps tasks for any time', () => {
    const { handleTaskSend, handleTaskGet, pm, clock } = own()
    handleTaskSend({ message: 'Hello' })
    pm.emit('session-1', { type: 'session_exited' })
    clock.advance(1_000 * 86_400_000)
    handleTaskSend({ message: 'Much later' })
    expect(handleTaskGet('task-1')?.state).toBe('completed')
  })

  test('returns null for an unknown task', () => {
    expect(handleTaskGet('unknown')).toBeNull()
    expect(own().handleTaskGet('unknown')).toBeNull()
  })

  test('when cleared forgets all, with timers and subscriptions, stops nothing, and is as new', () => {
    const { deps, pm, clock } = world()
    handleTaskSend(deps, { message: 'One' })
    handleTaskSend(deps, { message: 'Two', timeoutMs: 10 })
    clearTaskStore()
    expect([handleTaskGet('task-1'), handleTaskGet('task-2')]).toEqual([null, null])
    expect([pm.listeners, clock.pending]).toEqual([0, 0])
    expect(pm.names()).not.toContain('stopProcess')
    clearTaskStore()
    expect(handleTaskSend(deps, { message: 'Three' })).toMatchObject({ id: 'task-3', state: 'working' })
  })

  test('may be cleared by a session that begins', () => {
    const { deps, pm, clock } = world()
    pm.onStart = clearTaskStore
    expect(handleTaskSend(deps, { message: 'Hello' }).state).toBe('working')
    expect(handleTaskGet('task-1')).toBeNull()
    expect([pm.listeners, clock.pending]).toEqual([0, 0])
  })

  test('may be cleared while a session is created, which does not begin then', () => {
    const { deps, pm, clock } = world()
    const createSession: typeof deps.createSession = (db, input) => {
      clearTaskStore()
      return deps.createSession(db, input)
    }
    expect(handleTaskSend({ ...deps, createSession }, { message: 'Hello' })).toMatchObject({
      id: 'task-1',
      state: 'submitted',
      sessionId: null,
    })
    expect(handleTaskGet('task-1')).toBeNull()
    expect([pm.calls, clock.pending]).toEqual([[], 0])
  })

  test('has one clock until it is cleared', () => {
    const { deps } = world()
    handleTaskSend(deps, { message: 'One' })
    const others = { ...deps, clock: new ManualClock('2030-01-01T00:00:00Z') }
    expect(() => handleTaskSend(others, { message: 'Two' })).toThrow(
      new TypeError(
        '"deps.clock" must be that of the tasks before: clearTaskStore(), or createInboundHandler()',
      ),
    )
    clearTaskStore()
    expect(handleTaskSend(others, { message: 'Two' }).createdAt).toBe('2030-01-01T00:00:00.000Z')
  })

  test('by default has the time and the ids of the runtime', () => {
    const before = Date.now()
    const deps = { ...world().deps, clock: undefined, generateId: undefined }
    const task = handleTaskSend(deps, { message: 'Hello' })
    expect(task.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(Date.parse(task.createdAt)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(task.createdAt)).toBeLessThanOrEqual(Date.now())
  })
})

describe('a handler', () => {
  test('has its own store', () => {
    const { deps } = world()
    const [one, two] = [createInboundHandler(deps), createInboundHandler(deps)]
    one.handleTaskSend({ message: 'Hello' })
    expect(one.handleTaskGet('task-1')?.state).toBe('working')
    expect([two.handleTaskGet('task-1'), handleTaskGet('task-1')]).toEqual([null, null])
    one.clearTaskStore()
    expect(one.handleTaskGet('task-1')).toBeNull()
    expect(one.handleTaskSend({ message: 'Again' }).id).toBe('task-2')
    one.clearTaskStore()
  })

  test('when closed has no task, no timer, no subscription, and takes no task', () => {
    const { handleTaskSend, handleTaskGet, close, pm, clock, sessions } = own()
    handleTaskSend({ message: 'Hello' })
    close()
    close()
    expect([handleTaskGet('task-1'), pm.listeners, clock.pending]).toEqual([null, 0, 0])
    expect(thrown(() => handleTaskSend({ message: 'Hello' }))).toMatchObject({ code: 'UNAVAILABLE' })
    expect(sessions).toHaveLength(1)
  })

  test('whose onError throws works on', () => {
    expectWarnings(/Worse/)
    const { deps, pm, clock } = world()
    Object.assign(pm, { stopProcess: thrower('Busy') })
    const { handleTaskSend, handleTaskGet } = createInboundHandler(deps, { onError: thrower('Worse') })
    handleTaskSend({ message: 'Hello' })
    clock.advance(300_000)
    expect(handleTaskGet('task-1')?.state).toBe('failed')
  })

  test.each<[object, unknown, string]>([
    [{ maxTasks: 0 }, RangeError, '"maxTasks" must be a positive integer or Infinity, got 0'],
    [
      { maxTask: 5 },
      TypeError,
      'Unknown option "maxTask" of createInboundHandler, did you mean "maxTasks"?; known are maxTasks, maxDepth, rateLimit, onError',
    ],
  ])('is not made with the options %j', (options, type, text) => {
    const error = thrown(() => own({}, options))
    expect(error).toBeInstanceOf(type)
    expect(error).toMatchObject({ message: text })
  })

  test.each<[unknown, string]>([
    [undefined, '"deps" must be an object, got undefined'],
    [{ ...world().deps, listAgents: undefined }, '"deps.listAgents" must be a function, got undefined'],
    [{ ...world().deps, createSession: 1 }, '"deps.createSession" must be a function, got a number'],
    [{ ...world().deps, processManager: null }, '"deps.processManager" must be an object, got null'],
    [
      { ...world().deps, processManager: {} },
      '"deps.processManager.subscribe" must be a function, got undefined',
    ],
    [
      { ...world().deps, processManager: new TaskManager() },
      '"deps.processManager.startProcess" must be a function, got undefined',
    ],
  ])('is not made without a required option: %#', (given, text) => {
    const deps = given as A2ATaskDeps
    expect(() => createInboundHandler(deps)).toThrow(new TypeError(text))
    expect(() => handleTaskSend(deps, { message: 'Hello' })).toThrow(new TypeError(text))
  })
})
