/**
 * Stores of both databases, for tests that set the clock.
 *
 * @module
 */
import { PGlite } from '@electric-sql/pglite'
import type { TaskStore } from 'a2a-tasks/durable'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { onTestFinished } from 'vitest'
import { openForTest } from '../../../stores/sqlite/support/sqlite.js'

/** Stores whose leases last by the clock of the test, which closes them. For `describe.each`. */
export const LEASING_STORES: readonly (readonly [string, (now: () => number) => Promise<TaskStore>])[] = [
  ['SQLite', (now) => openForTest({ now })],
  [
    'PGlite',
    async (now) => {
      const database = await PGlite.create()
      onTestFinished(() => database.close())
      const store = postgresStore(database, { now })
      await store.migrate()
      return store
    },
  ],
]
