/**
 * The tests that every `TaskStore` has to pass.
 *
 * @module
 */
import type { Creation, TaskStore } from '../../durable/task-store.js'
import { requireStore } from '../../durable/options.js'
import { contentTests } from './content.js'
import { documentTests } from './documents.js'
import { hintTests, reopenTests, schemaTest } from './retention.js'
import { leaseTests } from './leases.js'
import { logTests } from './log.js'
import { queryTests } from './queries.js'
import { readingTests } from './reading.js'
import { START } from './samples.js'

/** A store that is to be tested, with nothing in it. */
export interface StoreUnderTest {
  readonly store: TaskStore
  /**
   * Another client of the same data, beside the first: what a second process has, or the same after a restart, with a
   * connection of its own. Called only when `supports.reopen`.
   */
  readonly reopen: () => Promise<TaskStore>
  /** Ends this store, and all that `reopen` gave. */
  readonly close: () => Promise<void>
}

/** What stores may do or not. There are no tests for what a store does not support. */
export interface StoreSupport {
  /** It has `hints`. */
  readonly hints: boolean
  /**
   * What is stored outlives the client, and several reach it at a time. `true` for all that has a database: without it
   * nothing is tested between two processes, nor after a restart.
   */
  readonly reopen: boolean
  /** The versions of its schema that came before the present one. Default is none. */
  readonly olderSchemas?: readonly OlderSchema[] | undefined
}

/** A version of the schema that a store migrates from. */
export interface OlderSchema {
  /** As in `version 1`. */
  readonly name: string
  /** Stores these tasks as that version did, and resolves to the store that has migrated them. */
  readonly create: (
    options: CreateStoreOptions & { readonly tasks: readonly Creation[] },
  ) => Promise<StoreUnderTest>
}

export interface CreateStoreOptions {
  /** The clock of the store, in ms since 1970, for all clients: leases must run out by it. */
  readonly now: () => number
}

export interface TestTaskStoreOptions {
  /** Registers a test: the `test` of any runner. */
  readonly test: (name: string, run: () => Promise<void>) => unknown
  /** Called for each test: nothing may be left of the last one. */
  readonly create: (options: CreateStoreOptions) => Promise<StoreUnderTest>
  readonly supports: StoreSupport
}

/** What a test has. */
export interface StoreKit {
  readonly store: TaskStore
  /** Another client of the same data; the same one where there are no others. */
  readonly another: () => Promise<TaskStore>
  /** What `now` tells, in ms since 1970. */
  readonly clock: { ms: number }
}

/** By their names, which are sentences. */
export type StoreTests = Readonly<Record<string, (kit: StoreKit) => Promise<void>>>

/**
 * Registers a test for each thing that {@link TaskStore} promises.
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
 */
export function testTaskStore({ test, create, supports }: TestTaskStoreOptions): void {
  const { hints, reopen, olderSchemas = [] } = supports
  const register = (tests: StoreTests, open = create): void => {
    for (const [name, run] of Object.entries(tests)) {
      test(name, async () => {
        const clock = { ms: START }
        const opened = await open({ now: () => clock.ms })
        const { store } = opened
        try {
          requireStore(store)
          await run({ store, another: async () => (reopen ? await opened.reopen() : store), clock })
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
  for (const older of olderSchemas) {
    const { tasks, tests } = schemaTest(older.name)
    register(tests, ({ now }) => older.create({ now, tasks }))
  }
}
