import type { Transaction as PgliteTransaction } from '@electric-sql/pglite'
import type BetterSqlite from 'better-sqlite3'
import type Libsql from 'libsql'
import type pg from 'pg'
import type postgres from 'postgres'
import type { Run, StepContext } from 'a2a-tasks/server'
import { expectTypeOf, test } from 'vitest'

declare const run: Run

test('the work names the type of its client, which is that of the driver', () => {
  expectTypeOf(
    run.transaction('pg', async (client: pg.PoolClient) => (await client.query('')).rowCount),
  ).toEqualTypeOf<Promise<number | null>>()
  expectTypeOf(
    run.transaction('postgres', async (sql: postgres.ReservedSql) => (await sql`SELECT 1`).length),
  ).toEqualTypeOf<Promise<number>>()
  expectTypeOf(
    run.transaction('PGlite', async (client: PgliteTransaction) => (await client.query('')).rows.length),
  ).toEqualTypeOf<Promise<number>>()
  expectTypeOf(
    run.transaction('libsql', (client: Libsql.Database) => client.prepare('').run().changes),
  ).toEqualTypeOf<Promise<number>>()
  expectTypeOf(
    run.transaction('better-sqlite3', (client: BetterSqlite.Database) => client.prepare('').run().changes),
  ).toEqualTypeOf<Promise<number>>()
})

test('without a type, nothing can be done with the client', () => {
  void run.transaction('none', (client, step) => {
    expectTypeOf(client).toBeUnknown()
    expectTypeOf(step).toEqualTypeOf<StepContext>()
  })
})

test('the result is data, or nothing', () => {
  expectTypeOf(run.transaction('nothing', () => undefined)).toEqualTypeOf<Promise<undefined>>()
  expectTypeOf(run.transaction('object', () => ({ id: 1, tags: ['a'] }))).toEqualTypeOf<
    Promise<{ id: number; tags: string[] }>
  >()
  expectTypeOf(run.transaction('bigint', () => BigInt(1))).toEqualTypeOf<Promise<bigint>>()
  expectTypeOf(run.transaction('map', () => Promise.resolve(new Map([['a', 1]])))).toEqualTypeOf<
    Promise<Map<string, number>>
  >()
  // @ts-expect-error: a function is no data
  void run.transaction('function', () => () => 1)
})

test('options are those of a step', () => {
  void run.transaction('options', () => 1, { timeoutMs: 1_000, retry: { attempts: 2 } })
  // @ts-expect-error: no such option
  void run.transaction('unknown', () => 1, { timeout: 1_000 })
})
