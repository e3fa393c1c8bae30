import { A2AError, TaskManager } from 'a2a-tasks'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { rejection, setup, textsOf, working } from './support/local.js'
import { gate } from '../../server/spec/support/agent.js'

describe('cancelTask', () => {
  test('returns false for an unknown task, and for one that has ended', async () => {
    const { manager } = setup(() => 'ok')
    expect(await manager.cancelTask('no-such-task')).toBe(false)
    const task = await manager.sendMessage('go')
    expect(await manager.cancelTask(task.id)).toBe(false)
    expect(await manager.getTask(task.id)).toEqual(task)
  })

  test('ends the work: the signal aborts, and sendMessage answers with the canceled task', async () => {
    const { manager, sent, context, errors } = await working()
    expect(await manager.cancelTask(context.taskId)).toBe(true)
    expect(context.signal.reason).toMatchObject({ code: 'TASK_CANCELED' })
    expect(await sent).toMatchObject({ state: 'canceled', message: 'Canceled by request' })
    expect(await manager.cancelTask(context.taskId)).toBe(false)
    await manager.shutdown()
    expect(errors).toEqual([])
  })

  test('drops later results', async () => {
    const { manager, sent, context, finish, errors } = await working({ heeds: false })
    await manager.cancelTask(context.taskId)
    await sent
    finish('too late')
    await manager.shutdown()
    const task = await manager.getTask(context.taskId)
    expect(task).toMatchObject({ state: 'canceled', message: 'Canceled by request' })
    expect(textsOf(task)).toEqual(['user: go'])
    expect(errors).toEqual([])
  })

  test('is not held up by work that never ends', async () => {
    const { manager, sent, context } = await working({ heeds: false })
    await manager.cancelTask(context.taskId)
    expect(await sent).toMatchObject({ state: 'canceled' })
  })

  test.each<[name: string, thrown: (signal: AbortSignal) => unknown, count: number]>([
    ['the reason of its signal is nothing to tell', (signal) => signal.reason as unknown, 0],
    ['an AbortError neither', () => new DOMException('aborted', 'AbortError'), 0],
    ['anything else is', () => new Error('bug'), 1],
  ])('of what canceled work throws, %s', async (_, thrown, count) => {
    const began = gate<string>()
    const { manager, errors } = setup(async (text, { signal, taskId }) => {
      began.open(taskId)
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw thrown(signal)
    })
    const sent = manager.sendMessage('go')
    await manager.cancelTask(await began.opened)
    expect(await sent).toMatchObject({ state: 'canceled' })
    await manager.shutdown()
    expect(errors).toHaveLength(count)
  })

  test('leaves the chunks that are still to come', async () => {
    const began = gate<string>()
    const next = gate()
    let isLeft = false
    let isExhausted = false
    const { manager } = setup(async function* (_, { taskId }) {
      try {
        yield 'a'
        began.open(taskId)
        await next.opened
        yield 'b'
        isExhausted = true
        yield 'c'
      } finally {
        isLeft = true
      }
    })
    const sent = manager.sendMessage('go')
    await manager.cancelTask(await began.opened)
    next.open()
    expect(textsOf(await sent)).toEqual(['user: go'])
    await manager.shutdown()
    expect({ isLeft, isExhausted }).toEqual({ isLeft: true, isExhausted: false })
  })

  test('may come before the work has begun', async () => {
    let count = 0
    const { manager, tasks } = setup(() => String(++count))
    const sent = manager.sendMessage('go')
    const [task] = tasks.listTasks()
    expect(await manager.cancelTask(task?.id ?? '')).toBe(true)
    expect(await sent).toMatchObject({ state: 'canceled' })
    await manager.shutdown()
    expect(count).toBe(0)
  })

  test('may come from a listener of the task', async () => {
    const { manager, tasks } = setup(() => 'ok')
    tasks.on('task:created', ({ id }) => tasks.cancelTask(id))
    expect(await manager.sendMessage('go')).toMatchObject({ state: 'canceled' })
  })

  test('also ends work when the shared tasks cancel it', async () => {
    const { sent, tasks, context } = await working()
    tasks.cancelTask(context.taskId, { message: 'Not wanted' })
    expect(await sent).toMatchObject({ state: 'canceled', message: 'Not wanted' })
  })
})

describe('waitForCompletion', () => {
  test('resolves with the task as soon as it ends, for all callers', async () => {
    const { manager, context, finish, sent } = await working()
    const waits = [manager.waitForCompletion(context.taskId), manager.waitForCompletion(context.taskId)]
    finish('ok')
    const [first, second] = await Promise.all(waits)
    expect(first).toMatchObject({ state: 'completed' })
    expect(second).toEqual(first)
    expect(second).not.toBe(first)
    expect(await manager.waitForCompletion(context.taskId)).toEqual(await sent)
  })

  test('has the task as it is after a minute, by the clock of the manager', async () => {
    const { manager, context, clock } = await working()
    let isOver = false
    const waited = manager.waitForCompletion(context.taskId).finally(() => (isOver = true))
    clock.advance(59_999)
    await Promise.resolve()
    expect(isOver).toBe(false)
    clock.advance(1)
    expect(await waited).toMatchObject({ state: 'working' })
  })

  test('waits as long as the option says, and not at all for 0', async () => {
    const { manager, context, clock } = await working()
    const waited = manager.waitForCompletion(context.taskId, { timeoutMs: 10 })
    clock.advance(10)
    expect(await waited).toMatchObject({ state: 'working' })
    expect(await manager.waitForCompletion(context.taskId, { timeoutMs: 0 })).toMatchObject({
      state: 'working',
    })
    expect(clock.pending).toBe(0)
  })

  test('resolves with null at once for an unknown task, and when the task is removed', async () => {
    const { manager, context, tasks, clock, sent } = await working()
    expect(await manager.waitForCompletion('no-such-task')).toBeNull()
    const waited = manager.waitForCompletion(context.taskId)
    tasks.destroy()
    expect(await waited).toBeNull()
    await rejection(sent)
    expect(clock.pending).toBe(0)
  })

  test('gives up with its signal, and not with the task', async () => {
    const { manager, context, finish, sent } = await working()
    const controller = new AbortController()
    const waited = manager.waitForCompletion(context.taskId, { signal: controller.signal })
    controller.abort()
    expect(await rejection(waited)).toMatchObject({ code: 'WAIT_ABORTED' })
    finish('ok')
    expect(await sent).toMatchObject({ state: 'completed' })
  })

  test.each([-1, NaN, '1'])('refuses to wait for %s ms', async (timeoutMs) => {
    const { manager, context } = await working()
    const options = { timeoutMs: timeoutMs as number }
    expect(await rejection(manager.waitForCompletion(context.taskId, options))).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path: 'timeoutMs' },
    })
  })
})

describe('shutdown', () => {
  test('cancels working tasks, and waits for the work to end', async () => {
    const { manager, sent, context, clock } = await working()
    await manager.shutdown()
    expect(context.signal.aborted).toBe(true)
    expect(await sent).toMatchObject({
      state: 'canceled',
      message: 'The agent was shut down before this task was finished',
    })
    expect(clock.pending).toBe(0)
  })

  test('waits for work that takes its time to end', async () => {
    const { manager, finish } = await working({ heeds: false })
    let isOver = false
    const over = manager.shutdown().finally(() => (isOver = true))
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    finish('late')
    await over
  })

  test.each([
    [undefined, 10_000],
    [50, 50],
  ])('with graceMs %s it leaves work that never ends after %i ms', async (graceMs, after) => {
    const { manager, sent, clock } = await working({ heeds: false, graceMs })
    let isOver = false
    const over = manager.shutdown().finally(() => (isOver = true))
    clock.advance(after - 1)
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    clock.advance(1)
    await over
    expect(await sent).toMatchObject({ state: 'canceled' })
  })

  test('waits as long as the option says', async () => {
    const { manager, clock } = await working({ heeds: false, graceMs: 1_500 })
    let isOver = false
    const over = manager.shutdown({ graceMs: 20 }).finally(() => (isOver = true))
    clock.advance(19)
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    clock.advance(1)
    await over
    const atOnce = manager.shutdown({ graceMs: 0 })
    clock.advance(0)
    await atOnce
  })

  test.each([-1, NaN, '1', 2 ** 31])('refuses to wait for %s ms', async (graceMs) => {
    const { manager } = setup(() => 'ok')
    const error = typeof graceMs === 'number' ? RangeError : TypeError
    expect(await rejection(manager.shutdown({ graceMs: graceMs as number }))).toBeInstanceOf(error)
    expect(await manager.sendMessage('go')).toMatchObject({ state: 'completed' })
  })

  test('takes no more work, but still has its tasks', async () => {
    const { manager, tasks } = setup(() => 'ok')
    const task = await manager.sendMessage('go')
    await manager.shutdown()
    await manager.shutdown()
    expect(await rejection(manager.sendMessage('more'))).toMatchObject({
      code: 'UNAVAILABLE',
      data: { reason: 'is shutting down' },
    })
    expect(tasks.size()).toBe(1)
    expect(await manager.getTask(task.id)).toEqual(task)
    expect(await manager.waitForCompletion(task.id)).toEqual(task)
    expect(await manager.cancelTask(task.id)).toBe(false)
  })

  test('may come from the work itself', async () => {
    const { manager } = setup(async (_, { signal }) => {
      const over = manager.shutdown()
      signal.throwIfAborted()
      await over
      return 'ok'
    })
    expect(await manager.sendMessage('go')).toMatchObject({ state: 'canceled' })
  })

  test('ends a task that is just being made', async () => {
    let count = 0
    const { manager, tasks } = setup(() => String(++count))
    tasks.on('task:created', () => void manager.shutdown())
    expect(await manager.sendMessage('go')).toMatchObject({ state: 'canceled' })
    expect(count).toBe(0)
  })
})

test('a task that outlives its timeout fails, and its work is aborted', async () => {
  const clock = new ManualClock()
  const tasks = new TaskManager({ clock, taskTimeoutMs: 100 })
  const { sent, context } = await working({ tasks })
  clock.advance(100)
  expect(await sent).toMatchObject({ state: 'failed', message: 'Task timed out' })
  expect(context.signal.reason).toSatisfy((reason) => A2AError.is(reason, 'TASK_TIMED_OUT'))
})
