/** The feed of a PostgreSQL store beyond the common suite: which processes write it, and where it begins. */
import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, expect, it } from 'vitest'
import { postgresStore, type PostgresStore } from 'a2a-tasks/stores/postgres'
import { put } from '../../../src/testing/task-store-suite/samples.js'
import { sharedPglite } from '../../support/pglite.js'
import { endOf, testWrittenFeed } from '../support/written-feed.js'

let database: PGlite
beforeAll(async () => {
  database = await sharedPglite()
}, 60_000)

async function open(schema: string, feedSize?: number): Promise<PostgresStore> {
  const store = postgresStore(database, { schema, feedSize })
  await store.migrate()
  return store
}

testWrittenFeed(open)

it('does not know the cursors of before a dump was restored, when transactions count from the start again', async () => {
  const store = await open('restored', 10)
  const cursors = [await endOf(store)]
  await put(store, 'a')
  cursors.push(await endOf(store))
  // As in a dump of a server that had counted further.
  await database.query('UPDATE restored.feed SET xid = xid + 1000000 WHERE xid > 0')
  await store.migrate()
  for (const cursor of cursors) {
    expect(await store.feed?.read(cursor, 10)).toMatchObject({ entries: [], isResync: true })
  }
  const start = await endOf(store)
  await put(store, 'b')
  expect((await store.feed?.read(start, 10))?.entries.map(({ task }) => task.id)).toEqual(['b'])
})

it('is read by its index', async () => {
  const store = await open('indexed', 100_000)
  await database.query(
    'INSERT INTO indexed.feed (xid, task, generation) SELECT 3, n, 1 FROM generate_series(1, 20000) n',
  )
  await database.query('ANALYZE indexed.feed')
  const plans: string[] = []
  const explaining = new Proxy(database, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (name !== 'query') return typeof value === 'function' ? (value.bind(target) as unknown) : value
      return async (text: string, parameters: unknown[], options: object) => {
        const { rows } = await target.query<[string]>(`EXPLAIN ${text}`, parameters, { rowMode: 'array' })
        plans.push(rows.map(([line]) => line).join('\n'))
        return await target.query(text, parameters, options)
      }
    },
  })
  const explained = postgresStore(explaining, { schema: 'indexed', feedSize: 100_000 })
  const end = await endOf(explained)
  await explained.feed?.read('3-5-1', 10)
  await explained.feed?.trim()
  await put(store, 'a')
  expect(end).not.toBe('')
  expect(plans).toHaveLength(3)
  for (const plan of plans) expect(plan).not.toMatch(/Seq Scan on feed/)
})

it.each([-1, 0.5, 2 ** 31, '5'])('refuses the size %s', (feedSize) => {
  // Not what the types allow.
  expect(() => postgresStore(database, { feedSize: feedSize as number })).toThrow(
    '"feedSize" must be an integer from 0',
  )
})
