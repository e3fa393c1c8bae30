/**
 * Stores to measure, each on a real server or file of its own, and the raw drivers that they stand on.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as Durable from 'a2a-tasks/durable'
import type * as Postgres from 'a2a-tasks/stores/postgres'
import type * as RedisStores from 'a2a-tasks/stores/redis'
import type * as Sqlite from 'a2a-tasks/stores/sqlite'
import { Redis } from 'ioredis'
import Database from 'libsql'
import { Pool } from 'pg'
import { startPostgres } from '../support/postgres-server.js'
import { startRedis } from '../support/redis-server.js'
import type { Build } from './build.js'
import type { Variant } from './harness.js'
import { leaveOut, needPostgres, needRedis } from './missing.js'
import type { Row } from './report.js'
import type { Work } from './workload.js'

export interface Bench {
  readonly name: string
  /** Another client of the same data, as another process has. With a size it has a feed, and so have those before it. */
  readonly open: (feedSize?: number) => Promise<Durable.TaskStore>
  /** What the driver takes for one event of one task: a row of a log, and the head of its task. */
  readonly raw: (taskId: string, generation: number, event: string) => Promise<void> | void
  /** The connection string, where there is a server. */
  readonly url: string
  readonly close: () => Promise<void>
}

export async function loadDurable({ url }: Build): Promise<typeof Durable> {
  // What was built from src/durable/index.ts has its exports; and so on.
  return (await import(new URL('durable/index.js', url).href)) as typeof Durable
}

export async function benchMemory(build: Build): Promise<Bench> {
  const { memoryStore } = await loadDurable(build)
  let store: Durable.TaskStore | undefined
  const log = new Map<string, string>()
  return {
    ...{ name: 'memory', url: '' },
    open: (feedSize) => Promise.resolve((store ??= memoryStore({ feedSize }))),
    raw: (taskId, generation, event) => void log.set(`${taskId}/${generation}`, event),
    close: () => Promise.resolve(),
  }
}

export async function benchSqlite({ url }: Build): Promise<Bench> {
  const { sqliteStore } = (await import(new URL('stores/sqlite/index.js', url).href)) as typeof Sqlite
  const folder = mkdtempSync(join(tmpdir(), 'bench-'))
  const opened: { close(): unknown }[] = []
  const connect = (file: string): Database.Database => {
    const database = new Database(join(folder, file))
    opened.push(database)
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    return database
  }
  const raw = connect('raw.db')
  raw.exec(
    'CREATE TABLE heads (id TEXT PRIMARY KEY, generation INTEGER, state TEXT, updated_at TEXT);' +
      'CREATE TABLE events (id TEXT, generation INTEGER, event TEXT, PRIMARY KEY (id, generation)) WITHOUT ROWID',
  )
  const insert = raw.prepare('INSERT INTO events VALUES (?, ?, ?)')
  const update = raw.prepare(
    'INSERT INTO heads VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, updated_at = excluded.updated_at',
  )
  return {
    ...{ name: 'SQLite', url: '' },
    open: async (feedSize) => {
      const store = sqliteStore(connect('tasks.db'), { feedSize })
      await store.migrate()
      return store
    },
    raw: (taskId, generation, event) => {
      raw.exec('BEGIN IMMEDIATE')
      insert.run(taskId, generation, event)
      update.run(taskId, generation, 'working', new Date().toISOString())
      raw.exec('COMMIT')
    },
    close: () => {
      for (const database of opened) database.close()
      rmSync(folder, { recursive: true, force: true })
      return Promise.resolve()
    },
  }
}

export function benchPostgres(build: Build): Promise<Bench> {
  return openPostgres(build, 'on')
}

export function benchPostgresWithoutSync(build: Build): Promise<Bench> {
  return openPostgres(build, 'off')
}

async function openPostgres({ url }: Build, fsync: 'on' | 'off'): Promise<Bench> {
  needPostgres()
  const { postgresStore } = (await import(new URL('stores/postgres/index.js', url).href)) as typeof Postgres
  const server = await startPostgres({ fsync })
  const pools: Pool[] = []
  const connect = (): Pool => {
    const pool = new Pool({ connectionString: server.url, max: 10 })
    pools.push(pool)
    return pool
  }
  const raw = connect()
  await raw.query(`
    CREATE TABLE raw_heads (id text PRIMARY KEY, generation integer, state text, updated_at text);
    CREATE TABLE raw_events (id text, generation integer, event text, PRIMARY KEY (id, generation))`)
  const text = `WITH head AS (
      INSERT INTO raw_heads VALUES ($1, $2, $4, $5)
      ON CONFLICT (id) DO UPDATE SET generation = excluded.generation, updated_at = excluded.updated_at RETURNING id)
    INSERT INTO raw_events SELECT id, $2, $3 FROM head`
  return {
    ...{ name: fsync === 'on' ? 'PostgreSQL' : 'PostgreSQL without fsync', url: server.url },
    open: async (feedSize) => {
      const store = postgresStore(connect(), { feedSize })
      await store.migrate()
      return store
    },
    raw: async (taskId, generation, event) => {
      const values = [taskId, generation, event, 'working', new Date().toISOString()]
      await raw.query({ name: 'raw', text, values })
    },
    close: async () => {
      await Promise.all(pools.map((pool) => pool.end()))
      await server.stop()
    },
  }
}

export async function benchRedis({ url }: Build): Promise<Bench> {
  needRedis()
  const { redisStore } = (await import(new URL('stores/redis/index.js', url).href)) as typeof RedisStores
  const server = await startRedis('--appendfsync', 'always')
  const clients: Redis[] = []
  const connect = (): Redis => {
    const client = new Redis(server.url)
    clients.push(client)
    return client
  }
  const raw = connect()
  const prefix = randomUUID()
  return {
    ...{ name: 'Redis', url: server.url },
    open: async (feedSize) => {
      const store = redisStore(connect(), { feedSize })
      await store.migrate()
      return store
    },
    raw: async (taskId, generation, event) => {
      const multi = raw.multi()
      multi.xadd(`${prefix}:${taskId}:log`, `${generation}-0`, 'event', event)
      multi.hset(`${prefix}:${taskId}`, 'generation', generation, 'state', 'working', 'updatedAt', Date.now())
      await multi.exec()
    },
    close: async () => {
      for (const client of clients) client.disconnect()
      await server.stop()
    },
  }
}

type Maker = (build: Build) => Promise<Bench>

export const STORES: readonly Maker[] = [benchMemory, benchSqlite, benchPostgres, benchRedis]
const NAMES = ['memory', 'SQLite', 'PostgreSQL', 'Redis']

/** The same work over each store, on a server of its own. */
export function overStores(
  what: string,
  open: (build: Build, bench: Bench) => Promise<Variant>,
): readonly Work[] {
  return STORES.map((make, index) => ({
    name: `${NAMES[index]}: ${what}`,
    open: (build) => openOver(make, build, open),
    waits: make !== benchMemory,
  }))
}

/** A variant that closes its server after it. */
export async function openOver(
  make: Maker,
  build: Build,
  open: (build: Build, bench: Bench) => Promise<Variant>,
): Promise<Variant> {
  const bench = await make(build)
  const variant = await open(build, bench)
  return {
    ...variant,
    close: async () => {
      await variant.close?.()
      await bench.close()
    },
  }
}

/** Measures one store after the other, without those whose server is not installed. */
export async function* eachOf(
  makers: readonly Maker[],
  build: Build,
  work: (bench: Bench, another: () => Promise<Bench>) => Promise<readonly Row[]>,
): AsyncIterable<Row> {
  for (const make of makers) {
    const bench = await orLeaveOut(make, build)
    if (bench === undefined) continue
    try {
      yield* await work(bench, () => make(build))
    } finally {
      await bench.close()
    }
  }
}

async function orLeaveOut(make: Maker, build: Build): Promise<Bench | undefined> {
  try {
    return await make(build)
  } catch (error) {
    leaveOut(`rows of ${make.name}`, error)
    return undefined
  }
}
