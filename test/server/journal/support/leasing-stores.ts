/**
 * Stores of both databases, for tests that set the clock.
 *
 * @module
 */
import type { TaskStore } from 'a2a-tasks/durable'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { openForTest } from '../../../stores/sqlite/support/sqlite.js'
import { newSchema, sharedPglite } from '../../../support/pglite.js'

/** Stores whose leases last by the clock of the test, which closes them. For `describe.each`. */
export const LEASING_STORES: readonly (readonly [string, (now: () => number) => Promise<TaskStore>])[] = [
  ['SQLite', (now) => openForTest({ now })],
  [
    'PGlite',
    async (now) => {
      const store = postgresStore(await sharedPglite(), { schema: newSchema(), now })
      await store.migrate()
      return store
    },
  ],
]
