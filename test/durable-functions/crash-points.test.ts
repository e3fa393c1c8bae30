/** Durable functions that crash at every write. */
import { testDurable } from 'a2a-tasks/testing'
import { expect, test } from 'vitest'
import Database from 'libsql'
import { sqliteStore } from 'a2a-tasks/stores/sqlite'
import { runsAll } from '../support/samples.js'
import { FUNCTIONS, TRANSACTIONS, withNewAgents } from './functions.js'

test.each(FUNCTIONS.filter(({ isLong }) => runsAll || !isLong))(
  '$name: every crash leaves the same task',
  { timeout: 240_000 },
  async ({ execute, options }) => {
    const { crashPoints, task } = await testDurable(execute, { ...options, createStore: withNewAgents() })
    expect(['completed', 'failed']).toContain(task.state)
    expect(crashPoints).toBeGreaterThan(5)
  },
)

test(
  'transactions: every crash leaves the same task, and each effect once',
  { timeout: 240_000 },
  async () => {
    const { crashPoints, task } = await testDurable(TRANSACTIONS.execute, {
      ...TRANSACTIONS.options,
      createStore: async ({ now }) => {
        const store = sqliteStore(new Database(':memory:'), { now })
        await store.migrate()
        return store
      },
    })
    expect(crashPoints).toBeGreaterThan(20)
    expect(task.artifacts.at(-1)?.parts).toEqual([
      { text: 'debit,RangeError: No,yes,credit,beside,credit,3' },
    ])
  },
)
