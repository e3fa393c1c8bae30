import { describe, expect, test, vi } from 'vitest'
import { TaskManager, defineLifecycle } from 'a2a-tasks'
import { setup, thrown, walk } from '../support/manager.js'

const create = (tasks: TaskManager): string => tasks.createTask({ skill: 'test' }).id

describe('expiry', () => {
  test('removes tasks of any state at the next create, once they are older than expiryMs', () => {
    const { tasks, clock, id } = setup({ expiryMs: 100 })
    const working = create(tasks)
    walk(tasks, working, 'working')
    clock.advance(100)
    const young = create(tasks)
    expect(tasks.size()).toBe(3)
    clock.advance(1)
    expect(tasks.getTask(id)).not.toBeNull()
    create(tasks)
    expect([id, working, young].map((each) => tasks.getTask(each) !== null)).toEqual([false, false, true])
  })

  test('is announced with the task as it was', () => {
    const { tasks, clock, id } = setup({ expiryMs: 100 })
    const expired = vi.fn()
    tasks.on('task:expired', expired)
    const last = tasks.updateTask(id, { state: 'working' })
    clock.advance(101)
    expect(tasks.prune()).toBe(1)
    expect(expired.mock.calls).toEqual([[last]])
    expect(tasks.prune()).toBe(0)
  })

  test('happens on a timer with pruneIntervalMs, as long as there are tasks', () => {
    const { tasks, clock } = setup({ expiryMs: 100, pruneIntervalMs: 50 })
    clock.advance(149)
    expect(tasks.size()).toBe(1)
    clock.advance(1)
    expect(tasks.size()).toBe(0)
    expect(clock.pending).toBe(0)
    create(tasks)
    expect(clock.pending).toBe(1)
  })

  test('makes room before the limit is looked at', () => {
    const { tasks, clock } = setup({ expiryMs: 100, maxTasks: 1 })
    clock.advance(101)
    expect(() => create(tasks)).not.toThrow()
  })

  test('lets listeners use the room it makes', () => {
    const { tasks, clock } = setup({ expiryMs: 100, maxTasks: 2 })
    tasks.once('task:expired', () => create(tasks))
    clock.advance(101)
    create(tasks)
    expect(tasks.size()).toBe(2)
  })

  test('is not fooled by a clock that steps back', () => {
    const { tasks, clock, id } = setup({ expiryMs: 100 })
    clock.advance(1_000)
    const late = create(tasks)
    clock.set(clock.now() - 900)
    const later = tasks.createTask({ skill: 'test' })
    expect(tasks.getTask(id)).toBeNull()
    expect(later.createdAt).toBe(tasks.getTask(late)?.createdAt)
    clock.advance(1_001)
    expect(tasks.prune()).toBe(2)
  })

  test('can be turned off', () => {
    const { tasks, clock } = setup({ expiryMs: Infinity })
    clock.advance(1e12)
    expect(tasks.prune()).toBe(0)
  })
})

describe('taskTimeoutMs', () => {
  test('fails live tasks so long after their creation, waiting ones included', () => {
    const { tasks, clock, id } = setup({ taskTimeoutMs: 100 })
    const done = create(tasks)
    walk(tasks, id, 'working', 'input-required')
    walk(tasks, done, 'working', 'completed')
    clock.advance(60)
    const younger = create(tasks)
    clock.advance(40)
    expect(tasks.getTask(id)).toMatchObject({ state: 'failed', message: 'Task timed out' })
    expect(tasks.getTask(done)?.state).toBe('completed')
    expect(tasks.getTask(younger)?.state).toBe('submitted')
    clock.advance(60)
    expect(tasks.getTask(younger)?.state).toBe('failed')
    expect(clock.pending).toBe(0)
  })

  test('is emitted like any other change', () => {
    const { tasks, clock, id } = setup({ taskTimeoutMs: 100 })
    const changes = vi.fn()
    tasks.on('task:stateChange', changes)
    clock.advance(100)
    const change = { taskId: id, from: 'submitted', to: 'failed', generation: 2 }
    expect(changes.mock.calls).toEqual([[{ ...change, timestamp: '2026-01-01T00:00:00.100Z' }]])
  })

  test('needs one timer for all tasks', () => {
    const { tasks, clock } = setup({ taskTimeoutMs: 100, pruneIntervalMs: 70 })
    for (let i = 0; i < 50; i++) create(tasks)
    expect(clock.pending).toBe(1)
    tasks.destroy()
    expect(clock.pending).toBe(0)
  })

  test('comes when its time has passed, though the clock was set back', () => {
    const { tasks, clock, id } = setup({ taskTimeoutMs: 100 })
    clock.advance(40)
    clock.set(clock.now() - 3_600_000)
    const waiting = tasks.createTask({ skill: 'test' }).id
    clock.advance(60)
    expect([tasks.getTask(id)?.state, tasks.getTask(waiting)?.state]).toEqual(['failed', 'submitted'])
    clock.advance(40)
    expect(tasks.getTask(waiting)?.state).toBe('failed')
  })

  test('needs a lifecycle that can fail from every live state', () => {
    const lifecycle = defineLifecycle({ open: ['closed'], closed: [] })
    expect(() => new TaskManager({ lifecycle, taskTimeoutMs: 1 })).toThrow(
      'needs a step from "open" to "failed"',
    )
    expect(() => new TaskManager({ lifecycle })).not.toThrow()
  })
})

describe('maxTasks', () => {
  test('refuses one task too many', () => {
    const { tasks } = setup({ maxTasks: 2 })
    create(tasks)
    expect(thrown(() => create(tasks))).toMatchObject({
      code: 'TASK_LIMIT_REACHED',
      message: 'Maximum task limit reached: 2',
      data: { maxTasks: 2 },
    })
  })

  test('with evict-terminal drops the tasks that ended first, a tenth at a time, and never a live task', () => {
    const { tasks } = setup({ maxTasks: 40, whenFull: 'evict-terminal' })
    const evicted: string[] = []
    tasks.on('task:evicted', ({ id }) => evicted.push(id))
    const ids = Array.from({ length: 39 }, () => create(tasks))
    for (const id of ids.slice(0, 10).reverse()) walk(tasks, id, 'rejected')
    create(tasks)
    expect(evicted).toEqual(ids.slice(6, 10).reverse())
    expect(tasks.size()).toBe(37)
    expect(tasks.getTask('task-1')).not.toBeNull()
  })

  test('evicts 100 at most, and at least one', () => {
    for (const [maxTasks, count] of [
      [5_000, 100],
      [3, 1],
    ] as const) {
      const tasks = new TaskManager({ maxTasks, whenFull: 'evict-terminal' })
      for (let i = 0; i < maxTasks; i++) walk(tasks, create(tasks), 'rejected')
      create(tasks)
      expect(tasks.size()).toBe(maxTasks - count + 1)
    }
  })

  test('refuses when no task has ended', () => {
    const { tasks } = setup({ maxTasks: 1, whenFull: 'evict-terminal' })
    expect(() => create(tasks)).toThrow('Maximum task limit reached: 1')
    tasks.cancelTask('task-1')
    expect(() => create(tasks)).not.toThrow()
  })
})

describe('destroy', () => {
  test('drops tasks, listeners and timers, and leaves a manager that can be used again', () => {
    const { tasks, clock, id } = setup({ taskTimeoutMs: 100, pruneIntervalMs: 10 })
    const listener = vi.fn()
    tasks.on('task:created', listener)
    tasks.destroy()
    expect([tasks.size(), tasks.getTask(id), tasks.listTasks(), clock.pending]).toEqual([0, null, [], 0])
    create(tasks)
    expect(listener).not.toHaveBeenCalled()
    expect([tasks.size(), clock.pending]).toEqual([1, 1])
  })
})

describe('the options', () => {
  const numbers = ['maxTasks', 'expiryMs', 'maxInputSize', 'taskTimeoutMs', 'pruneIntervalMs', 'eventLogSize']
  const limits = [
    'maxOutputSize',
    'maxArtifactsSize',
    'maxArtifacts',
    'maxMessagesSize',
    'maxMessages',
    'maxDepth',
    'maxTotalBytes',
  ]

  test.each(numbers)('"%s" must be positive', (option) => {
    for (const value of [0, -1, NaN, -Infinity, '5', {}]) {
      const error = typeof value === 'number' ? RangeError : TypeError
      expect(() => new TaskManager({ [option]: value })).toThrow(error)
      expect(() => new TaskManager({ [option]: value })).toThrow(`"${option}" must be a positive`)
    }
    for (const value of [undefined, null, 1, 1e9])
      expect(() => new TaskManager({ [option]: value })).not.toThrow()
  })

  test.each(limits)('"limits.%s" must be positive', (option) => {
    for (const value of [0, -1, NaN, 1.5, '5']) {
      const error = typeof value === 'number' ? RangeError : TypeError
      expect(() => new TaskManager({ limits: { [option]: value } })).toThrow(error)
      expect(() => new TaskManager({ limits: { [option]: value } })).toThrow(`"limits.${option}" must be`)
    }
    expect(() => new TaskManager({ limits: { [option]: 1 } })).not.toThrow()
  })

  test('counts must be whole, and nesting must fit the stack', () => {
    expect(() => new TaskManager({ maxTasks: 1.5 })).toThrow(
      '"maxTasks" must be a positive integer or Infinity',
    )
    expect(() => new TaskManager({ maxTasks: Infinity })).not.toThrow()
    expect(() => new TaskManager({ limits: { maxDepth: 1_001 } })).toThrow(
      'an integer from 1 to 1000, got 1001',
    )
  })

  test.each([
    [{ maxTask: 5 }, 'Unknown option "maxTask" of TaskManager, did you mean "maxTasks"?; known are maxTasks'],
    [{ limits: { depth: 5 } }, 'Unknown option "limits.depth" of TaskManager; known are maxOutputSize'],
    [{ whenFull: 'drop' }, `"whenFull" must be one of "reject", "evict-terminal", "evict", got "drop"`],
    [5, 'The options of TaskManager must be an object, got a number'],
    [[], 'The options of TaskManager must be an object, got an array'],
    [{ limits: 5 }, '"limits" must be an object, got a number'],
    [{ lifecycle: {} }, '"lifecycle" must be made by defineLifecycle()'],
    [{ lifecycle: { submitted: ['done'], done: [] } }, '"lifecycle" must be made by defineLifecycle()'],
    [{ clock: {} }, '"clock" must have the methods now and schedule'],
    [{ generateId: 'x' }, '"generateId" must be a function'],
  ])('%j is refused', (options, message) => {
    expect(() => new TaskManager(options as never)).toThrow(TypeError)
    expect(() => new TaskManager(options as never)).toThrow(message)
  })

  test('may be left out, or null', () => {
    expect(new TaskManager().size()).toBe(0)
    expect(new TaskManager(null).size()).toBe(0)
  })
})
