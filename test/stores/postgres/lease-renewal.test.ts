/** Leases while requests fill every connection of the driver with slow statements. */
import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { postgresStore, type Parameter, type PgClient, type PostgresClient } from 'a2a-tasks/stores/postgres'
import { ManualClock } from 'a2a-tasks/testing'
import { turn } from '../../durable/support/durable.js'
import { worker } from '../../durable/support/leased.js'
import { sharedPglite } from '../../support/pglite.js'

const SLOW_MS = 700

let database: PGlite
beforeAll(async () => {
  database = await sharedPglite()
}, 60_000)

/** A driver with this many connections, which serves statements in their order. Counting takes long. */
class SlowDriver {
  /** Statements that wait for nothing but the database. */
  #quick = 0
  #free: number
  readonly #waiting: (() => void)[] = []
  readonly #clock: ManualClock

  constructor(connections: number, clock: ManualClock) {
    this.#free = connections
    this.#clock = clock
  }

  async query(text: string, values: readonly Parameter[]) {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      if (text.includes('count(*)')) await new Promise<void>((end) => this.#clock.schedule(end, SLOW_MS))
      this.#quick += 1
      try {
        return await database.query<unknown[]>(text, [...values], { rowMode: 'array' })
      } finally {
        this.#quick -= 1
      }
    } finally {
      const next = this.#waiting.shift()
      if (next) next()
      else this.#free += 1
    }
  }

  /** All that needs no time of the clock is done. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 5; quiet += 1) {
      await turn()
      if (this.#quick > 0) quiet = 0
    }
  }
}

interface Client {
  readonly name: string
  readonly connections: number
  readonly over: (driver: SlowDriver) => PostgresClient
}

const CLIENTS: readonly Client[] = [
  {
    name: 'a Pool of pg',
    connections: 3,
    over: (driver) => ({
      totalCount: 0,
      options: { max: 3 },
      connect: (callback) => {
        const client: PgClient = {
          query: async (query) => {
            const { text, values } = typeof query === 'string' ? { text: query, values: [] } : query
            const { rows, affectedRows = 0 } = await driver.query(text, values)
            return { rows, rowCount: affectedRows }
          },
          on: () => undefined,
          off: () => undefined,
          release: () => undefined,
        }
        callback(undefined, client)
      },
    }),
  },
  {
    name: 'postgres',
    connections: 3,
    over: (driver) => ({
      options: { max: 3 },
      unsafe: (text: string, values: Parameter[]) => ({
        values: async () => {
          const { rows, affectedRows = 0 } = await driver.query(text, values)
          return Object.assign(rows, { count: affectedRows })
        },
      }),
      reserve: () => Promise.reject(new Error('It has no transactions')),
      listen: () => Promise.reject(new Error('It does not listen')),
    }),
  },
  {
    name: 'PGlite',
    connections: 1,
    over: (driver) => ({
      waitReady: Promise.resolve(),
      query: (text, values) => driver.query(text, values),
      transaction: () => Promise.reject(new Error('It has no transactions')),
      listen: () => Promise.reject(new Error('It does not listen')),
    }),
  },
]

describe.each(CLIENTS)('over $name', ({ name, connections, over }) => {
  test('requests that fill all connections cost no task its lease', async () => {
    const clock = new ManualClock()
    const driver = new SlowDriver(connections, clock)
    const schema = `renewal_${CLIENTS.findIndex((each) => each.name === name)}`
    const store = postgresStore(over(driver), { schema, listen: false, now: () => clock.now() })
    await store.migrate()
    const errors: unknown[] = []
    const onError = (error: unknown): unknown => errors.push(error)
    const tasks = new DurableTaskManager({ store, clock, leaseMs: 3_000, sweepIntervalMs: false, onError })
    const other = postgresStore(database, { schema, listen: false, now: () => clock.now() })
    const { leased, calls } = worker(tasks)
    const ids = Array.from({ length: 10 }, () => leased.createTask({ skill: 'test' }).id)
    await driver.settled()

    let isOver = false
    const counted: Promise<void>[] = []
    const flood = async (): Promise<void> => {
      while (!isOver) await tasks.countTasks({ updatedSince: '2020-01-01' }).catch(() => undefined)
    }
    for (let n = 0; n < 33; n += 1) counted.push(flood())
    onTestFinished(() => void tasks.destroy())
    for (let ms = 0; ms < 7_000; ms += 200) {
      clock.advance(200)
      await driver.settled()
      expect(await other.orphans(10)).toEqual([])
    }
    for (const id of ids) leased.patchTask(id, { state: 'working' })
    const ending = Promise.all(
      ids.map(async (id) => {
        leased.patchTask(id, { state: 'completed' })
        await leased.stored(id)
      }),
    )
    const ended = (): Promise<number> => other.count({ state: 'completed' })
    for (let ms = 0; ms < 30_000 && (await ended()) < 10; ms += 200) {
      clock.advance(200)
      await driver.settled()
    }
    isOver = true
    await ending
    expect(await ended()).toBe(10)
    expect(calls).toEqual([])
    expect(errors).toEqual([])
  }, 60_000)
})
