/** The PostgreSQL store beyond the common suite, over an in-process database. */
import type { PGlite } from '@electric-sql/pglite'
import { beforeAll, describe, expect, it } from 'vitest'
import { postgresStore, type PgliteDatabase } from 'a2a-tasks/stores/postgres'
import { change, creation, put, type ChangeTraits } from '../../../src/testing/task-store-suite/samples.js'
import { keyOf, type TaskKey } from '../../../src/core/task.js'
import { PARKED } from '../../../src/durable/leases/lease-note.js'
import { migration, STEPS } from '../../../src/stores/postgres/schema.js'
import { sharedPglite } from '../../support/pglite.js'

const KEY = { id: 'task 7', createdAt: '2026-01-01T00:00:07.000Z' }
const LATER = '2027-01-01T00:00:00.000Z'

/** Of three bytes each, too varied to be compressed. */
const LONG = String.fromCharCode(...Array.from({ length: 1_023 }, (_, n) => 0x4e00 + ((n * 7_919) % 20_000)))

let database: PGlite
beforeAll(async () => {
  database = await sharedPglite()
}, 60_000)

describe('postgresStore', () => {
  it('has no hints where it must not listen', () => {
    expect(postgresStore(database, { listen: false }).hints).toBeUndefined()
  })

  it('says that migrate() was not called', async () => {
    const store = postgresStore(database, { schema: 'nothing' })
    const failed = {
      code: 'STORE_FAILED',
      message:
        'The tables of "a2a-tasks" (schema nothing) are not set up: relation "nothing.tasks" does not exist. Call migrate() first',
    }
    await expect(store.get('a')).rejects.toMatchObject({ ...failed, data: { operation: 'get' } })
    await expect(store.renew([{ key: KEY, id: 'l' }], 1)).rejects.toMatchObject({
      ...{ ...failed, data: { operation: 'renew' } },
    })
  })

  it('passes other errors of the database on unchanged', async () => {
    const store = postgresStore(database, { schema: 'failing' })
    await store.migrate()
    await expect(store.events(KEY, 0, -1)).rejects.toThrow(/^LIMIT must not be negative$/)
  })

  it('uses two schemas as two stores', async () => {
    const [one, two] = [
      postgresStore(database, { schema: 'one' }),
      postgresStore(database, { schema: 'two' }),
    ]
    await one.migrate()
    await two.migrate()
    await fill('one', 3)
    expect([await one.count({}), await two.count({})]).toEqual([3, 0])
  })
})

describe('a store in a schema of the application', () => {
  it('leaves its tables alone', async () => {
    await database.exec('CREATE TABLE version (version integer); INSERT INTO version VALUES (7), (0)')
    const store = postgresStore(database, { schema: 'public' })
    await store.migrate()
    expect(await store.count({})).toBe(0)
    expect((await database.query('SELECT version FROM version')).rows).toEqual([
      { version: 7 },
      { version: 0 },
    ])
  })
})

describe('commits that are requested together', () => {
  it('are one statement, and one that the database refuses fails alone', async () => {
    const texts: string[] = []
    const counting: PgliteDatabase = {
      waitReady: database.waitReady,
      listen: () => Promise.reject(new Error('It does not listen')),
      transaction: () => Promise.reject(new Error('It has no transactions')),
      query: (text, parameters, options) => {
        texts.push(text)
        return database.query(text, parameters, options)
      },
    }
    const store = postgresStore(counting, { schema: 'together', listen: false })
    await store.migrate()
    const made = await Promise.all(['a', 'b', 'c', 'd'].map((id) => put(store, id)))
    texts.length = 0
    const first = made.map(({ task }) => change(task))
    expect(await Promise.all(first.map((commit) => store.commit(commit)))).toEqual(
      made.map(() => 'committed'),
    )
    // A half goes by each of two calls.
    expect(texts).toHaveLength(2)
    await database.exec(`ALTER TABLE together.events ADD CHECK (json NOT LIKE '%wrong%')`)
    const next = first.map(({ task }) => change(task, { outputs: [task.id === 'b' ? 'wrong' : 'right'] }))
    const results = await Promise.allSettled(next.map((commit) => store.commit(commit)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
    const heads = await store.heads(['a', 'b', 'c', 'd'])
    expect(Object.fromEntries(heads.map(({ id, generation }) => [id, generation]))).toEqual({
      ...{ a: 3, b: 2, c: 3, d: 3 },
    })
  })
})

describe('documents', () => {
  it('may have kinds and ids of any length, which stay different', async () => {
    const store = postgresStore(database, { schema: 'kinds' })
    await store.migrate()
    const { task } = await put(store, LONG)
    const key = keyOf(task)
    const kinds = ['k', 'k'.repeat(64), 'k'.repeat(65), `${LONG}1`, `${LONG}2`]
    for (const kind of kinds) {
      for (const id of [LONG, 'a'])
        expect(await store.putDocument({ key, kind, id, value: kind }, 0)).toBe(true)
    }
    for (const kind of kinds) {
      const found = { key, kind, value: kind, version: 1 }
      const expected = ['a', LONG].map((id) => ({ ...found, id }))
      expect(await store.documents(key, kind)).toEqual(expected)
      expect(await store.allDocuments(kind, undefined, 10)).toEqual(expected)
      const after = { taskId: key.id, createdAt: key.createdAt, id: 'a' }
      expect(await store.allDocuments(kind, after, 10)).toEqual(expected.slice(1))
      expect(await store.putDocument({ key, kind, id: LONG, value: 'new' }, 1)).toBe(true)
      expect(await store.deleteDocument({ key, kind, id: LONG })).toBe(true)
    }
  })
})

describe('migrate()', () => {
  it('changes nothing when it is called again', async () => {
    const store = postgresStore(database, { schema: 'twice' })
    await store.migrate()
    await fill('twice', 3)
    await store.migrate()
    expect(await store.count({})).toBe(3)
  })

  it('applies the missing steps, and preserves stored tasks', async () => {
    const store = postgresStore(database, { schema: 'older' })
    await store.migrate()
    await fill('older', 3)
    const next = [
      ...STEPS,
      (schema: string) => `ALTER TABLE ${schema}.tasks ADD COLUMN added text DEFAULT 'new';`,
    ]
    await database.query(migration('"older"', next))
    await database.query(migration('"older"', next))
    const { rows } = await database.query(
      'SELECT DISTINCT added, version FROM older.tasks, older.a2a_tasks_version',
    )
    expect(rows).toEqual([{ added: 'new', version: next.length }])
    expect(await store.count({})).toBe(3)
  })

  it('applies all steps or none', async () => {
    const broken = [...STEPS, () => 'SELECT 1 / 0;']
    await expect(database.query(migration('"broken"', broken))).rejects.toThrow()
    const { rows } = await database.query(`SELECT to_regnamespace('broken') AS found`)
    expect(rows).toEqual([{ found: null }])
  })

  it('refuses the tables of a later release', async () => {
    const store = postgresStore(database, { schema: 'newer' })
    await store.migrate()
    await database.query('UPDATE newer.a2a_tasks_version SET version = 99')
    await expect(store.migrate()).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message:
        'The tables of "a2a-tasks" (schema newer) have version 99, and this release knows them up to 3: they were migrated by a later one',
      data: { operation: 'migrate' },
    })
  })
})

describe('among thousands of tasks', () => {
  const { client, plans } = explaining()
  const store = postgresStore(client, { schema: 'many' })
  const key = { key: KEY, kind: 'push', id: 'a' }
  const commitSeveral = (traits: ChangeTraits): Promise<unknown> =>
    Promise.all(
      ['task 6', 'task 7', 'task 8', 'task 9'].map((id) => store.commit(change(creation(id).task, traits))),
    )

  beforeAll(async () => {
    await postgresStore(database, { schema: 'many' }).migrate()
    await fill('many', 5_000)
  })

  it.each([
    ['get()', 'tasks_id_key', () => store.get('task 7')],
    ['heads()', 'tasks_id_key', () => store.heads(['task 7', 'task 8'])],
    ['events()', 'events_pkey', () => store.events(KEY, 0, 10)],
    ['list()', 'tasks_by_time', () => store.list({ limit: 10 })],
    ['list() by state', 'tasks_by_state', () => store.list({ state: 'failed', limit: 10 })],
    ['list() by skill', 'tasks_by_skill', () => store.list({ skill: 'skill 7', limit: 10 })],
    ['list() by context', 'tasks_by_context', () => store.list({ contextId: 'context 7', limit: 10 })],
    ['list() by owner', 'tasks_by_owner', () => store.list({ owner: 'owner 7', limit: 10 })],
    ['list() of no owner', 'tasks_by_owner', () => store.list({ owner: null, limit: 10 })],
    ['list() after', 'tasks_by_time', () => store.list({ after: { id: 'a', updatedAt: LATER }, limit: 10 })],
    ['list() since', 'tasks_by_time', () => store.list({ updatedSince: LATER, limit: 10 })],
    ['count() by state', 'tasks_by_state', () => store.count({ state: 'failed' })],
    ['count() by skill', 'tasks_by_skill', () => store.count({ skill: 'skill 7' })],
    ['count() by context', 'tasks_by_context', () => store.count({ contextId: 'context 7' })],
    ['count() by owner', 'tasks_by_owner', () => store.count({ owner: 'owner 7' })],
    ['count() since', 'tasks_by_time', () => store.count({ updatedSince: LATER })],
    ['unended()', 'tasks_unended', () => store.unended(LATER, 10)],
    ['ended()', 'tasks_by_state', () => store.ended({ state: 'failed', updatedBefore: LATER, limit: 10 })],
    ['ended() beyond', 'tasks_by_state', () => store.ended({ state: 'failed', beyond: 10, limit: 10 })],
    ['delete()', 'tasks_id_key', () => store.delete([KEY])],
    ['commit() of several', 'tasks_id_key', () => commitSeveral({})],
    ['commit() of several, found', 'tasks_pkey', () => commitSeveral({})],
    ['commit() of several with checkpoints', 'contents_pkey', () => commitSeveral({ checkpoint: true })],
    ['acquire()', 'Index Scan', () => store.acquire(KEY, { id: 'l', ttlMs: 1 })],
    ['renew()', 'tasks_id_key', () => store.renew([{ key: KEY, id: 'l' }], 1)],
    ['release()', 'tasks_id_key', () => store.release(KEY, 'l')],
    ['orphans()', 'tasks_held', () => store.orphans(10)],
    ['putDocument()', 'tasks_id_key', () => store.putDocument({ ...key, value: 1 }, 0)],
    ['putDocument() again', 'documents_pkey', () => store.putDocument({ ...key, value: 1 }, 1)],
    ['deleteDocument()', 'documents_pkey', () => store.deleteDocument(key)],
    ['documents()', 'documents_pkey', () => store.documents(KEY, 'push')],
    ['allDocuments()', 'documents_by_kind', () => store.allDocuments('push', undefined, 10)],
    [
      'allDocuments() after',
      'documents_by_kind',
      () => store.allDocuments('push', { taskId: 'task 7', createdAt: LATER, id: 'a' }, 10),
    ],
  ])('%s reads by an index: %s', async (_, index, call) => {
    // What it makes of a plan instead of rows is of no interest.
    await Promise.resolve(call()).catch(() => undefined)
    const [plan = ''] = plans.splice(0)
    expect(plan).toContain(index)
    expect(plan).not.toContain('Seq Scan')
  })

  it('deletes all that belongs to a task', async () => {
    const filled = postgresStore(database, { schema: 'many' })
    expect(await filled.delete([KEY, { ...KEY, id: 'task 8' }, KEY])).toEqual([KEY])
    const tables = ['tasks', 'contents', 'events', 'documents']
    const counts = tables.map(
      (table) => `(SELECT count(*)::int FROM many.${table} WHERE task = 7) AS ${table}`,
    )
    const { rows } = await database.query(`SELECT ${counts.join(', ')}`)
    expect(rows).toEqual([{ tasks: 0, contents: 0, events: 0, documents: 0 }])
  })
})

describe('among thousands of tasks that sleep', () => {
  const { client, plans } = explaining()

  beforeAll(async () => {
    const filled = postgresStore(database, { schema: 'asleep', now: () => 1_000 })
    // The tables of the first version get their index when they have tasks.
    await database.query(migration('"asleep"', STEPS.slice(0, 1)))
    await fill('asleep', 3_000)
    await filled.migrate()
    for (const at of [7, 8, 9]) {
      const key: TaskKey = { id: `task ${at}`, createdAt: createdAtOf(at) }
      expect(await filled.acquire(key, { id: 'mine', ttlMs: 1 })).toMatchObject({ leaseId: 'mine' })
      const next = { id: PARKED, ttlMs: at === 9 ? 1_000_000 : 0, note: { at } }
      expect(await filled.release(key, 'mine', undefined, next)).toBe(true)
    }
    await database.exec(`
      UPDATE asleep.tasks SET lease_id = '${PARKED}', lease_until = 1e15, parked_until = 1e15
        WHERE task > 100 AND NOT ended;
      ANALYZE asleep.tasks;`)
  })

  it('reads the leases that have expired, and no others', async () => {
    const store = postgresStore(client, { schema: 'asleep', now: () => 1_000 })
    await store.orphans(10).catch(() => undefined)
    const [plan = ''] = plans.splice(0)
    expect(plan).toContain('tasks_held')
    expect(plan).toMatch(/tasks_parked.*Index Cond: \(parked_until <=/s)
    expect(plan).not.toContain('Seq Scan')
  })

  it('finds those of dead processes, and those that are due', async () => {
    const store = postgresStore(database, { schema: 'asleep', now: () => 1_000 })
    const orphans = await store.orphans(10)
    expect(orphans.map(({ key, note }) => [key.id, note])).toEqual([
      ['task 1', undefined],
      ['task 7', { at: 7 }],
      ['task 8', { at: 8 }],
    ])
    expect(await store.orphans(2)).toHaveLength(2)
  })

  it('finds one that is woken, and none that was taken', async () => {
    const store = postgresStore(database, { schema: 'asleep', now: () => 1_000 })
    const key = { id: 'task 9', createdAt: createdAtOf(9) }
    expect(await store.renew([{ key, id: PARKED }], 0)).toEqual([PARKED])
    expect((await store.orphans(10)).map(({ key }) => key.id)).toContain('task 9')
    expect(await store.acquire(key, { id: 'mine', ttlMs: 500 })).toMatchObject({ leaseId: 'mine' })
    expect((await store.orphans(10)).map(({ key }) => key.id)).not.toContain('task 9')
    const later = postgresStore(database, { schema: 'asleep', now: () => 2_000 })
    expect((await later.orphans(10)).map(({ key }) => key.id)).toContain('task 9')
  })
})

function createdAtOf(at: number): string {
  return new Date(Date.parse('2026-01-01') + at * 1_000).toISOString()
}

/** `count` tasks, one in each second, each with a document; some have ended, some are leased. */
async function fill(schema: string, count: number): Promise<void> {
  await database.exec(`
    INSERT INTO ${schema}.tasks (id, created_at, generation, state, ended, updated_at, updated_second,
      skill, context_id, owner, lease_id, lease_until)
    SELECT 'task ' || n, at.text, 1, CASE WHEN n % 10 = 0 THEN 'failed' ELSE 'working' END, n % 10 = 0,
      at.text, left(at.text, 19), 'skill ' || n % 100, 'context ' || n % 1000, 'owner ' || n % 100,
      CASE WHEN n % 100 = 1 THEN 'lease ' || n END, CASE WHEN n % 100 = 1 THEN n END
    FROM generate_series(1, ${count}) n, LATERAL (
      SELECT to_char(timestamp '2026-01-01' + n * interval '1 s', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS text
    ) at;
    INSERT INTO ${schema}.contents SELECT task, 1, '{}', '' FROM ${schema}.tasks;
    INSERT INTO ${schema}.events SELECT task, n, NULL, '{}' FROM ${schema}.tasks, generate_series(1, 3) n;
    INSERT INTO ${schema}.documents SELECT task, id, created_at, 'push', 'a', 1, '1' FROM ${schema}.tasks;
    ANALYZE ${schema}.tasks, ${schema}.contents, ${schema}.events, ${schema}.documents;`)
}

/** A client that tells how each statement would be run, and runs none. */
function explaining(): { client: PgliteDatabase; plans: string[] } {
  const plans: string[] = []
  const client: PgliteDatabase = {
    waitReady: Promise.resolve(),
    listen: () => Promise.reject(new Error('It does not listen')),
    transaction: () => Promise.reject(new Error('It has no transactions')),
    async query(text, parameters, options) {
      const { rows } = await database.query<[string]>(`EXPLAIN ${text}`, parameters, options)
      plans.push(rows.map(([line]) => line).join('\n'))
      return { rows: [] }
    },
  }
  return { client, plans }
}
