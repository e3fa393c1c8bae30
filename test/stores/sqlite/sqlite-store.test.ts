/** The SQLite store beyond the common suite. */
import { sqliteStore, type SqliteDatabase } from 'a2a-tasks/stores/sqlite'
import { testTaskStore } from 'a2a-tasks/testing'
import Database from 'libsql'
import { statSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { StoreFilter, TaskStore } from 'a2a-tasks/durable'
import { keyOf } from '../../../src/core/task.js'
import { put } from '../../../src/testing/task-store-suite/samples.js'
import { commitOf, creationOf, snapshot } from './support/sqlite-log.js'
import { counterIn, databaseFile, type DatabaseFile } from './support/sqlite.js'

let file: DatabaseFile
beforeEach(() => (file = databaseFile()))
afterEach(() => file.remove())

const { head, ...TASK } = creationOf('task')
const key = { id: head.id, createdAt: head.createdAt }
const TIME = head.updatedAt
const lease = { id: 'lease', ttlMs: 1_000 }
/** For a machine that is busy. */
const WAIT = { timeout: 60_000 }

describe('no statement', () => {
  test('scans a table or sorts', async () => {
    const database = file.connect()
    const asked = new Set<string>()
    const store = sqliteStore(recording(database, asked), { feedSize: 1 })
    await store.migrate()
    asked.clear()
    await useAll(store)

    const plans = [...asked].flatMap((sql) => {
      if (/^(BEGIN|COMMIT|ROLLBACK|PRAGMA)/.test(sql) || /sqlite_schema|a2a_schema/.test(sql)) return []
      return database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...unbound(sql))
        .map((row) => {
          // What SQLite documents of EXPLAIN QUERY PLAN.
          return { sql, detail: (row as { detail: string }).detail }
        })
    })
    expect(plans.length).toBeGreaterThan(100)
    expect(plans.filter(({ sql, detail }) => !isDirect(sql, detail))).toEqual([])
  })

  test('is prepared twice', async () => {
    const prepared: string[] = []
    const store = sqliteStore(recording(file.connect(), { add: (sql) => prepared.push(sql) }), {
      feedSize: 1,
    })
    await store.migrate()
    await useAll(store)
    await useAll(store)
    expect(new Set(prepared).size).toBe(prepared.length)
  })
})

describe('of several properties that a list asks for, the one that fewest tasks share is looked up:', () => {
  test.each<[StoreFilter, string]>([
    [{ contextId: 'c', owner: 'o', skill: 's', state: 'working' }, 'context'],
    [{ owner: 'o', skill: 's', state: 'working' }, 'owner'],
    [{ owner: null, skill: 's', state: 'working' }, 'skill'],
    [{ owner: null, state: 'working' }, 'state'],
    [{ owner: null, updatedSince: TIME }, 'owner'],
    [{ updatedSince: TIME }, 'time'],
  ])('%o are read by the index %s', async (filter, index) => {
    const database = file.connect()
    const asked = new Set<string>()
    const store = sqliteStore(recording(database, asked))
    await store.migrate()
    asked.clear()
    await store.list({ ...filter, limit: 10 })
    const [sql = ''] = [...asked].filter((each) => each.startsWith('SELECT key'))
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...unbound(sql))
    expect(JSON.stringify(plan)).toContain(`INDEX a2a_tasks_by_${index} (`)
  })
})

test('a lease is renewed before the call returns, whatever was requested before', async () => {
  const database = file.connect()
  const clock = { ms: 0 }
  const store = sqliteStore(database, { now: () => clock.ms })
  await store.migrate()
  const { task } = await put(store, 'leased', { lease: { id: 'l', ttlMs: 3_000 } })
  clock.ms = 1_000
  const lists = Array.from({ length: 33 }, () => store.list({ limit: 10 }))
  const renewing = store.renew([{ key: keyOf(task), id: 'l' }], 3_000)
  expect(database.prepare('SELECT ends_at FROM a2a_leases').all()).toMatchObject([{ ends_at: 4_000 }])
  expect(await renewing).toEqual(['l'])
  await Promise.all(lists)
})

test('appending to a large task writes little', async () => {
  const database = file.connect()
  database.exec('PRAGMA wal_autocheckpoint = 0')
  const store = sqliteStore(database)
  await store.migrate()
  await store.create({ ...TASK, head, task: snapshot('task', 1, 'x'.repeat(5_000_000)) })
  database.pragma('wal_checkpoint(TRUNCATE)')
  for (let generation = 1; generation <= 100; generation += 1) {
    const { checkpoint, ...commit } = commitOf(key, generation, 'a', 3)
    expect(checkpoint).toBeUndefined()
    expect(await store.commit(commit)).toBe('committed')
  }
  // Pages of 4 KiB: that of the event, that of the head, those of the indexes.
  expect(statSync(`${file.path}-wal`).size / 100).toBeLessThan(12 * 4_200)
})

describe('a transaction that the caller has open', () => {
  test('makes methods reject, and is still open after that', async () => {
    const database = file.connect()
    const store = sqliteStore(database)
    await store.migrate()
    database.exec('CREATE TABLE own (id TEXT)')
    database.exec('BEGIN')
    database.prepare('INSERT INTO own VALUES (?)').run('kept')
    await expect(store.create(creationOf('task'))).rejects.toThrow('transaction')
    await expect(store.get('task')).rejects.toThrow('transaction')
    database.exec('COMMIT')
    expect(database.prepare('SELECT id FROM own').all()).toEqual([{ id: 'kept' }])
    expect(await store.create(creationOf('task'))).toBe(true)
  })
})

test('a step that fails half way changes nothing, and the next one works', async () => {
  const store = await file.open()
  await store.create(creationOf('task'))
  const commit = commitOf(key, 1, 'a', 2)
  const [first] = commit.events
  const unreadable = {
    toJSON: () => {
      throw new Error('no JSON')
    },
  }
  // Not what the types allow: it stands for a disk that is full.
  const broken = { ...commit, events: [first, unreadable] } as unknown as typeof commit
  await expect(store.commit(broken)).rejects.toThrow('no JSON')
  expect(await store.events(key, 0, 10)).toHaveLength(1)
  expect(await store.commit(commit)).toBe('committed')
})

test('a database that another process writes to is waited for, and given up after the busy timeout', async () => {
  const store = await file.open()
  const database = file.connect()
  const impatient = sqliteStore(database)
  expect(database.pragma('busy_timeout')).toMatchObject([{ timeout: 5_000 }])
  database.exec('PRAGMA busy_timeout = 1')
  const other = file.connect()
  other.exec('BEGIN IMMEDIATE')
  await expect(impatient.create(creationOf('task'))).rejects.toThrow('database is locked')
  expect(await store.get('task')).toBeUndefined()
  other.exec('COMMIT')
  expect(await vi.waitFor(() => impatient.create(creationOf('task')), WAIT)).toBe(true)
})

test('of many writes that find the database locked one waits, and all fail', async () => {
  await file.open()
  const database = file.connect()
  database.exec('PRAGMA busy_timeout = 1')
  let waits = 0
  const counting: SqliteDatabase = {
    prepare: (sql) => database.prepare(sql),
    exec(sql) {
      if (sql === 'BEGIN IMMEDIATE') waits += 1
      database.exec(sql)
    },
  }
  const store = sqliteStore(counting)
  const other = file.connect()
  other.exec('BEGIN IMMEDIATE')
  const creating = ['a', 'b', 'c', 'd'].map((id) => store.create(creationOf(id)))
  for (const each of creating) await expect(each).rejects.toThrow('database is locked')
  expect(waits).toBe(1)
  // Reading continues at the same time.
  expect(await store.count({})).toBe(0)
  other.exec('COMMIT')
  for (const id of ['a', 'b']) expect(await vi.waitFor(() => store.create(creationOf(id)), WAIT)).toBe(true)
})

test('a task that comes without its log continues from its generation', async () => {
  const store = await file.open()
  const creation = { task: snapshot('task', 5), events: [], head: { ...head, generation: 5 }, commitId: 'c' }
  expect(await store.create(creation)).toBe(true)
  expect(await store.create(creation)).toBe(true)
  const commit = commitOf(key, 5, 'a', 1)
  expect(await store.commit(commit)).toBe('committed')
  expect(await store.get('task')).toEqual({ checkpoint: creation.task, events: commit.events })
  expect(await store.events(key, 0, 10)).toEqual(commit.events)
})

test('a busy timeout that the caller has set stays', () => {
  const database = file.connect()
  database.exec('PRAGMA busy_timeout = 123')
  sqliteStore(database)
  expect(database.pragma('busy_timeout')).toMatchObject([{ timeout: 123 }])
})

test('a connection that gives integers as BigInt will do', async () => {
  const database = file.connect()
  const store = sqliteStore(database.defaultSafeIntegers(), { feedSize: 10 })
  await store.migrate()
  const start = await store.feed?.read(undefined, 1)
  await store.create({ ...TASK, head, lease })
  expect(await store.heads(['task'])).toEqual([{ ...key, generation: 1 }])
  expect(await store.commit({ ...commitOf(key, 1, 'a', 0), leaseId: 'lease' })).toBe('committed')
  expect(await store.count({})).toBe(1)
  expect(await store.release(key, 'lease', 2)).toBe(true)
  expect((await store.feed?.read(start?.cursor, 10))?.entries).toHaveLength(2)
})

describe('in memory', () => {
  testTaskStore({
    test,
    create: async (options) => {
      const database = new Database(':memory:')
      const store = sqliteStore(database, { ...options, prefix: 'other_' })
      await store.migrate()
      const counter = counterIn(database)
      return { store, counter, reopen: () => Promise.resolve(store), close: () => Promise.resolve() }
    },
    supports: { hints: false, reopen: false, feed: true, transactions: true, leaseCounts: true },
  })
})

/** Calls every method, in all ways that lead to their own statement. */
async function useAll(store: TaskStore): Promise<void> {
  await store.create({ ...TASK, head, lease })
  await store.create({ ...TASK, head })
  await store.commit(commitOf(key, 1, 'a', 0))
  await store.commit(commitOf(key, 1, 'b', 0))
  await store.acquire(key, lease)
  await store.renew([{ key, id: 'lease' }], 1_000)
  await store.orphans(10)
  await store.get('task')
  await store.heads(['task'])
  await store.events(key, 0, 10)
  await store.putDocument({ key, kind: 'k', id: 'd', value: 1 }, 0)
  await store.putDocument({ key, kind: 'k', id: 'd', value: 2 }, 1)
  await store.documents(key, 'k')
  await store.allDocuments('k', undefined, 10)
  await store.allDocuments('k', { taskId: 'a', createdAt: TIME, id: 'a' }, 10)
  await store.deleteDocument({ key, kind: 'k', id: 'd' })
  for (const filter of filters()) {
    await store.list({ ...filter, limit: 10 })
    await store.list({ ...filter, limit: 10, after: { updatedAt: TIME, id: 'z' } })
    await store.count(filter)
  }
  await store.unended(TIME, 10)
  await store.release(key, 'lease')
  const last = commitOf(key, 2, 'a', 0)
  await store.commit({ ...last, head: { ...last.head, state: 'completed', hasEnded: true } })
  await store.ended({ state: 'completed', updatedBefore: TIME, limit: 10 })
  await store.ended({ state: 'completed', beyond: 10, limit: 10 })
  await store.delete([key])
  const end = await store.feed?.read(undefined, 1)
  await store.feed?.read(end?.cursor, 1)
  await store.feed?.trim()
}

function filters(): StoreFilter[] {
  const choices = [
    [{}, { state: 'working' }],
    [{}, { skill: 'write' }],
    [{}, { contextId: 'context' }],
    [{}, { owner: 'owner' }, { owner: null }],
    [{}, { updatedSince: TIME }],
  ]
  return choices.reduce<StoreFilter[]>(
    (all, next) => all.flatMap((filter) => next.map((more) => ({ ...filter, ...more }))),
    [{}],
  )
}

function recording(database: Database.Database, asked: { add(sql: string): unknown }): SqliteDatabase {
  return {
    exec: (sql) => database.exec(sql),
    prepare(sql) {
      asked.add(sql)
      return database.prepare(sql)
    },
  }
}

/** Something for each `?`. */
function unbound(sql: string): number[] {
  return [...sql.matchAll(/\?/g)].map(() => 1)
}

function isDirect(sql: string, detail: string): boolean {
  // The number of all tasks, or the latest of all: nothing but an index is read, and for a page no more than the page.
  if (/^SCAN a2a_tasks USING (COVERING )?INDEX/.test(detail)) return !sql.includes('WHERE')
  // Within a second, whose tasks come together.
  if (/TEMP B-TREE FOR (RIGHT PART|LAST 2 TERMS) OF ORDER BY/.test(detail))
    return sql.includes('updated_second DESC,')
  if (sql.includes('ended = 1')) return detail.includes('USING COVERING INDEX a2a_tasks_ended (')
  return !/SCAN (?!json_each)|TEMP B-TREE/.test(detail)
}
