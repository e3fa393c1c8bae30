import { describe, expect, test } from 'vitest'
import { defineLifecycle, TaskManager, type TaskQuery, restoreTasks, saveTasks } from 'a2a-tasks'
import { setup, thrown, walk } from '../support/manager.js'

/** Ten tasks, each a millisecond younger than the last: odd ones of ada, even ones of bob; every third is working. */
function ten(): ReturnType<typeof setup> & { ids: string[] } {
  const made = setup()
  made.tasks.destroy()
  const ids: string[] = []
  for (let i = 1; i <= 10; i++) {
    made.clock.advance(1)
    const owner = i % 2 === 1 ? 'ada' : 'bob'
    ids.push(
      made.tasks.createTask({ skill: 'test', id: `t${i}`, owner, contextId: i <= 5 ? 'one' : 'two' }).id,
    )
    if (i % 3 === 0) walk(made.tasks, `t${i}`, 'working')
  }
  return { ...made, ids }
}

function pages(tasks: TaskManager, query: TaskQuery): string[][] {
  const read: string[][] = []
  for (let cursor: string | undefined; ;) {
    const page = tasks.pageTasks({ ...query, cursor })
    read.push(page.tasks.map(({ id }) => id))
    if (page.nextCursor === undefined) return read
    cursor = page.nextCursor
  }
}

describe('listTasks', () => {
  test('lists oldest first, by any of its properties, all of which have to hold', () => {
    const { tasks, ids } = ten()
    const list = (filter: object): string[] => tasks.listTasks(filter).map(({ id }) => id)
    expect(list({})).toEqual(ids)
    expect(list({ state: 'working' })).toEqual(['t3', 't6', 't9'])
    expect(list({ state: 'working', owner: 'ada' })).toEqual(['t3', 't9'])
    expect(list({ contextId: 'two', owner: 'bob', state: 'submitted' })).toEqual(['t8', 't10'])
    expect(list({ skill: 'other' })).toEqual([])
    expect(list({ skill: 'test', state: undefined })).toEqual(ids)
    expect(tasks.listTasks(null)).toHaveLength(10)
  })

  test('takes the spelling of the task-lifecycle document for canceled', () => {
    const { tasks } = ten()
    tasks.cancelTask('t4')
    expect(tasks.listTasks({ state: 'cancelled' }).map(({ id }) => id)).toEqual(['t4'])
    expect(tasks.countTasks({ state: 'cancelled' })).toBe(1)
    expect(pages(tasks, { state: 'cancelled' })).toEqual([['t4']])
    const lifecycle = defineLifecycle({ open: ['canceled', 'cancelled'], canceled: [], cancelled: [] })
    const both = new TaskManager({ lifecycle })
    for (const id of ['canceled', 'cancelled'] as const) {
      both.updateTask(both.createTask({ id, skill: 'test' }).id, { state: id })
      expect(both.listTasks({ state: id })).toMatchObject([{ id }])
    }
    const neither = new TaskManager({ lifecycle: defineLifecycle({ open: ['done'], done: [] }) })
    const error = 'state must be one of open, done, got "cancelled"'
    expect(() => neither.listTasks({ state: 'cancelled' })).toThrow(error)
  })

  test('keeps the order of creation whatever changes', () => {
    const { tasks } = ten()
    walk(tasks, 't9', 'completed')
    walk(tasks, 't3', 'completed')
    expect(tasks.listTasks({ state: 'completed' }).map(({ id }) => id)).toEqual(['t3', 't9'])
  })

  test.each([
    [{ state: 'cancelling' }, 'state must be one of submitted, working'],
    [Promise.resolve({ owner: 'ada' }), 'takes a plain object, got an instance of Promise'],
    [Object.create({ owner: 'ada' }) as object, 'takes a plain object, got an object'],
    [[], 'takes a plain object, got an array'],
    [{ owner: undefined }, 'owner must be a string, got undefined'],
    [{ owner: '' }, 'owner must not be empty'],
    [{ user: 'ada' }, '"user" is unknown; known are state, skill, contextId, owner'],
  ])('refuses the filter %j', (filter, message) => {
    const { tasks } = ten()
    const bad = filter as never
    for (const run of [() => tasks.listTasks(bad), () => tasks.countTasks(bad), () => tasks.pageTasks(bad)]) {
      const error = thrown(run)
      expect(error).toMatchObject({ code: 'INVALID_PARAMS' })
      expect(String(error)).toContain(message)
    }
  })
})

describe('countTasks', () => {
  test('counts what listTasks lists', () => {
    const { tasks } = ten()
    for (const filter of [
      {},
      { state: 'working' },
      { owner: 'bob', contextId: 'two' },
      { skill: 'none' },
      { updatedSince: '2026-01-01T00:00:00.004Z' },
      { updatedSince: '2026-01-01T01:00:00.009+01:00', owner: 'ada' },
      { updatedSince: '2026-01-01T00:00:00.004Z', owner: 'bob', contextId: 'two' },
      { updatedSince: '2027-01-01', state: 'working' },
    ] as const) {
      expect(tasks.countTasks(filter)).toBe(tasks.listTasks(filter).length)
    }
  })

  test('counts the tasks that changed since a time, as pageTasks pages them', () => {
    const { tasks, clock } = ten()
    const updatedSince = '2026-01-01T00:00:00.009Z'
    expect(tasks.countTasks({ updatedSince })).toBe(2)
    clock.advance(10)
    walk(tasks, 't2', 'working')
    expect(tasks.countTasks({ updatedSince })).toBe(3)
    expect(tasks.countTasks({ updatedSince, owner: 'bob' })).toBe(2)
    expect(tasks.countTasks({ updatedSince, state: 'working', owner: 'bob' })).toBe(1)
    expect(tasks.listTasks({ updatedSince }).map(({ id }) => id)).toEqual(['t2', 't9', 't10'])
    // Restored tasks are in the order of their restoration, whenever they have changed.
    const other = new TaskManager()
    restoreTasks(other, saveTasks(tasks))
    expect(other.countTasks({ updatedSince })).toBe(3)
    expect(other.countTasks({ updatedSince, owner: 'bob' })).toBe(2)
    expect(thrown(() => tasks.countTasks({ updatedSince: 'yesterday' }))).toMatchObject({
      code: 'INVALID_PARAMS',
      data: { path: 'updatedSince' },
    })
  })
})

describe('pageTasks', () => {
  test('pages through all tasks, latest change first', () => {
    const { tasks, clock } = ten()
    clock.advance(1)
    walk(tasks, 't1', 'working')
    expect(pages(tasks, { pageSize: 4 })).toEqual([
      ['t1', 't10', 't9', 't8'],
      ['t7', 't6', 't5', 't4'],
      ['t3', 't2'],
    ])
    expect(pages(tasks, {})).toEqual([['t1', 't10', 't9', 't8', 't7', 't6', 't5', 't4', 't3', 't2']])
  })

  test('breaks ties by id, and continues within them', () => {
    const { tasks } = setup()
    const ids = ['b', 'd', 'a', 'c'].map((id) => tasks.createTask({ skill: 'ties', id }).id)
    for (const id of ids) walk(tasks, id, 'working')
    expect(pages(tasks, { pageSize: 3, skill: 'ties' })).toEqual([['d', 'c', 'b'], ['a']])
    expect(tasks.listTasks({ skill: 'ties' }).map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
    const { nextCursor } = tasks.pageTasks({ pageSize: 2, skill: 'ties' })
    const rest = (): string[] =>
      tasks.pageTasks({ cursor: nextCursor, skill: 'ties' }).tasks.map(({ id }) => id)
    expect(rest()).toEqual(['b', 'a'])
    walk(tasks, 'c', 'completed')
    expect(rest()).toEqual(['b', 'a'])
  })

  test('has no empty last page', () => {
    const { tasks } = ten()
    expect(pages(tasks, { pageSize: 5 }).map((page) => page.length)).toEqual([5, 5])
    expect(pages(tasks, { owner: 'ada', state: 'working', pageSize: 1 })).toEqual([['t9'], ['t3']])
    expect(pages(tasks, { owner: 'unknown' })).toEqual([[]])
  })

  test('skips and repeats no other task when one changes between pages', () => {
    const { tasks } = ten()
    const first = tasks.pageTasks({ pageSize: 4 })
    walk(tasks, 't7', 'working') // the task of the cursor moves to the front
    walk(tasks, 't2', 'working')
    const second = tasks.pageTasks({ pageSize: 10, cursor: first.nextCursor })
    expect(second.tasks.map(({ id }) => id)).toEqual(['t6', 't5', 't4', 't3', 't1'])
  })

  test('continues where the task of the cursor is gone', () => {
    const { tasks, clock } = setup({ expiryMs: 100 })
    for (let i = 2; i <= 5; i++) tasks.createTask({ skill: 'test' })
    clock.advance(1)
    walk(tasks, 'task-1', 'working')
    const first = tasks.pageTasks({ pageSize: 1 })
    expect(first.tasks[0]?.id).toBe('task-1')
    clock.advance(101)
    tasks.prune()
    expect(tasks.pageTasks({ cursor: first.nextCursor }).tasks).toEqual([])
  })

  test('gives frozen snapshots, those of peekTask', () => {
    const { tasks } = ten()
    const [task] = tasks.pageTasks().tasks
    expect(task).toBe(tasks.peekTask('t10'))
  })

  test('may begin at a time', () => {
    const { tasks, clock } = ten()
    clock.advance(10)
    walk(tasks, 't2', 'working')
    const since = (updatedSince: string): string[] =>
      tasks.pageTasks({ updatedSince }).tasks.map(({ id }) => id)
    expect(since('2026-01-01T00:00:00.009Z')).toEqual(['t2', 't10', 't9'])
    expect(since('2026-01-01T01:00:00.009+01:00')).toEqual(['t2', 't10', 't9'])
    expect(since('2027-01-01')).toEqual([])
  })

  test.each([
    [{ pageSize: 0 }, 'pageSize must be an integer from 1 to 1000, got 0'],
    [{ pageSize: 1001 }, 'pageSize must be'],
    [{ pageSize: '5' }, 'pageSize must be'],
    [{ cursor: 'x' }, 'cursor must be a nextCursor that pageTasks() returned'],
    [{ cursor: '' }, 'cursor must be a nextCursor'],
    [{ cursor: 7 }, 'cursor must be a string, got a number'],
    [{ updatedSince: 'yesterday' }, 'updatedSince must be an ISO 8601 timestamp'],
    [{ limit: 5 }, '"limit" is unknown'],
  ])('refuses %j', (query, message) => {
    const { tasks } = ten()
    expect(() => tasks.pageTasks(query as never)).toThrow(message)
  })
})

describe('the owner null', () => {
  test('is for tasks that have none, in every query', () => {
    const tasks = new TaskManager()
    const { id } = tasks.createTask({ skill: 'test' })
    tasks.createTask({ skill: 'test', owner: 'ada' })
    const owner = null
    expect(tasks.listTasks({ owner }).map((task) => task.id)).toEqual([id])
    expect(tasks.pageTasks({ owner }).tasks.map((task) => task.id)).toEqual([id])
    expect(tasks.countTasks({ owner })).toBe(1)
    expect(tasks.peekTask(id, { owner })).not.toBeNull()
    expect(tasks.peekTask(id, { owner: 'ada' })).toBeNull()
  })
})

describe('a cursor that the manager did not return', () => {
  test('is refused, also where nothing matches', () => {
    const tasks = new TaskManager()
    expect(thrown(() => tasks.pageTasks({ contextId: 'none', cursor: '?' }))).toMatchObject({
      data: { path: 'cursor' },
    })
  })
})

describe('peekTask with an owner', () => {
  test('returns the tasks of the owner, and no others', () => {
    const tasks = new TaskManager()
    const { id } = tasks.createTask({ skill: 'test', owner: 'ada' })
    const ownerless = tasks.createTask({ skill: 'test' }).id
    expect(tasks.peekTask(id, { owner: 'ada' })).toBe(tasks.peekTask(id))
    expect(tasks.peekTask(id, {})).toBe(tasks.peekTask(id))
    expect(tasks.peekTask(id, { owner: 'bob' })).toBeNull()
    expect(tasks.peekTask(ownerless, { owner: 'ada' })).toBeNull()
  })

  test('is refused when it is undefined, which would be everybody', () => {
    const tasks = new TaskManager()
    const { id } = tasks.createTask({ skill: 'test', owner: 'ada' })
    const owner = undefined as unknown as string
    expect(thrown(() => tasks.peekTask(id, { owner }))).toMatchObject({ data: { path: 'owner' } })
  })
})
