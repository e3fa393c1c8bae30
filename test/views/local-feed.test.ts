/** The feed of a `TaskManager`: removed and restored tasks, and what the logs of the tasks no longer keep. */
import {
  TaskManager,
  type FeedEntry,
  type TaskManagerOptions,
  feed as feedOf,
  restoreTasks,
  saveTasks,
} from 'a2a-tasks'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, onTestFinished, test } from 'vitest'

interface Opened {
  readonly tasks: TaskManager
  readonly clock: ManualClock
  /** The next entries, in short. */
  readonly next: (count: number) => Promise<string[]>
}

async function open(options: TaskManagerOptions = {}): Promise<Opened> {
  const clock = new ManualClock()
  const tasks = new TaskManager({ feedSize: 100, clock, ...options })
  onTestFinished(() => tasks.destroy())
  const feed = feedOf(tasks)
  const next = async (count: number): Promise<string[]> => {
    const shown: string[] = []
    while (shown.length < count) {
      const { value } = await feed.next()
      shown.push(value === undefined ? 'end' : show(value))
    }
    return shown
  }
  expect(await next(1)).toEqual(['resync'])
  return { tasks, clock, next }
}

function show(entry: FeedEntry): string {
  if (entry.type === 'event') return `${entry.taskId} ${entry.event.generation}`
  return entry.type === 'deleted' ? `${entry.taskId} deleted` : 'resync'
}

describe('a removed task', () => {
  test('is an entry when it expires', async () => {
    const { tasks, clock, next } = await open({ expiryMs: 1_000 })
    const { createdAt } = tasks.createTask({ id: 'a', skill: 's', owner: 'alice' })
    expect(await next(1)).toEqual(['a 1'])
    const others = feedOf(tasks, { filter: { owner: 'bob' } })
    const own = feedOf(tasks, { filter: { owner: 'alice' } })
    await Promise.all([others.next(), own.next()])
    clock.advance(1_001)
    tasks.prune()
    tasks.createTask({ id: 'b', skill: 's', owner: 'bob' })
    expect(await next(2)).toEqual(['a deleted', 'b 1'])
    expect((await own.next()).value).toMatchObject({ type: 'deleted', taskId: 'a', createdAt })
    expect((await others.next()).value).toMatchObject({ type: 'event', taskId: 'b' })
  })

  test('is an entry when it makes room, and its unread events do not follow', async () => {
    const { tasks, next } = await open({ maxTasks: 1, whenFull: 'evict' })
    tasks.createTask({ id: 'a', skill: 's' })
    tasks.updateTask('a', { state: 'working' })
    tasks.updateTask('a', { state: 'input-required' })
    tasks.createTask({ id: 'b', skill: 's' })
    expect(await next(2)).toEqual(['a deleted', 'b 1'])
  })

  test('is not confused with a later one of its id', async () => {
    const { tasks, clock, next } = await open({ expiryMs: 1_000 })
    tasks.createTask({ id: 'a', skill: 's' })
    tasks.updateTask('a', { state: 'working' })
    clock.advance(1_001)
    tasks.createTask({ id: 'a', skill: 's' })
    expect(await next(2)).toEqual(['a deleted', 'a 1'])
  })
})

test('an event that the log of its task no longer keeps leads to a resync', async () => {
  const { tasks, next } = await open({ eventLogSize: 2 })
  tasks.createTask({ id: 'a', skill: 's' })
  tasks.createTask({ id: 'b', skill: 's' })
  for (let count = 0; count < 5; count += 1) tasks.patchTask('b', { message: `${count}` })
  expect(await next(2)).toEqual(['a 1', 'resync'])
  tasks.createTask({ id: 'c', skill: 's' })
  expect(await next(1)).toEqual(['c 1'])
})

test('a restored task has only its later events in the feed', async () => {
  const saved = new TaskManager()
  saved.createTask({ id: 'a', skill: 's' })
  saved.updateTask('a', { state: 'working' })
  const { tasks, next } = await open()
  restoreTasks(tasks, saveTasks(saved))
  saved.destroy()
  tasks.updateTask('a', { state: 'completed' })
  expect(await next(1)).toEqual(['a 3'])
})

test('a cursor of an earlier process is not known, however many entries there are', async () => {
  const clock = new ManualClock()
  const earlier = new TaskManager({ feedSize: 10, clock })
  for (let count = 0; count < 5; count += 1) earlier.createTask({ skill: 's' })
  const { value } = await feedOf(earlier).next()
  earlier.destroy()
  clock.advance(1)
  const { tasks } = await open({ clock })
  for (let count = 0; count < 8; count += 1) tasks.createTask({ skill: 's' })
  expect((await feedOf(tasks, { after: value?.cursor }).next()).value?.type).toBe('resync')
})

test('a listener that changes tasks does not change the order', async () => {
  const { tasks, next } = await open()
  tasks.on('task:created', ({ id }) => {
    if (id === 'a') tasks.createTask({ id: 'b', skill: 's' })
    tasks.updateTask(id, { state: 'working' })
  })
  tasks.createTask({ id: 'a', skill: 's' })
  expect(await next(4)).toEqual(['a 1', 'b 1', 'a 2', 'b 2'])
})

test.each([-1, 0.5, NaN, Infinity, '5'])('feedSize %s is refused', (feedSize) => {
  // Not what the types allow.
  expect(() => new TaskManager({ feedSize: feedSize as number })).toThrow(
    '"feedSize" must be an integer from 0',
  )
})
