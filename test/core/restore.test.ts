import { describe, expect, test, vi } from 'vitest'
import { TaskManager, type TaskSnapshot } from 'a2a-tasks'
import { ManualClock } from 'a2a-tasks/testing'
import { collect, setup, thrown, walk } from '../support/manager.js'

function saved(): TaskSnapshot[] {
  const { tasks, clock, id } = setup()
  clock.advance(1)
  tasks.createTask({ skill: 'second', owner: 'ada', referenceTaskIds: [id], metadata: { a: 1 } })
  clock.advance(1)
  walk(tasks, id, 'working')
  tasks.updateTask(id, {
    message: { role: 'agent', parts: [{ text: 'Hm' }] },
    artifacts: [{ artifactId: 'a', parts: [] }],
  })
  tasks.addMessage(id, { role: 'user', parts: [{ text: 'Hi' }] })
  // Through JSON, as a database would.
  return JSON.parse(JSON.stringify(tasks.snapshot())) as TaskSnapshot[]
}

function later(): ManualClock {
  return new ManualClock('2026-01-02T00:00:00Z')
}

describe('snapshot and restore', () => {
  test('preserve every task unchanged', () => {
    const tasks = new TaskManager({ clock: later() })
    const before = saved()
    const listener = vi.fn()
    tasks.on('task:event', listener).on('task:created', listener)
    tasks.restore(before)
    expect(tasks.snapshot()).toEqual(before)
    expect(listener).not.toHaveBeenCalled()
  })

  test('carry over signals that were not received, and why a task has failed', () => {
    const { tasks: before, id } = setup()
    before.signal(id, 'paid', { amount: 40 })
    before.signal(id, 'paid')
    const error = { name: 'RangeError', message: 'Too far' }
    before.recordJournal(id, [{ kind: 'failure', reason: 'error', count: 2, error }])
    const snapshot = before.snapshot()
    const tasks = new TaskManager({ clock: later() })
    tasks.restore(JSON.parse(JSON.stringify(snapshot)) as TaskSnapshot[])
    expect(tasks.snapshot()).toEqual(snapshot)
    expect(tasks.receive(id, 'paid#1')).toEqual({ amount: 40 })
    const [task] = snapshot
    const restore = (fields: object) => () =>
      tasks.restore([{ ...task, id: 'other', ...fields } as TaskSnapshot])
    expect(restore({ signals: [{ name: 1, value: 1 }] })).toThrow('tasks[0].signals[0].name')
    expect(restore({ signals: {} })).toThrow('tasks[0].signals')
    expect(restore({ failure: 'error' })).toThrow('tasks[0].failure')
    expect(restore({ failure: { reason: 'error' } })).toThrow('tasks[0].failure.count')
  })

  test('continue with the generation, and answer older cursors with a resync', async () => {
    const tasks = new TaskManager({ clock: later() })
    tasks.restore(saved())
    expect(tasks.events('task-1', { after: 2 })).toMatchObject([{ type: 'resync', generation: 5 }])
    expect(tasks.events('task-2')).toMatchObject([{ type: 'resync', generation: 1, task: { owner: 'ada' } }])
    const reading = collect(tasks.subscribe('task-1', { after: 5 }))
    walk(tasks, 'task-1', 'completed')
    expect((await reading).map(({ type, generation }) => [type, generation])).toEqual([['status', 6]])
  })

  test('put restored tasks in their place by age and by latest change', () => {
    const clock = new ManualClock()
    const tasks = new TaskManager({ clock, expiryMs: 1_000 })
    clock.advance(500)
    tasks.createTask({ skill: 'test', id: 'new' })
    tasks.restore(saved())
    expect(tasks.listTasks().map(({ id }) => id)).toEqual(['task-1', 'task-2', 'new'])
    expect(tasks.pageTasks().tasks.map(({ id }) => id)).toEqual(['new', 'task-1', 'task-2'])
    clock.advance(502)
    expect(tasks.prune()).toBe(2)
    expect(tasks.listTasks().map(({ id }) => id)).toEqual(['new'])
  })

  test('let timeouts run from the creation, for tasks that have not ended', () => {
    const clock = new ManualClock()
    const tasks = new TaskManager({ clock, taskTimeoutMs: 100 })
    clock.advance(200)
    const [first, second] = saved()
    if (first === undefined || second === undefined) throw new Error('two tasks were saved')
    const timestamp = first.updatedAt
    tasks.restore([
      { ...first, state: 'completed', history: [...first.history, { state: 'completed', timestamp }] },
      second,
    ])
    clock.advance(1)
    expect(tasks.listTasks().map(({ state }) => state)).toEqual(['completed', 'failed'])
  })

  test('take tasks that were saved by the TaskManager module', () => {
    const timestamp = '2025-06-01T12:00:00.000Z'
    const old = {
      id: 'old',
      skill: 'test',
      state: 'working' as const,
      input: null,
      output: null,
      artifacts: [],
      metadata: {},
      history: [
        { state: 'submitted' as const, timestamp },
        { state: 'working' as const, timestamp },
      ],
      createdAt: timestamp,
      updatedAt: timestamp,
    }
    const tasks = new TaskManager({ expiryMs: Infinity })
    tasks.restore([old])
    expect(tasks.getTask('old')).toEqual({ ...old, contextId: 'old', messages: [], generation: 2 })
  })

  test('treat a task from the future as created now', () => {
    const clock = new ManualClock()
    const tasks = new TaskManager({ clock, expiryMs: 100 })
    tasks.restore(saved().map((task) => ({ ...task, createdAt: '2099-01-01T00:00:00.000Z' })))
    tasks.createTask({ skill: 'test' })
    clock.advance(101)
    expect(tasks.prune()).toBe(3)
  })

  test('refuse all when one is wrong', () => {
    const [task] = saved()
    const wrong = (change: object): unknown => ({ ...task, id: 'other', ...change })
    for (const [change, message] of [
      [{ id: 'task-1' }, 'tasks[1].id is taken: task-1'],
      [{ ouput: 1 }, 'tasks[1].ouput is unknown, did you mean "output"?; known are id'],
      [{ state: 'completed' }, "tasks[1].history must end with completed, the task's state, not working"],
      [
        {
          history: [
            { state: 'completed', timestamp: '2026-01-01' },
            { state: 'working', timestamp: '2026-01-01' },
          ],
        },
        'tasks[1].history[0].state must be submitted, in which tasks begin',
      ],
      [
        { history: [{ state: 'working', timestamp: 7 }] },
        'tasks[1].history[0].timestamp must be an ISO 8601 timestamp, got 7',
      ],
      [{ generation: 1 }, 'tasks[1].generation must be from 2, the number of states it went through'],
      [{ generation: Number.MAX_SAFE_INTEGER }, 'tasks[1].generation must be from 2'],
      [{ artifacts: [{ artifactId: 5 }] }, 'tasks[1].artifacts[0].artifactId must be a string, got a number'],
      [{ artifacts: [{ parts: {} }] }, 'tasks[1].artifacts[0].parts must be an array, got an object'],
      [
        { artifacts: [{ artifactId: 'a' }, { artifactId: 'a' }] },
        'tasks[1].artifacts[1].artifactId is that of another',
      ],
      [{ messages: [{ foo: 1 }] }, 'tasks[1].messages[0].messageId must be a string'],
      [{ id: undefined }, 'tasks[1].id must be a string'],
      [{ state: 'done' }, 'tasks[1].state must be one of submitted'],
      [{ skill: '' }, 'tasks[1].skill must not be empty'],
      [{ createdAt: 'x' }, 'tasks[1].createdAt must be an ISO 8601 timestamp'],
      [{ createdAt: undefined }, 'tasks[1].createdAt must be'],
      [{ messages: {} }, 'tasks[1].messages must be an array, got an object'],
      [{ artifacts: [1] }, 'tasks[1].artifacts[0] must be an object, got a number'],
      [{ metadata: [] }, 'tasks[1].metadata must be an object, got an array'],
      [{ generation: -1 }, 'tasks[1].generation must be a generation'],
      [{ history: [{ state: 'x' }] }, 'tasks[1].history[0].state must be one of'],
      [{ input: 1n }, 'tasks[1].input must be JSON, got a BigInt'],
    ] as const) {
      const tasks = new TaskManager()
      const error = thrown(() => tasks.restore([task, wrong(change)] as never))
      expect(error).toMatchObject({ code: 'INVALID_PARAMS' })
      expect(String(error)).toContain(message)
      expect(tasks.size()).toBe(0)
    }
  })

  test.each([undefined, null, '[]', {}])('refuse %j', (tasks) => {
    expect(() => new TaskManager().restore(tasks as never)).toThrow('tasks must be an array of tasks, got')
  })

  test('accept all tasks that a manager accepts, to the limit of depth', () => {
    for (const maxDepth of [1, 3, 100]) {
      const { tasks, id } = setup({ limits: { maxDepth } })
      const deep = (depth: number): unknown => (depth === 0 ? 'core' : [deep(depth - 1)])
      tasks.updateTask(id, { output: deep(maxDepth) })
      if (maxDepth > 1) tasks.updateTask(id, { artifacts: [{ deep: deep(maxDepth - 1) }] })
      if (maxDepth > 2) tasks.addMessage(id, { role: 'user', parts: [{ data: deep(maxDepth - 3) }] })
      const restored = new TaskManager({ clock: later(), limits: { maxDepth } })
      restored.restore(JSON.parse(JSON.stringify(tasks.snapshot())) as TaskSnapshot[])
      expect(restored.snapshot()).toEqual(tasks.snapshot())
    }
  })

  test('treat times ahead of the clock as now', () => {
    const restored = new TaskManager({ clock: new ManualClock('2025-01-01T00:00:00Z') })
    restored.restore(saved())
    const task = restored.updateTask('task-1', { state: 'completed' })
    const times = [task.createdAt, ...task.history.map(({ timestamp }) => timestamp), task.updatedAt]
    expect(new Set(times)).toEqual(new Set(['2025-01-01T00:00:00.000Z']))
  })

  test('remember that a task was canceled', () => {
    const { tasks, id } = setup()
    tasks.cancelTask(id)
    const restored = new TaskManager({ clock: later() })
    restored.restore(tasks.snapshot())
    expect(restored.signalOf(id).reason).toMatchObject({ code: 'TASK_CANCELED' })
  })

  test('keep the cursors of pages, and find tasks by time in any order', () => {
    const { tasks, clock } = setup()
    for (let i = 2; i <= 6; i++) {
      clock.advance(1)
      tasks.createTask({ skill: 'test' })
    }
    const first = tasks.pageTasks({ pageSize: 2 })
    clock.advance(1_000)
    const timestamp = '2026-01-01T00:00:00.500Z' // later than the changes of the others
    tasks.restore([{ id: 'old', skill: 'test', state: 'working', createdAt: timestamp }])
    const second = tasks.pageTasks({ cursor: first.nextCursor })
    expect(second.tasks.map(({ id }) => id)).toEqual(['task-4', 'task-3', 'task-2', 'task-1'])
    expect(tasks.pageTasks({ pageSize: 2 }).tasks.map(({ id }) => id)).toEqual(['old', 'task-6'])
    expect(tasks.pageTasks({ updatedSince: timestamp }).tasks.map(({ id }) => id)).toEqual(['old'])
  })

  test('remove what has expired before they ask for room', () => {
    const { tasks, clock } = setup({ maxTasks: 2, expiryMs: 100 })
    clock.advance(101)
    const createdAt = new Date(clock.now()).toISOString()
    tasks.restore(['a', 'b'].map((id) => ({ id, skill: 'test', state: 'submitted' as const, createdAt })))
    expect(tasks.listTasks().map(({ id }) => id)).toEqual(['a', 'b'])
  })

  test('refuse more tasks than fit', () => {
    const tasks = new TaskManager({ maxTasks: 1 })
    expect(() => tasks.restore(saved())).toThrow('Maximum task limit reached: 1')
    expect(tasks.size()).toBe(0)
  })
})
