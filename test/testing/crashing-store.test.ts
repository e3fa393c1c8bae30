/** The store of a process that dies while a write is under way. */
import { memoryStore } from 'a2a-tasks/durable'
import { expect, test } from 'vitest'
import { CrashingStore } from '../../src/testing/durable-functions/crashing-store.js'
import { creation } from '../../src/testing/task-store-suite/samples.js'

test('reports what the store has, also if the process died before it could say so', async () => {
  const store = memoryStore()
  const create = store.create.bind(store)
  const answered = new Promise<void>((resolve) => setImmediate(resolve))
  Object.assign(store, {
    create: async (given: Parameters<typeof create>[0]) => {
      const result = await create(given)
      await answered
      return result
    },
  })
  const reported: string[] = []
  const process = new CrashingStore(store, { n: 2, of: 'writes', when: 'before' }, (events) => {
    reported.push(...events.map(({ taskId }) => taskId))
  })
  void process.asStore.create(creation('under way'))
  void process.asStore.create(creation('lost'))
  expect([process.isCrashed, process.isBusy]).toEqual([true, true])
  await expect.poll(() => process.isBusy).toBe(false)
  expect(reported).toEqual(['under way'])
})
