/**
 * Stores by their URL or path, opened with the driver of the project.
 *
 * @module
 */
import type { TaskStore } from 'a2a-tasks/durable'
import { usageFailure } from '../failure.js'
import { loadDriver, type Driver } from './drivers.js'

export interface OpenOptions {
  /** The folder whose drivers are used. */
  readonly cwd: string
  readonly schema?: string | undefined
  readonly prefix?: string | undefined
}

export interface OpenedStore {
  readonly store: TaskStore & { migrate(): Promise<void> }
  readonly close: () => Promise<void>
}

/** A constructor or a function of a driver, which its store checks by what it returns. */
type Make = new (...args: unknown[]) => unknown
type Call = (...args: unknown[]) => unknown

export async function openPostgres(url: string, { cwd, schema }: OpenOptions): Promise<OpenedStore> {
  const { postgresStore } = await import('a2a-tasks/stores/postgres')
  const { name, module } = await loadDriver(['pg', 'postgres'], cwd)
  // The store checks the client by its methods.
  const client = (
    name === 'pg'
      ? new (exported(module, 'Pool') as Make)({
          connectionString: url,
          max: 2,
          connectionTimeoutMillis: 10_000,
        })
      : (exported(module, 'default') as Call)(url, { max: 2, connect_timeout: 10, onnotice: () => undefined })
  ) as Parameters<typeof postgresStore>[0] & {
    end(): Promise<void>
    on?: (event: string, listener: Call) => void
  }
  // Without a listener, an idle connection that breaks ends the process.
  client.on?.('error', () => undefined)
  return {
    store: postgresStore(client, { ...(schema !== undefined && { schema }), listen: false }),
    close: () => client.end(),
  }
}

export async function openRedis(url: string, { cwd, prefix }: OpenOptions): Promise<OpenedStore> {
  const { redisStore } = await import('a2a-tasks/stores/redis')
  const { name, module } = await loadDriver(['redis', 'ioredis'], cwd)
  const client = (
    name === 'redis'
      ? (exported(module, 'createClient') as Call)({
          url,
          socket: { reconnectStrategy: false, connectTimeout: 10_000 },
        })
      : new (exported(module, 'Redis') as Make)(url, { lazyConnect: true, retryStrategy: () => null })
  ) as Parameters<typeof redisStore>[0] & {
    connect(): Promise<unknown>
    on(event: string, listener: Call): void
    quit(): Promise<unknown>
  }
  // Without a listener, a connection that breaks ends the process. `connect` rejects with the error.
  client.on('error', () => undefined)
  await client.connect()
  return {
    store: redisStore(client, { ...(prefix !== undefined && { prefix }) }),
    close: async () => {
      await client.quit()
    },
  }
}

interface OpenedDatabase {
  close(): void
}

export async function openSqlite(path: string, { cwd, prefix }: OpenOptions): Promise<OpenedStore> {
  const { sqliteStore } = await import('a2a-tasks/stores/sqlite')
  // The store checks the database by its methods.
  const database = (await openDatabase(path, cwd)) as OpenedDatabase & Parameters<typeof sqliteStore>[0]
  return {
    store: sqliteStore(database, { ...(prefix !== undefined && { prefix }) }),
    close: () => {
      database.close()
      return Promise.resolve()
    },
  }
}

/** The types of Node 20 do not know it. */
const BUILTIN: string = 'node:sqlite'

/** By the module of Node where there is one, otherwise by the driver of the project. */
async function openDatabase(path: string, cwd: string): Promise<unknown> {
  // The exports of a module.
  const builtin = (await import(BUILTIN).catch(() => undefined)) as Driver['module'] | undefined
  if (builtin !== undefined) return new (exported(builtin, 'DatabaseSync') as Make)(path)
  const { module } = await loadDriver(['libsql', 'better-sqlite3'], cwd)
  return new (exported(module, 'default') as Make)(path)
}

function exported(module: Driver['module'], name: string): unknown {
  const value = module[name]
  if (typeof value !== 'function') throw usageFailure(`The driver has no "${name}": update it`)
  return value
}
