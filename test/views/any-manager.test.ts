/** Views of a manager that has the public methods only. */
import {
  children,
  deadLetters,
  feed,
  fork,
  redrive,
  redriveAll,
  restoreTasks,
  saveTasks,
  TaskManager,
} from 'a2a-tasks'
import { expect, test } from 'vitest'

const LINEAGE = 'https://a2a-tasks.dev/extensions/lineage/v1'

/** All public methods of the manager, without the manager. */
function methodsOf(tasks: TaskManager): TaskManager {
  const names = Object.getOwnPropertyNames(TaskManager.prototype) as (keyof TaskManager)[]
  const methods = names.map((name) => [
    name,
    (...given: never[]) => Reflect.apply(Reflect.get(tasks, name) as never, tasks, given),
  ])
  // It has what the views below ask for.
  return { ...Object.fromEntries(methods), lifecycle: tasks.lifecycle } as TaskManager
}

test('views that only read take any manager', async () => {
  const tasks = new TaskManager()
  const createdAt = new Date().toISOString()
  const failure = { reason: 'error', count: 1, error: { name: 'Error', message: 'No' } } as const
  restoreTasks(tasks, [{ id: 'dead', skill: 'chat', state: 'failed', createdAt, failure }])
  const ids = ['a', 'b']
  for (const id of ids) {
    tasks.createTask({ id, skill: 'chat' })
    const lineage = { parentTaskId: 'dead', rootTaskId: 'dead', depth: 1, path: [] }
    tasks.addMessage(id, { role: 'user', parts: [{ text: 'go' }], metadata: { [LINEAGE]: lineage } })
  }
  for (const each of [tasks, methodsOf(tasks)]) {
    expect((await deadLetters(each)).tasks.map(({ id }) => id)).toEqual(['dead'])
    const { tasks: found, delegations } = await children(each, 'dead')
    expect([new Set(found.map(({ id }) => id)), delegations]).toEqual([new Set(ids), []])
  }
})

test('views that add tasks with their logs name the managers that they take', async () => {
  const tasks = methodsOf(new TaskManager({ feedSize: 10 }))
  const text = 'needs a TaskManager, a DurableTaskManager or the manager of openTasks()'
  await expect(fork(tasks, 'a')).rejects.toThrow(new TypeError(`fork() ${text}`))
  await expect(redrive(tasks, 'a')).rejects.toThrow(new TypeError(`redrive() ${text}`))
  await expect(redriveAll(tasks)).rejects.toThrow(new TypeError(`redriveAll() ${text}`))
  expect(() => saveTasks(tasks)).toThrow(new TypeError(`saveTasks() ${text}`))
  expect(() => restoreTasks(tasks, [])).toThrow(new TypeError(`restoreTasks() ${text}`))
  expect(() => feed(tasks)).toThrow(TypeError)
})
