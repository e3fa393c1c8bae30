/** Durable functions that crash at every write, over each kind of store. */
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { redisStore } from 'a2a-tasks/stores/redis'
import { testDurable } from 'a2a-tasks/testing'
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { skipWithoutPostgres, startPostgres, whenPostgres } from '../support/postgres-server.js'
import { skipWithoutRedis, startRedis } from '../support/redis-server.js'
import { whenRedis } from '../services/redis/clients.js'
import { databaseFile } from '../stores/sqlite/support/sqlite.js'
import { FUNCTIONS, TRANSACTIONS, withNewAgents, type Case, type CreateStore } from './functions.js'

const TIMEOUT_MS = 240_000
let stores = 0

function crashAtEveryWrite(createStore: CreateStore, others: readonly Case[] = []): void {
  it.each([...FUNCTIONS, ...others])('$name', { timeout: TIMEOUT_MS }, async ({ execute, options }) => {
    await testDurable(execute, { ...options, createStore: withNewAgents(createStore) })
  })
}

describe('SQLite', () => {
  const files: { remove(): void }[] = []
  afterAll(() => {
    for (const file of files) file.remove()
  })
  crashAtEveryWrite(
    async ({ now }) => {
      const file = databaseFile()
      files.push(file)
      return await file.open({ now })
    },
    [TRANSACTIONS],
  )
})

it('redis-server is installed', (context) => skipWithoutRedis(context))

whenRedis('Redis', () => {
  let server: Awaited<ReturnType<typeof startRedis>>
  let client: Redis
  beforeAll(async () => {
    server = await startRedis()
    client = new Redis(server.port)
  })
  afterAll(async () => {
    client.disconnect()
    await server.stop()
  })
  crashAtEveryWrite(async ({ now }) => {
    const store = redisStore(client, { prefix: `crash ${(stores += 1)}`, now })
    await store.migrate()
    return store
  })
})

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

whenPostgres('PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPostgres>>
  let pool: Pool
  beforeAll(async () => {
    server = await startPostgres()
    pool = new Pool({ connectionString: server.url, max: 5 })
  }, 60_000)
  afterAll(async () => {
    await pool.end()
    await server.stop()
  })
  crashAtEveryWrite(
    async ({ now }) => {
      // Each trial would keep a connection that listens.
      const store = postgresStore(pool, { schema: `crash_${(stores += 1)}`, now, listen: false })
      await store.migrate()
      return store
    },
    [TRANSACTIONS],
  )
})
