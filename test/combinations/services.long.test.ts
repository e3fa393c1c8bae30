/** Every part over real servers of PostgreSQL and Redis. */
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, beforeAll, it, test } from 'vitest'
import {
  skipWithoutPostgres,
  startPostgres,
  whenPostgres,
  type PostgresServer,
} from '../support/postgres-server.js'
import { skipWithoutRedis, startRedis, type RedisServer } from '../support/redis-server.js'
import { whenRedis } from '../services/redis/clients.js'
import { COLUMNS } from './support/columns.js'
import { DELETION_RULES } from './support/deletions.js'
import { durableRow, postgresIn, redisIn } from './support/rows.js'
import { STORE_RULES } from './support/stored-first.js'
import { together } from './support/together.js'

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))
it('redis-server is installed', (context) => skipWithoutRedis(context))

whenPostgres('over PostgreSQL', () => {
  let server: PostgresServer
  let pool: pg.Pool
  beforeAll(async () => {
    server = await startPostgres()
    pool = new pg.Pool({ connectionString: server.url, max: 20 })
    pool.on('error', () => undefined)
  })
  afterAll(async () => {
    await pool.end()
    await server.stop()
  })
  const row = durableRow('pg', 'PostgreSQL', (options) => postgresIn(pool, options))
  test.each(COLUMNS)('$name', (column) => column.test(row))
  test('all parts together', () => together(row))
  test.each([...STORE_RULES, ...DELETION_RULES])('%s', (_, rule) => rule(row))
})

whenRedis('over Redis', () => {
  let server: RedisServer
  let client: Redis
  beforeAll(async () => {
    server = await startRedis()
    client = new Redis(server.url)
  })
  afterAll(async () => {
    await client.quit()
    await server.stop()
  })
  const row = durableRow('ioredis', 'Redis', (options) => redisIn(client, options))
  test.each(COLUMNS)('$name', (column) => column.test(row))
  test('all parts together', () => together(row))
  test.each([...STORE_RULES, ...DELETION_RULES])('%s', (_, rule) => rule(row))
})
