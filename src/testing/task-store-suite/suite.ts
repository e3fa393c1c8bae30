/**
 * Conformance tests of the `TaskStore` contract.
 *
 * @module
 */
import type { Creation, TaskStore } from '../../durable/task-store.js'
import { requireStore } from '../../durable/options.js'
import { readOptions, requireFunction } from '../../runtime/options.js'
import { contentTests } from './content.js'
import { documentTests } from './documents.js'
import { FEED_SIZE, feedTests } from './feed.js'
import type { StoreCounter, StoreTests } from './kit.js'
import { hintTests, reopenTests, schemaTest } from './retention.js'
import { leaseCountTests, leaseTests } from './leases.js'
import { logTests } from './log.js'
import { queryTests } from './queries.js'
import { readingTests } from './reading.js'
import { START } from './samples.js'
import { transactionTests } from './transactions.js'

/** An empty store, opened for one test. */
export interface StoreUnderTest {
  readonly store: TaskStore
  /**
   * Opens another client of the same data with its own connection, as a second or restarted process would. Called only
   * when `supports.reopen` is `true`.
   */
  readonly reopen: () => Promise<TaskStore>
  /** Closes the store and every client that `reopen` opened. */
  readonly close: () => Promise<void>
  /** A counter in the database, beside the tables of the store. Required when `supports.transactions` is `true`. */
  readonly counter?: StoreCounter | undefined
}

/** Optional features. Tests of unsupported features are not registered. */
export interface StoreSupport {
  /** Whether the store has `hints`. */
  readonly hints: boolean
  /**
   * Whether several clients can open the same data, at once and one after the other. `true` for every store with a database.
   * With `false`, nothing is tested between processes or after a restart.
   */
  readonly reopen: boolean
  /** Whether the store has a `feed` when `create` receives a `feedSize`. Default is `false`. */
  readonly feed?: boolean | undefined
  /** Whether the store has `transact`. Default is `false`. */
  readonly transactions?: boolean | undefined
  /** Whether the store has `leaseCounts`. Default is `false`. */
  readonly leaseCounts?: boolean | undefined
  /** The earlier versions of its schema. Default is none. */
  readonly olderSchemas?: readonly OlderSchema[] | undefined
}

/** An earlier schema that the store can migrate. */
export interface OlderSchema {
  /** Used in the titles of tests, such as `version 1`. */
  readonly name: string
  /** Stores the tasks in that schema, and resolves to the store after the migration. */
  readonly create: (
    options: CreateStoreOptions & { readonly tasks: readonly Creation[] },
  ) => Promise<StoreUnderTest>
}

/** What a test requires of its store. */
export interface CreateStoreOptions {
  /** The clock by which leases expire, in ms since 1970. Every client must use it. */
  readonly now: () => number
  /** The size of the feed. Present in the tests of the feed only. */
  readonly feedSize?: number | undefined
}

/** Parameters of {@link testTaskStore}. */
export interface TestTaskStoreOptions {
  /** Registers a test. The `test` function of any runner fits. */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** Opens an empty store. Called once for each test. */
  readonly create: (options: CreateStoreOptions) => Promise<StoreUnderTest>
  readonly supports: StoreSupport
}

/**
 * Registers the tests of the {@link TaskStore} contract.
 *
 * @example
 * import { test } from 'node:test'
 * import { memoryStore } from 'a2a-tasks/durable'
 * import { testTaskStore } from 'a2a-tasks/testing'
 *
 * testTaskStore({
 *   test,
 *   create: async ({ now }) => {
 *     const store = memoryStore({ now })
 *     return { store, reopen: async () => store, close: async () => {} }
 *   },
 *   supports: { hints: true, reopen: false },
 * })
 * @throws {TypeError} for an invalid option; the message names it.
 */
export function testTaskStore(options: TestTaskStoreOptions): void {
  const { test, create, supports } = readOptions(options, ['test', 'create', 'supports'], 'testTaskStore')
  requireFunction('test', test)
  requireFunction('create', create)
  const {
    hints,
    reopen,
    feed = false,
    transactions = false,
    leaseCounts = false,
    olderSchemas = [],
  } = readOptions(
    supports,
    ['hints', 'reopen', 'feed', 'transactions', 'leaseCounts', 'olderSchemas'],
    'testTaskStore',
    'supports',
  )
  const register = (tests: StoreTests, open = create): void => {
    for (const [name, run] of Object.entries(tests)) {
      test(name, async () => {
        const clock = { ms: START }
        const opened = await open({ now: () => clock.ms })
        const { store } = opened
        try {
          requireStore(store)
          const another = async (): Promise<TaskStore> => (reopen ? await opened.reopen() : store)
          await run({ store, another, clock, counter: opened.counter })
        } finally {
          await opened.close()
        }
      })
    }
  }
  for (const tests of [logTests, readingTests, queryTests, leaseTests, documentTests, contentTests]) {
    register(tests)
  }
  if (hints) register(hintTests)
  if (reopen) register(reopenTests)
  if (transactions) register(transactionTests)
  if (leaseCounts) register(leaseCountTests)
  if (feed) register(feedTests, ({ now }) => create({ now, feedSize: FEED_SIZE }))
  for (const older of olderSchemas) {
    const { tasks, tests } = schemaTest(older.name)
    register(tests, ({ now }) => older.create({ now, tasks }))
  }
}
