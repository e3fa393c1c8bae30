/** Errors that need an operator, and errors that must not, on a real server. */
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { A2AError } from 'a2a-tasks'
import { postgresStore, type PostgresStoreOptions } from 'a2a-tasks/stores/postgres'
import { change, creation, put } from '../../../src/testing/task-store-suite/samples.js'
import { keyOf } from '../../../src/core/task.js'
import { whenPostgres } from '../../support/postgres-server.js'
import { serverForTests } from './support/drivers.js'

whenPostgres('postgresStore', () => {
  const server = serverForTests()
  let admin: pg.Pool

  beforeAll(() => {
    admin = new pg.Pool({ connectionString: server().url })
  })
  afterAll(() => admin.end())

  function poolOf(config: pg.PoolConfig = {}): pg.Pool {
    const pool = new pg.Pool({ connectionString: server().url, ...config })
    onTestFinished(() => pool.end())
    return pool
  }

  /** Over one connection. */
  function single(options: PostgresStoreOptions = {}) {
    const pool = poolOf({ max: 1 })
    return { pool, store: postgresStore(pool, { listen: false, ...options }) }
  }

  it.each(['repeatable read', 'serializable'])('is migrated by many at once at %s', async (level) => {
    const pool = poolOf({ options: `-c default_transaction_isolation=${level.replace(' ', '\\ ')}` })
    const schema = `at_${level.replace(' ', '_')}`
    const stores = Array.from({ length: 10 }, () => postgresStore(pool, { schema }))
    await Promise.all(stores.map((store) => store.migrate()))
    await put(stores[0] ?? postgresStore(pool, { schema }), 'a')
    await Promise.all(stores.map((store) => store.migrate()))
    expect(await stores[1]?.count({})).toBe(1)
  })

  it('says that its version is gone', async () => {
    const store = postgresStore(admin, { schema: 'unversioned' })
    await store.migrate()
    await admin.query('DELETE FROM unversioned.a2a_tasks_version')
    await expect(store.migrate()).rejects.toThrow('(schema unversioned) have no version')
  })

  it('refuses a database that cannot hold every text', async () => {
    await admin.query(
      `CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc TEMPLATE template0`,
    )
    const store = postgresStore(poolOf({ connectionString: server().url.replace(/postgres$/, 'latin') }))
    const text = '"a2a-tasks" needs a database that is encoded as UTF8, and this one is LATIN1'
    await expect(store.migrate()).rejects.toMatchObject({ code: 'STORE_FAILED', message: text })
  })

  it('says which right is missing', async () => {
    await postgresStore(admin, { schema: 'owned' }).migrate()
    await admin.query('CREATE ROLE guest LOGIN')
    const pool = poolOf({ connectionString: server().url.replace('postgres@', 'guest@') })
    await expect(postgresStore(pool, { schema: 'owned' }).get('a')).rejects.toMatchObject({
      code: 'STORE_FAILED',
      message:
        'The tables of "a2a-tasks" (schema owned) may not be used: permission denied for schema owned. ' +
        'Grant the user of this connection what it lacks',
      data: { operation: 'get' },
    })
    await expect(postgresStore(pool, { schema: 'new' }).migrate()).rejects.toThrow(
      'permission denied for database postgres',
    )
  })

  it('says that a number is too large', async () => {
    const store = postgresStore(admin, { schema: 'numbers' })
    await store.migrate()
    const made = creation('a')
    const creating = store.create({ ...made, head: { ...made.head, generation: 2 ** 31 } })
    await expect(creating).rejects.toMatchObject({ code: 'STORE_FAILED', data: { operation: 'create' } })
  })

  it('names the remedy when a connection has lost its prepared statements', async () => {
    const { pool, store } = single({ schema: 'forgetful' })
    await store.migrate()
    await store.get('a')
    await pool.query('DEALLOCATE ALL')
    const failed = { code: 'STORE_FAILED', message: expect.stringContaining('Set prepare: false') as unknown }
    await expect(store.get('a')).rejects.toMatchObject(failed)
    expect(await single({ schema: 'forgetful', prepare: false }).store.get('a')).toBeUndefined()
  })

  it('names the remedy when another client has prepared the statement on the connection', async () => {
    const first = single({ schema: 'shared' })
    await first.store.migrate()
    await first.store.get('a')
    const { rows } = await first.pool.query<{ name: string }>(
      `SELECT name FROM pg_prepared_statements WHERE statement LIKE 'SELECT c.checkpoint%shared%'`,
    )
    const { pool, store } = single({ schema: 'shared' })
    await pool.query(`PREPARE "${rows[0]?.name}" AS SELECT 1`)
    const failed = { code: 'STORE_FAILED', message: expect.stringContaining('Set prepare: false') as unknown }
    await expect(store.get('a')).rejects.toMatchObject(failed)
  })

  it('prepares a statement once on a connection, however many stores use it', async () => {
    const { pool, store } = single({ schema: 'many' })
    await store.migrate()
    for (let count = 0; count < 20; count += 1) {
      await postgresStore(pool, { schema: 'many', listen: false }).get('a')
      await postgresStore(pool, { schema: 'many', listen: false }).count({ state: 'working' })
    }
    const { rows } = await pool.query<{ name: string }>(
      `SELECT name FROM pg_prepared_statements WHERE statement LIKE 'SELECT%many%'`,
    )
    expect(rows).toHaveLength(2)
  })

  it('leaves temporary errors to the caller', async () => {
    const store = postgresStore(poolOf({ connectionString: 'postgres://127.0.0.1:1/none' }))
    const error: unknown = await store.get('a').catch((thrown: unknown) => thrown)
    expect([A2AError.is(error), error]).toMatchObject([false, { code: 'ECONNREFUSED' }])
  })

  it('keeps the note of the last caller, when two acquire a lease with its own id', async () => {
    const store = postgresStore(admin, { schema: 'noting' })
    await store.migrate()
    const key = keyOf((await put(store, 'a', { lease: { id: 'l', ttlMs: 0, note: 'second' } })).task)
    const client = await admin.connect()
    await client.query(
      `BEGIN; UPDATE noting.tasks SET lease_until = 0; UPDATE noting.contents SET lease_note = '"first"'`,
    )
    const acquiring = store.acquire(key, { id: 'l', ttlMs: 0, note: 'second' })
    await waiting(admin)
    await client.query('COMMIT')
    client.release()
    expect(await acquiring).toEqual({ leaseId: 'l', generation: 1 })
    expect(await store.orphans(10)).toEqual([{ key, leaseId: 'l', note: 'second' }])
  })

  it('refuses the id of a task of which only a part is left', async () => {
    const store = postgresStore(admin, { schema: 'torn' })
    await store.migrate()
    const made = await put(store, 'a')
    await admin.query('DELETE FROM torn.contents')
    expect(await store.create(creation('a'))).toBe(false)
    expect(await store.create(made)).toBe(false)
  })

  it('stops trying where the database makes no change', async () => {
    const store = postgresStore(admin, { schema: 'stuck' })
    await store.migrate()
    const { task } = await put(store, 'a')
    await admin.query(`
      CREATE FUNCTION stuck.ignore() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
      CREATE TRIGGER ignore BEFORE UPDATE ON stuck.tasks FOR EACH ROW EXECUTE FUNCTION stuck.ignore()`)
    await expect(store.commit(change(task))).rejects.toThrow('The database made no change')
  })
})

/** Resolves when a statement waits for another. */
async function waiting(pool: pg.Pool): Promise<void> {
  for (;;) {
    const { rows } = await pool.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
    if (rows.length > 0) return
  }
}
