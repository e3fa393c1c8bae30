/** The reference passes what every store has to. */
import { memoryStore } from 'a2a-tasks/durable'
import { testTaskStore } from 'a2a-tasks/testing'
import { describe, test } from 'vitest'

describe('memoryStore', () => {
  testTaskStore({
    test,
    create: (options) => {
      const store = memoryStore(options)
      return Promise.resolve({
        store,
        reopen: () => Promise.resolve(store),
        close: () => Promise.resolve(),
      })
    },
    supports: { hints: true, reopen: false, feed: true, leaseCounts: true },
  })
})
