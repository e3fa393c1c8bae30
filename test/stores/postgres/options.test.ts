/** Options of the PostgreSQL store, without a database. */
import pg from 'pg'
import postgres from 'postgres'
import { describe, expect, it } from 'vitest'
import { postgresStore, type PostgresClient, type PostgresStoreOptions } from 'a2a-tasks/stores/postgres'

const pool = new pg.Pool({ max: 2 })
const single = new pg.Pool({ max: 1 })

describe('postgresStore', () => {
  it.each([
    [
      {},
      '"client" must be a Pool of "pg" (not a Client), the result of postgres() of "postgres", or a PGlite',
    ],
    [null, '"client" must be'],
    ['postgres://localhost', 'or a PGlite; got a string'],
    [new pg.Client(), '"client" must be'],
  ])('refuses the client %o', (client, text) => {
    // As who writes JavaScript may call it.
    const open = () => postgresStore(client as PostgresClient)
    expect(open).toThrow(TypeError)
    expect(open).toThrow(text)
  })

  it.each([
    [
      { prefix: 'x' },
      'Unknown option "prefix" of postgresStore; known are schema, now, prepare, listen, feedSize, readOnly',
    ],
    [{ now: 1 }, '"now" must be a function'],
    [{ prepare: 'no' }, '"prepare" must be true or false'],
    [{ prepare: null }, '"prepare" must be true or false'],
    [{ readOnly: 'yes' }, '"readOnly" must be a boolean'],
    [{ readOnly: true, listen: pool }, '"readOnly" and "listen" exclude each other'],
    [{ listen: true }, '"listen" must be a Pool of "pg" (not a Client)'],
    [{ listen: null }, '"listen" must be'],
    [{ listen: new pg.Client() }, '"listen" must be'],
  ])('refuses the options %o', (options, text) => {
    const open = () => postgresStore(pool, options as PostgresStoreOptions)
    expect(open).toThrow(TypeError)
    expect(open).toThrow(text)
  })

  it.each([
    ...['', 'Tasks', 'a b', 'a"b', '1a', 'a'.repeat(51), 'information_schema', 'pg_catalog', 'pg_mine'],
    ...[null, 7],
  ])('refuses the schema %j', (schema) => {
    expect(() => postgresStore(pool, { schema: schema as string })).toThrow(RangeError)
  })

  it.each(['a', 'pgtasks', 'information_schema_of_mine', 'a'.repeat(50)])('takes the schema %j', (schema) => {
    expect(() => postgresStore(pool, { schema })).not.toThrow()
  })

  it.each<object>([
    { transform: { value: { from: () => 'other' } } },
    { transform: { row: { from: (row: unknown[]) => ({ first: row[0] }) } } },
    {
      types: {
        upper: { to: 25, from: [25], parse: (text: string) => text.toUpperCase(), serialize: String },
      },
    },
    { types: { upper: { to: 25, from: [], serialize: (text: string) => text.toUpperCase() } } },
    { types: { cents: { to: 20, from: [], serialize: (n: number) => String(100 * n) } } },
    { types: { date: { to: 23, from: [], serialize: (date: Date) => String(date.getTime()) } } },
  ])('refuses a client of "postgres" that changes results: %o', (options) => {
    const open = () => postgresStore(postgres(options))
    expect(open).toThrow(TypeError)
    expect(open).toThrow('pass a client that leaves them as they are')
    expect(() => postgresStore(postgres({ transform: postgres.camel }))).not.toThrow()
    expect(() => postgresStore(postgres({ types: { bigint: postgres.BigInt } }))).not.toThrow()
  })

  it('refuses a pool whose only connection would be the one that listens', () => {
    const text = 'set "listen" to false'
    expect(() => postgresStore(single)).toThrow(RangeError)
    expect(() => postgresStore(single)).toThrow(text)
    expect(() => postgresStore(single, { listen: single })).toThrow(text)
    expect(postgresStore(single, { listen: false }).hints).toBeUndefined()
    // Each has its own.
    expect(postgresStore(single, { listen: new pg.Pool({ max: 1 }) }).hints).toBeDefined()
  })
})
