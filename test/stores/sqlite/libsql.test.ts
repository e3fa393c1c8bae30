/** The store over libsql: all that every store promises. */
import { testTaskStore } from 'a2a-tasks/testing'
import { describe, test } from 'vitest'
import { counterIn, databaseFile } from './support/sqlite.js'

describe('the SQLite store over libsql, two connections to one file', () => {
  testTaskStore({
    test,
    create: async (options) => {
      const file = databaseFile()
      return {
        store: await file.open(options),
        counter: counterIn(file.connect()),
        reopen: () => file.open(options),
        close: () => {
          file.remove()
          return Promise.resolve()
        },
      }
    },
    supports: { hints: false, reopen: true, feed: true, transactions: true, leaseCounts: true },
  })
})
