/** The store over clients whose options change what statements reach, or how results come. */
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, describe, it } from 'vitest'
import { postgresStore, type PostgresClient } from 'a2a-tasks/stores/postgres'
import { testTaskStore } from 'a2a-tasks/testing'
import { skipWithoutPostgres, whenPostgres } from '../../support/postgres-server.js'
import { serverForTests, storesBy } from './support/drivers.js'

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

type Open = (url: string) => { readonly client: PostgresClient; readonly end: () => Promise<void> }

function byPg(config: pg.PoolConfig): Open {
  return (connectionString) => {
    const pool = new pg.Pool({ connectionString, max: 4, ...config }).on('error', () => undefined)
    return { client: pool, end: () => pool.end() }
  }
}

function byPostgres(options: object): Open {
  return (url) => {
    const sql = postgres(url, { max: 4, onnotice: () => undefined, ...options })
    return { client: sql, end: () => sql.end({ timeout: 1 }) }
  }
}

const broken = (): unknown => ({ broken: true })
const other = { from: [16, 20, 21, 23, 114, 1114, 1184, 3802], to: 20, parse: broken, serialize: String }

const { INT4, INT8, TEXT, TIMESTAMPTZ, JSONB } = pg.types.builtins

/** Parsers of all clients of the process, as applications set that one for numbers of 64 bits. */
function byPgOfAll(url: string): ReturnType<Open> {
  for (const type of [INT4, INT8, TEXT, TIMESTAMPTZ, JSONB]) pg.types.setTypeParser(type, broken)
  return byPg({})(url)
}

const CLIENTS: readonly [name: string, open: Open][] = [
  ['pg with parsers of types', byPg({ types: { getTypeParser: () => broken } })],
  ['pg with parsers of types for all clients', byPgOfAll],
  ['pg with binary results', byPg({ binary: true } as pg.PoolConfig)],
  ['pg with a search_path', byPg({ options: '-c search_path=pg_temp' })],
  [
    'pg with other formats',
    byPg({ options: '-c DateStyle=German -c bytea_output=escape -c timezone=Asia/Tokyo' }),
  ],
  ['postgres with parsers of types', byPostgres({ types: { other } })],
  ['postgres with names in camel case', byPostgres({ transform: postgres.camel })],
  ['postgres without prepared statements', byPostgres({ prepare: false, fetch_types: false })],
]

whenPostgres('postgresStore', () => {
  const given = [INT4, INT8, TEXT, TIMESTAMPTZ, JSONB].map((type) => ({
    type,
    // The types of the driver say `any`.
    parse: pg.types.getTypeParser(type) as (text: string) => unknown,
  }))
  afterAll(() => {
    for (const { type, parse } of given) pg.types.setTypeParser(type, parse)
  })
  const server = serverForTests()
  let stores = 0

  describe.each(CLIENTS)('over %s', (_, open) => {
    let tests = 0
    testTaskStore({
      test: (name, run) => {
        // The whole suite runs over clients without options.
        if ((tests += 1) % 8 === 0) it(name, run)
      },
      create: async (given) => {
        stores += 1
        const options = { ...given, schema: `options_${stores}` }
        return await storesBy((keep) => postgresStore(keep(open(server().url)), options))
      },
      supports: { hints: true, reopen: true, feed: true, leaseCounts: true },
    })
  })
})
