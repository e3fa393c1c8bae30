import type { PGlite } from '@electric-sql/pglite'
import type pg from 'pg'
import type postgres from 'postgres'
import { expectTypeOf, test } from 'vitest'
import type {
  postgresStore,
  PgliteDatabase,
  PgPool,
  PostgresClient,
  PostgresJsSql,
} from '../../src/stores/postgres/index.js'

test('the store accepts the clients of the drivers', () => {
  expectTypeOf<pg.Pool>().toExtend<PgPool>()
  expectTypeOf<postgres.Sql>().toExtend<PostgresJsSql>()
  expectTypeOf<postgres.Sql<{ bigint: bigint }>>().toExtend<PostgresJsSql>()
  expectTypeOf<PGlite>().toExtend<PgliteDatabase>()
  expectTypeOf<typeof postgresStore>().parameter(0).toEqualTypeOf<PgPool | PostgresJsSql | PgliteDatabase>()
})

test('other values are refused', () => {
  expectTypeOf<pg.Client>().not.toExtend<PostgresClient>()
  expectTypeOf<string>().not.toExtend<PostgresClient>()
})
