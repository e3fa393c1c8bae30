import { memoryStore } from 'a2a-tasks/durable'
import { testTaskStore } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'

test('each test of a store that lacks a method says which, and the store is closed', async () => {
  const runs: (() => Promise<void>)[] = []
  let closed = 0
  testTaskStore({
    test: (_name, run) => runs.push(run),
    create: ({ now }) =>
      Promise.resolve({
        // What the types take for one; the methods of a class are not in it.
        store: { ...memoryStore({ now }) },
        reopen: () => Promise.reject(new Error('not to be called')),
        close: () => {
          closed += 1
          return Promise.resolve()
        },
      }),
    supports: { hints: true, reopen: false },
  })
  expect(runs.length).toBeGreaterThan(100)
  for (const run of runs) await expect(run()).rejects.toThrow('it has no method "create"')
  expect(closed).toBe(runs.length)
})
