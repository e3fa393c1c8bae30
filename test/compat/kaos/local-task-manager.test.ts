import { TaskManager } from 'a2a-tasks'
import { LocalTaskManager, type ProcessContext, type ProcessFn } from 'a2a-tasks/compat'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { fail, rejection, setup, textsOf, working } from './support/local.js'
import { gate } from '../../server/spec/support/agent.js'
import { expectWarnings } from '../../support/warnings.js'

describe('sendMessage', () => {
  test('answers with the task that is done, and with the conversation', async () => {
    const { manager } = setup((text) => `You said: ${text}`)
    const task = await manager.sendMessage('Hello')
    expect(task).toMatchObject({ state: 'completed', message: 'Done', artifacts: [], output: null })
    expect(textsOf(task)).toEqual(['user: Hello', 'agent: You said: Hello'])
    for (const message of task.messages)
      expect(message).toMatchObject({ taskId: task.id, contextId: task.contextId })
  })

  test('goes from submitted to working, and says so', async () => {
    const { manager, tasks } = setup(() => 'ok')
    const { id, history } = await manager.sendMessage('go')
    expect(history.map(({ state }) => state)).toEqual(['submitted', 'working', 'completed'])
    const first = tasks.events(id)[0]
    expect(first).toMatchObject({ type: 'created' })
    expect(tasks.events(id).flatMap((event) => (event.type === 'status' ? [event.message] : []))).toEqual([
      'Processing',
      'Done',
    ])
  })

  test('passes the message and its context to the work', async () => {
    const seen: ProcessContext[] = []
    const { manager } = setup((_, context) => {
      seen.push(context)
      return 'ok'
    })
    const options = { sessionId: 'session-1', metadata: { delegation: true }, owner: 'alice' }
    const task = await manager.sendMessage('go', options)
    expect(seen).toMatchObject([
      { sessionId: 'session-1', taskId: task.id, metadata: { delegation: true }, owner: 'alice' },
    ])
    expect(seen[0]?.signal.aborted).toBe(false)
    expect(task).toMatchObject({ contextId: 'session-1', metadata: { delegation: true }, owner: 'alice' })
  })

  test('begins a session where none is named, each time another', async () => {
    const manager = new LocalTaskManager(() => 'ok')
    const [first, second] = [await manager.sendMessage('1'), await manager.sendMessage('2')]
    expect(first.contextId).not.toBe(second.contextId)
    expect(first.id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  })

  test.each<[name: string, processFn: ProcessFn, text: string]>([
    ['a text', () => 'a b', 'a b'],
    ['the promise of one', () => Promise.resolve('a b'), 'a b'],
    ['an empty text', () => '', ''],
    ['chunks', () => chunks('a', ' ', 'b'), 'a b'],
    ['the promise of chunks', () => Promise.resolve(chunks('a', ' b')), 'a b'],
    ['no chunks', () => chunks(), ''],
    [
      'chunks, of which the last is returned',
      async function* () {
        yield await Promise.resolve('a ')
        return 'b'
      },
      'a b',
    ],
  ])('takes %s for the answer', async (_, processFn, text) => {
    const task = await setup(processFn).manager.sendMessage('go')
    expect(textsOf(task)).toEqual(['user: go', `agent: ${text}`])
    expect(task.state).toBe('completed')
  })

  test.each<[name: string, processFn: () => unknown]>([
    ['throws', () => fail(new Error('secret'))],
    ['throws nothing', () => fail(undefined)],
    ['throws what has no text', () => fail(Object.create(null))],
    ['rejects', () => Promise.reject(new Error('secret'))],
    ['rejects with nothing', () => Promise.resolve().then(() => fail(undefined))],
    ['returns a number', () => 42],
    ['returns nothing', () => undefined],
    ['returns a list', () => ['a', 'b']],
    ['yields a number', () => chunks(42 as unknown as string)],
    ['breaks off', () => breaking('a')],
  ])('fails the task, and does not reject, where the work %s', async (_, processFn) => {
    const { manager, errors } = setup(processFn as ProcessFn)
    const task = await manager.sendMessage('go')
    expect(task).toMatchObject({ state: 'failed', message: 'The agent could not finish this task' })
    expect(textsOf(task)).toEqual(['user: go'])
    expect(errors).toHaveLength(1)
    expect(errors[0]?.context).toEqual({ during: 'processFn', taskId: task.id })
  })

  test('fails the task at once where the work yields a number, whatever leaving it does', async () => {
    const left = gate()
    const iterable = {
      [Symbol.asyncIterator]: () => ({
        next: () => Promise.resolve({ done: false, value: 5 }),
        return: () => left.opened.then(() => fail(new Error('Too late'))),
      }),
    }
    const { manager, errors } = setup(() => iterable as unknown as AsyncIterable<string>)
    const task = await manager.sendMessage('go')
    expect(task).toMatchObject({ state: 'failed', message: 'The agent could not finish this task' })
    expect(errors).toMatchObject([{ error: new TypeError('processFn() must yield strings, got a number') }])
    left.open()
    await manager.shutdown()
    expect(errors).toMatchObject([{}, { error: new Error('Too late') }])
    expect(await manager.getTask(task.id)).toEqual(task)
  })

  test('passes the error to onError, and the text of describeError to clients', async () => {
    const error = new Error('Error occurred')
    const { manager, errors } = setup(() => fail(error), { describeError: String })
    expect(await manager.sendMessage('go')).toMatchObject({ message: 'Error: Error occurred' })
    expect(errors.map((each) => each.error)).toEqual([error])
  })

  test.each<[name: string, describeError: () => unknown]>([
    ['throws', () => fail(new Error('again'))],
    ['returns a number', () => 42],
    ['returns nothing', () => undefined],
  ])('has its own text where describeError %s', async (_, describeError) => {
    const options = { describeError: describeError as () => string }
    const { manager, errors } = setup(() => fail(new Error('secret')), options)
    expect(await manager.sendMessage('go')).toMatchObject({
      state: 'failed',
      message: 'The agent could not finish this task',
    })
    expect(errors.map(({ context }) => context.during)).toEqual(['processFn', 'describeError'])
  })

  test('survives an onError that throws', async () => {
    expectWarnings(/two/)
    const { manager } = setup(() => fail(new Error('one')), { onError: () => fail(new Error('two')) })
    expect(await manager.sendMessage('go')).toMatchObject({ state: 'failed' })
  })

  test('refuses invalid arguments, and keeps no task', async () => {
    const { manager, tasks } = setup(() => 'ok')
    const refused = [
      manager.sendMessage(42 as unknown as string),
      manager.sendMessage('go', { sessionId: '' }),
      manager.sendMessage('go', { metadata: { when: new Date(0) } }),
      manager.sendMessage('go', { session: 's' } as object),
    ]
    for (const each of refused) expect(await rejection(each)).toMatchObject({ code: 'INVALID_PARAMS' })
    expect(tasks.size()).toBe(0)
  })

  test('has U+FFFD in place of what UTF-8 cannot hold, in what is sent, processed, answered and described', async () => {
    const given: string[] = []
    const echo = setup((text) => {
      given.push(text)
      return 'b\ud800'
    })
    expect(textsOf(await echo.manager.sendMessage('a\ud800'))).toEqual(['user: a\ufffd', 'agent: b\ufffd'])
    // A process that begins the work again has the text of the task.
    expect(given).toEqual(['a\ufffd'])
    const broken = setup(() => fail(new Error('secret')), { describeError: () => 'c\ud800' })
    expect(await broken.manager.sendMessage('go')).toMatchObject({ state: 'failed', message: 'c\ufffd' })
  })

  test('refuses a text that is no message: work does not begin', async () => {
    let count = 0
    const { manager, tasks } = setup(() => String(++count), {
      tasks: new TaskManager({ limits: { maxMessagesSize: 100 } }),
    })
    const refused = manager.sendMessage('x'.repeat(200))
    expect(await rejection(refused)).toMatchObject({ code: 'LIMIT_EXCEEDED' })
    expect(count).toBe(0)
    expect(tasks.listTasks().map(({ state }) => state)).toEqual(['rejected'])
  })

  test('rejects when the task is gone before it ends', async () => {
    const { sent, tasks } = await working()
    tasks.destroy()
    expect(await rejection(sent)).toMatchObject({ code: 'MANAGER_DESTROYED' })
  })

  test('rejects when the task cannot even be made to fail', async () => {
    const clock = new ManualClock()
    let isBroken = false
    const broken = {
      now: () => (isBroken ? NaN : clock.now()),
      schedule: clock.schedule.bind(clock),
    }
    const tasks = new TaskManager({ clock: broken })
    const { manager } = setup(
      () => {
        isBroken = true
        return 'ok'
      },
      { tasks },
    )
    expect(await rejection(manager.sendMessage('go'))).toBeInstanceOf(RangeError)
  })

  test('returns independent copies', async () => {
    const { manager } = setup(() => 'ok')
    const sent = await manager.sendMessage('go')
    const got = await manager.getTask(sent.id)
    expect(got).toEqual(sent)
    sent.messages.length = 0
    if (got !== null) got.state = 'failed'
    expect(await manager.getTask(sent.id)).toMatchObject({ state: 'completed', messages: [{}, {}] })
  })
})

describe('getTask', () => {
  test('finds a working task', async () => {
    const { manager, context, finish, sent } = await working()
    expect(await manager.getTask(context.taskId)).toMatchObject({ state: 'working', message: 'Processing' })
    finish('ok')
    expect(await manager.getTask((await sent).id)).toEqual(await sent)
  })

  test('returns null for an unknown task', async () => {
    expect(await setup(() => 'ok').manager.getTask('task_0123456789ab')).toBeNull()
  })
})

describe('the room for tasks', () => {
  test('is for 10 000; those that have ended give way', async () => {
    const manager = new LocalTaskManager((_, { taskId }) => {
      first ??= taskId
      return new Promise<string>(() => {})
    })
    let first: string | undefined
    for (let count = 0; count < 10_000; count += 1) void manager.sendMessage('go')
    expect(await rejection(manager.sendMessage('more'))).toMatchObject({
      code: 'TASK_LIMIT_REACHED',
      data: { maxTasks: 10_000 },
    })
    expect(await manager.cancelTask(first ?? '')).toBe(true)
    const more = manager.sendMessage('more')
    expect(await manager.getTask(first ?? '')).toBeNull()
    expect(await Promise.race([more, Promise.resolve('still working')])).toBe('still working')
  }, 30_000)

  test('is never made by dropping a task that is worked on', async () => {
    const tasks = new TaskManager({ maxTasks: 2, whenFull: 'evict-terminal' })
    const done = gate()
    const { manager } = setup((text) => (text === 'long' ? done.opened.then(() => 'ok') : 'ok'), { tasks })
    const long = manager.sendMessage('long')
    const first = await manager.sendMessage('short')
    const second = await manager.sendMessage('short')
    expect(await manager.getTask(first.id)).toBeNull()
    expect(await manager.getTask(second.id)).not.toBeNull()
    const other = manager.sendMessage('long')
    expect(await rejection(manager.sendMessage('short'))).toMatchObject({ code: 'TASK_LIMIT_REACHED' })
    done.open()
    expect([await long, await other]).toMatchObject([{ state: 'completed' }, { state: 'completed' }])
  })
})

test.each<[option: string, make: () => LocalTaskManager]>([
  ['processFn', () => new LocalTaskManager('ok' as unknown as ProcessFn)],
  [
    'describeError',
    () => new LocalTaskManager(() => 'ok', { describeError: 'x' as unknown as () => string }),
  ],
  ['onError', () => new LocalTaskManager(() => 'ok', { onError: 'x' as unknown as () => void })],
  ['tasks', () => new LocalTaskManager(() => 'ok', { tasks: {} as unknown as TaskManager })],
  ['graceMs', () => new LocalTaskManager(() => 'ok', { graceMs: 0 })],
  ['maxTasks', () => new LocalTaskManager(() => 'ok', { maxTasks: 0 })],
  ['maxTask', () => new LocalTaskManager(() => 'ok', { maxTask: 1 } as object)],
])('an option %s that is invalid is refused by its name', (option, make) => {
  expect(make).toThrow(`"${option}"`)
})

async function* chunks(...texts: string[]): AsyncGenerator<string, undefined> {
  for (const text of texts) yield await Promise.resolve(text)
}

async function* breaking(...texts: string[]): AsyncGenerator<string, undefined> {
  yield* chunks(...texts)
  throw new Error('secret')
}
