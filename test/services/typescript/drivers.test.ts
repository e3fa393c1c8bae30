/** Strict programs over the real types of every database driver, node:sqlite included, against the built declarations. */
import { symlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { Consumer } from '../../support/consumer.js'
import { typeFaultsOf } from '../../support/type-faults.js'
import { skipMissing } from '../installed.js'

const consumer = new Consumer()
consumer.install(
  'zod',
  'libsql',
  '@types/better-sqlite3',
  '@types/pg',
  'pg',
  'postgres',
  '@electric-sql',
  'ioredis',
  'redis',
)
consumer.install('@redis', '@ioredis', 'pg-protocol', 'pg-types', 'eventemitter3')
const NODE_TYPES = fileURLToPath(new URL('../node_modules/@types/node', import.meta.url))
symlinkSync(NODE_TYPES, `${consumer.folder}/node_modules/@types/node`, 'junction')
afterAll(() => {
  consumer.remove()
})

const PROGRAM = `
import { DatabaseSync } from 'node:sqlite'
import { PGlite } from '@electric-sql/pglite'
import Better from 'better-sqlite3'
import { Redis } from 'ioredis'
import Libsql from 'libsql'
import pg from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis'
import { DurableTaskManager, type TaskStore } from 'a2a-tasks/durable'
import { createRequestHandler, type Principal } from 'a2a-tasks/server'
import { postgresStore } from 'a2a-tasks/stores/postgres'
import { redisStore } from 'a2a-tasks/stores/redis'
import { openTasks, sqliteStore } from 'a2a-tasks/stores/sqlite'

interface User extends Principal { readonly name: string }

const stores: TaskStore[] = [
  sqliteStore(new DatabaseSync('tasks.db')),
  sqliteStore(new Better('tasks.db')),
  sqliteStore(new Libsql('tasks.db')),
  postgresStore(new pg.Pool({ max: 5 })),
  postgresStore(postgres('postgres://localhost')),
  postgresStore(new PGlite()),
  redisStore(new Redis()),
  redisStore(createClient()),
  redisStore(await createClient().connect()),
]
const managers = [
  await openTasks('tasks.db'),
  await openTasks(new DatabaseSync('tasks.db')),
  await openTasks(new Better('tasks.db')),
  await openTasks(new Libsql('tasks.db')),
  ...stores.map((store) => new DurableTaskManager({ store })),
]
const card = { name: 'Echo', url: 'http://localhost:3000' }
for (const tasks of managers) {
  createRequestHandler<User>({ card, tasks, execute: (run) => run.principal?.name ?? '' })
}
createRequestHandler({
  card,
  execute: async (run) => {
    const count = await run.transaction('count', (client: DatabaseSync) => client.prepare('SELECT 1').all().length)
    await run.transaction('row', (client: DatabaseSync) => client.prepare('SELECT 1').get())
    return String(count)
  },
})
// @ts-expect-error Its methods return promises.
sqliteStore({ exec: async () => {}, prepare: async () => ({}) })
`

test('compile', { timeout: 120_000 }, (context) => {
  skipMissing(context, '@types/node')
  expect(typeFaultsOf(consumer, [consumer.write('drivers.mts', PROGRAM)])).toEqual([])
})
