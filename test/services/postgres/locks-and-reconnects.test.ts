/** Behaviour that needs a real server: broken connections and deadlocks. */
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStore, type PgClient, type PgPool, type PostgresStore } from 'a2a-tasks/stores/postgres'
import type { Hint, TaskKey } from 'a2a-tasks/durable'
import { whenPostgres } from '../../support/postgres-server.js'
import { DRIVERS, poolOf, serverForTests } from './support/drivers.js'
import { change, put } from '../../../src/testing/task-store-suite/samples.js'
import { keyOf } from '../../../src/core/task.js'

whenPostgres('postgresStore over a real server', () => {
  const server = serverForTests()
  let pool: pg.Pool

  beforeAll(() => {
    pool = poolOf(server().url)
  })
  afterAll(() => pool.end())

  async function open(schema: string): Promise<PostgresStore> {
    const store = postgresStore(pool, { schema })
    await store.migrate()
    return store
  }

  it('is migrated by many at once', async () => {
    const stores = Array.from({ length: 10 }, () => postgresStore(pool, { schema: 'migrated' }))
    await Promise.all(stores.map((store) => store.migrate()))
    expect(await stores[0]?.count({})).toBe(0)
  })

  it('writes to no index when a task changes within a second', async () => {
    const store = await open('hot')
    let { task } = await put(store, 'a')
    await inTransaction(pool, async (client) => {
      const inside = storeOf(client, 'hot')
      for (let count = 0; count < 10; count += 1) {
        const commit = change(task)
        expect(await inside.commit(commit)).toBe('committed')
        task = commit.task
      }
      const { rows } = await client.query<{ count: string }>(
        `SELECT pg_stat_get_xact_tuples_hot_updated('hot.tasks'::regclass) AS count`,
      )
      expect(Number(rows[0]?.count)).toBe(10)
    })
  })

  it('deletes a task with changes that were committed while it waited', async () => {
    const store = await open('deleting')
    const { task } = await put(store, 'a')
    let deleting: Promise<readonly TaskKey[]> | undefined
    await inTransaction(pool, async (client) => {
      expect(await storeOf(client, 'deleting').commit(change(task))).toBe('committed')
      deleting = store.delete([keyOf(task)])
      await waiting(pool)
    })
    expect(await deleting).toEqual([keyOf(task)])
    const { rows } = await pool.query('SELECT FROM deleting.events UNION ALL SELECT FROM deleting.contents')
    expect(rows).toEqual([])
  })

  it('adds no document to a task that is deleted at the same time', async () => {
    const store = await open('documenting')
    const { task } = await put(store, 'a')
    let putting: Promise<boolean> | undefined
    await inTransaction(pool, async (client) => {
      expect(await storeOf(client, 'documenting').delete([keyOf(task)])).toEqual([keyOf(task)])
      putting = store.putDocument({ key: keyOf(task), kind: 'push', id: 'a', value: 1 }, 0)
      await waiting(pool)
    })
    expect(await putting).toBe(false)
    const { rows } = await pool.query('SELECT FROM documenting.documents')
    expect(rows).toEqual([])
  })

  it('answers by the state that it finds after it has waited', async () => {
    const store = await open('answering')
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: 0 } })
    const first = change(task)
    let answers: Promise<unknown[]> | undefined
    await inTransaction(pool, async (client) => {
      const inside = storeOf(client, 'answering')
      const grant = await inside.acquire(keyOf(task), { id: 'm', ttlMs: 60_000 })
      expect(grant).toEqual({ leaseId: 'm', generation: 1, replaced: { note: undefined } })
      expect(await inside.commit(first)).toBe('committed')
      answers = Promise.all([
        store.commit(change(task)),
        store.commit(first),
        store.commit(change(task, { leaseId: 'l' })),
        store.acquire(keyOf(task), { id: 'n', ttlMs: 60_000 }),
        store.release(keyOf(task), 'l', 1),
        store.renew([{ key: keyOf(task), id: 'l' }], 60_000),
      ])
      await waiting(pool, 6)
    })
    expect(await answers).toEqual([
      ...['conflict', 'committed', 'conflict', { leaseId: 'm', generation: 2 }],
      ...[true, []],
    ])
  })

  it('reports the note of the lease that it replaces, as it is when it has waited', async () => {
    const store = await open('replacing')
    const made = await Promise.all(
      ['a', 'b', 'c'].map((id) => put(store, id, { lease: { id: 'l', ttlMs: 0, note: 'first' } })),
    )
    // One for each id.
    const [taken, released, renewed] = made.map(({ task }) => keyOf(task)) as [TaskKey, TaskKey, TaskKey]
    let answers: Promise<unknown[]> | undefined
    await inTransaction(pool, async (client) => {
      const inside = storeOf(client, 'replacing')
      await inside.acquire(taken, { id: 'm', ttlMs: 0, note: 'second' })
      await inside.release(released, 'l')
      await inside.acquire(renewed, { id: 'l', ttlMs: 0 })
      const lease = { id: 'n', ttlMs: 60_000, note: 'third' }
      answers = Promise.all([taken, released, renewed].map((key) => store.acquire(key, lease)))
      await waiting(pool, 3)
    })
    const grant = { leaseId: 'n', generation: 1 }
    expect(await answers).toEqual([
      { ...grant, replaced: { note: 'second' } },
      grant,
      { ...grant, replaced: { note: undefined } },
    ])
  })

  it('does not commit under a lease that was lost while it waited', async () => {
    const store = await open('losing')
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: 0 } })
    let result: Promise<string> | undefined
    await inTransaction(pool, async (client) => {
      await storeOf(client, 'losing').acquire(keyOf(task), { id: 'm', ttlMs: 60_000 })
      result = store.commit(change(task, { leaseId: 'l' }))
      await waiting(pool)
    })
    expect(await result).toBe('lease-lost')
  })

  it('makes the change for which it waited when the other one is undone', async () => {
    const store = await open('undone')
    const { task } = await put(store, 'a')
    let result: Promise<string> | undefined
    const undone = inTransaction(pool, async (client) => {
      await storeOf(client, 'undone').commit(change(task))
      result = store.commit(change(task))
      await waiting(pool)
      throw new Error('undo')
    })
    await expect(undone).rejects.toThrow('undo')
    expect(await result).toBe('committed')
  })

  it('renews and deletes many at once without a deadlock', async () => {
    const store = await open('circle')
    const lease = { id: 'l', ttlMs: 60_000 }
    const made = await Promise.all(range(40).map((n) => put(store, `task ${n}`, { lease })))
    const keys = made.map(({ task }) => keyOf(task))
    const leases = keys.map((key) => ({ key, id: 'l' }))
    const turned = (n: number) => [...leases.slice(n), ...leases.slice(0, n)].sort(() => (n % 2 ? 1 : -1))
    const renewed = await Promise.all(range(100).map((n) => store.renew(turned(n % 40), 60_000)))
    expect(new Set(renewed.map(({ length }) => length))).toEqual(new Set([40]))
    const deleted = await Promise.all([keys, [...keys].reverse()].map((each) => store.delete(each)))
    expect(
      deleted
        .flat()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(keys.map(({ id }) => id).sort())
  })

  it('takes the time of the database for leases', async () => {
    const store = await open('clock')
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: 0 } })
    const held = await put(store, 'b', { lease: { id: 'm', ttlMs: 3_600_000 } })
    expect(await store.orphans(10)).toEqual([{ key: keyOf(task), leaseId: 'l', note: undefined }])
    expect(await store.acquire(keyOf(held.task), { id: 'n', ttlMs: 1 })).toMatchObject({ leaseId: 'm' })
  })

  it('works without prepared statements', async () => {
    await open('unprepared')
    const store = postgresStore(pool, { schema: 'unprepared', prepare: false })
    const { task } = await put(store, 'a')
    expect(await store.commit(change(task))).toBe('committed')
  })

  describe.each(DRIVERS)('over $name', ({ name, open: openClient }) => {
    it('listens again when the server was away, and says so', async () => {
      const { client, end } = openClient(server().url)
      const store = postgresStore(client, { schema: `listening_${name}` })
      await store.migrate()
      const hints = new Queue<Hint>()
      const gaps = new Queue<string>()
      const stop = await store.hints?.listen(
        (hint) => hints.push(hint),
        () => gaps.push('gap'),
      )
      await store.hints?.publish([{ taskId: 'before', generation: 3 }])
      expect(await hints.next()).toEqual({ taskId: 'before', generation: 3 })
      await server().restart()
      expect(await gaps.next()).toBe('gap')
      await store.hints?.publish([{ taskId: 'after', generation: 4 }])
      expect(await hints.next()).toEqual({ taskId: 'after', generation: 4 })
      await stop?.()
      await end()
    }, 60_000)
  })

  it('gives up listening while the server is away', async () => {
    const own = poolOf(server().url)
    const store = postgresStore(own, { schema: 'away' })
    const stop = await store.hints?.listen(ignore, ignore)
    await server().halt()
    await stop?.()
    await own.end()
    await server().start()
  }, 60_000)
})

function ignore(): void {
  // Nothing to do.
}

/** A store whose statements are part of a transaction. */
function storeOf(client: pg.PoolClient, schema: string): PostgresStore {
  const inside: PgClient = {
    query: (query) => client.query(query),
    on: () => undefined,
    off: () => undefined,
    release: () => undefined,
  }
  const one: PgPool = { totalCount: 1, connect: (callback) => callback(undefined, inside) }
  return postgresStore(one, { schema, listen: false })
}

async function inTransaction(pool: pg.Pool, run: (client: pg.PoolClient) => Promise<void>): Promise<void> {
  const client = await pool.connect()
  await client.query('BEGIN')
  try {
    await run(client)
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  } finally {
    client.release()
  }
}

/** Resolves when so many statements wait for others. */
async function waiting(pool: pg.Pool, count = 1): Promise<void> {
  for (;;) {
    const { rows } = await pool.query(`SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
    if (rows.length >= count) return
  }
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index)
}

class Queue<T> {
  readonly #items: T[] = []
  readonly #waiting: ((item: T) => void)[] = []

  push(item: T): void {
    const next = this.#waiting.shift()
    if (next) next(item)
    else this.#items.push(item)
  }

  next(): Promise<T> {
    const item = this.#items.shift()
    return item === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(item)
  }
}
