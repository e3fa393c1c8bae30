/** The stores that replicas share. */
import { Redis } from 'ioredis'
import Database from 'libsql'
import { Pool } from 'pg'
import type { TaskStore } from '../../../src/durable/index.js'
import { postgresStore } from '../../../src/stores/postgres/index.js'
import { redisStore } from '../../../src/stores/redis/index.js'
import { sqliteStore } from '../../../src/stores/sqlite/index.js'

export interface OpenStore {
  readonly store: TaskStore
  readonly close: () => Promise<void>
}

export async function openStore(name: string, url: string): Promise<OpenStore> {
  if (name === 'redis') {
    const client = new Redis(url, { maxRetriesPerRequest: 1, retryStrategy: () => 100 })
    // Failures are reported to the caller.
    client.on('error', () => undefined)
    const store = redisStore(client)
    await store.migrate()
    return {
      store,
      close: async () => {
        await client.quit()
      },
    }
  }
  if (name === 'sqlite') {
    const database = new Database(url)
    database.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = normal')
    const store = sqliteStore(database)
    await store.migrate()
    return {
      store,
      close: () => {
        database.close()
        return Promise.resolve()
      },
    }
  }
  if (name === 'pgbouncer') {
    // The URL of the pooler, and that of the server.
    const [pooledUrl = '', directUrl = ''] = url.split(' ')
    const [pooled, direct] = [poolOf(pooledUrl), poolOf(directUrl, 1)]
    const store = postgresStore(pooled, { prepare: false, listen: direct })
    await store.migrate()
    return {
      store,
      close: async () => {
        await Promise.all([pooled.end(), direct.end()])
      },
    }
  }
  const pool = poolOf(url)
  const store = postgresStore(pool)
  await store.migrate()
  return { store, close: () => pool.end() }
}

function poolOf(connectionString: string, max = 10): Pool {
  // Failures are reported to the caller.
  return new Pool({ connectionString, max }).on('error', () => undefined)
}
