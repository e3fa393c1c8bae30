/** Pages of tasks that have not changed since before a time, over each kind of manager. */
import { TaskManager } from 'a2a-tasks'
import { DurableTaskManager, memoryStore } from 'a2a-tasks/durable'
import { ManualClock } from 'a2a-tasks/testing'
import { expect, onTestFinished, test } from 'vitest'
import { databaseFile } from '../stores/sqlite/support/sqlite.js'

const START = Date.parse('2026-01-01T00:00:00.000Z')
type Managers = readonly (readonly [
  string,
  (clock: ManualClock) => Promise<TaskManager | DurableTaskManager>,
])[]

const MANAGERS: Managers = [
  ['TaskManager', (clock) => Promise.resolve(new TaskManager({ clock }))],
  [
    'DurableTaskManager over memory',
    (clock) => Promise.resolve(new DurableTaskManager({ store: memoryStore(), clock })),
  ],
  [
    'DurableTaskManager over SQLite',
    async (clock) => {
      const file = databaseFile()
      onTestFinished(() => file.remove())
      return new DurableTaskManager({ store: await file.open(), clock })
    },
  ],
]

test.each(MANAGERS)('%s pages those that changed before the time, and none at the time', async (_, make) => {
  const clock = new ManualClock(START)
  const tasks = await make(clock)
  onTestFinished(async () => {
    await tasks.destroy()
  })
  for (const id of ['a', 'b', 'c', 'd', 'e']) {
    await tasks.createTask({ id, skill: 'test' })
    await tasks.createTask({ id: `${id}2`, skill: 'test' })
    clock.advance(1)
  }
  await tasks.updateTask('a', { state: 'working' })
  const updatedBefore = new Date(START + 3).toISOString()
  const ids: string[] = []
  let cursor: string | undefined
  do {
    const page = await tasks.pageTasks({ updatedBefore, cursor, pageSize: 2 })
    ids.push(...page.tasks.map(({ id }) => id))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  expect(ids.toSorted()).toEqual(['a2', 'b', 'b2', 'c', 'c2'])
  const working = await tasks.pageTasks({ updatedBefore, state: 'working' })
  expect(working.tasks).toEqual([])
  await expect((async () => tasks.pageTasks({ updatedBefore: 'yesterday' }))()).rejects.toMatchObject({
    code: 'INVALID_PARAMS',
    data: { path: 'updatedBefore' },
  })
})
