/** `deleteTask` of both managers. Its rules over every store are in test/combinations. */
import { A2AError, TaskManager, feed as feedOf } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { describe, expect, it, onTestFinished } from 'vitest'

const MANAGERS = {
  TaskManager: () => new TaskManager({ feedSize: 100 }),
  DurableTaskManager: () => new DurableTaskManager({ store: memoryStore({ feedSize: 100 }) }),
}

describe.each(Object.entries(MANAGERS))('deleteTask of a %s', (_, create) => {
  function manager(): TaskManager | DurableTaskManager {
    const tasks = create()
    onTestFinished(() => tasks.destroy())
    return tasks
  }
  const failure = async (call: () => unknown): Promise<unknown> => {
    try {
      return await call()
    } catch (error) {
      return A2AError.is(error) ? { code: error.code, message: error.message } : error
    }
  }

  it('removes a task that has ended, tells listeners and the feed, and frees its id', async () => {
    const tasks = manager()
    const feed = feedOf(tasks)
    await feed.next()
    await tasks.createTask({ id: 'a', skill: 's' })
    const gone: string[] = []
    tasks.on('task:expired', ({ id, state }) => gone.push(`${id} ${state}`))
    await tasks.cancelTask('a')
    expect(await failure(() => tasks.deleteTask('a'))).toBeUndefined()
    expect(gone).toEqual(['a canceled'])
    expect(await tasks.getTask('a')).toBeNull()
    expect(await tasks.countTasks()).toBe(0)
    expect(await failure(() => tasks.events('a'))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    const seen: unknown[] = []
    while (!seen.includes('deleted')) seen.push(String((await feed.next()).value?.type))
    expect(seen.at(-1)).toBe('deleted')
    expect((await tasks.createTask({ id: 'a', skill: 's' })).generation).toBe(1)
  })

  it('refuses a task that has not ended, and changes nothing', async () => {
    const tasks = manager()
    await tasks.createTask({ id: 'a', skill: 's' })
    for (const state of ['submitted', 'working', 'input-required'] as const) {
      if (state !== 'submitted') await tasks.updateTask('a', { state })
      expect(await failure(() => tasks.deleteTask('a'))).toEqual({
        code: 'INVALID_TRANSITION',
        message: `Invalid transition from ${state} to deletion: cancel it first`,
      })
      expect(await tasks.stateOf('a')).toBe(state)
    }
  })

  it('refuses an id without a task, and one that is no text', async () => {
    const tasks = manager()
    expect(await failure(() => tasks.deleteTask('a'))).toMatchObject({ code: 'TASK_NOT_FOUND' })
    expect(await failure(() => tasks.deleteTask(1 as never))).toMatchObject({ code: 'INVALID_PARAMS' })
  })

  it('one of two calls at a time deletes, and the event comes once', async () => {
    const tasks = manager()
    await tasks.createTask({ id: 'a', skill: 's' })
    await tasks.cancelTask('a')
    let count = 0
    tasks.on('task:expired', () => (count += 1))
    const failures = await Promise.all([1, 2].map(() => failure(() => tasks.deleteTask('a'))))
    expect(failures.filter((each) => each !== undefined)).toMatchObject([{ code: 'TASK_NOT_FOUND' }])
    expect(count).toBe(1)
    expect(await tasks.getTask('a')).toBeNull()
  })
})

it('answers what other processes over the store do with the task as if it had never been', async () => {
  const store = memoryStore()
  const [one, two] = [1, 2].map(() => new DurableTaskManager({ store, pollIntervalMs: 10 }))
  if (one === undefined || two === undefined) throw new Error('There are two')
  onTestFinished(async () => {
    await one.destroy()
    await two.destroy()
  })
  const { createdAt } = await one.createTask({ id: 'a', skill: 's' })
  await one.documents.putDocument({ key: { id: 'a', createdAt }, kind: 'k', id: '1', value: 1 }, 0)
  await two.cancelTask('a')
  await one.deleteTask('a')
  expect(await two.getTask('a')).toBeNull()
  expect(await two.documents.documents({ id: 'a', createdAt }, 'k')).toEqual([])
  await expect(two.addMessage('a', { role: 'user', parts: [{ text: 'x' }] })).rejects.toMatchObject({
    code: 'TASK_NOT_FOUND',
  })
})
