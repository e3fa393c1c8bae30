/** The order of the feed of a PostgreSQL store, where transactions commit in another order than they began. */
import { feed as feedOf } from 'a2a-tasks'
import pg from 'pg'
import { afterAll, expect, it } from 'vitest'
import { DurableTaskManager } from 'a2a-tasks/durable'
import { postgresStore, type PostgresStore } from 'a2a-tasks/stores/postgres'
import { keyOf } from '../../../src/core/task.js'
import { put } from '../../../src/testing/task-store-suite/samples.js'
import { skipWithoutPostgres, whenPostgres } from '../../support/postgres-server.js'
import { serverForTests } from './support/drivers.js'

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

whenPostgres('the feed', () => {
  const server = serverForTests()
  const pools: pg.Pool[] = []
  let schemas = 0
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()))
  })

  function poolOf(): pg.Pool {
    const pool = new pg.Pool({ connectionString: server().url })
    pools.push(pool)
    return pool
  }

  async function open(): Promise<{ store: PostgresStore; another: () => PostgresStore; schema: string }> {
    schemas += 1
    const schema = `feed_${schemas}`
    const another = (): PostgresStore => postgresStore(poolOf(), { schema, feedSize: 10_000 })
    const store = another()
    await store.migrate()
    return { store, another, schema }
  }

  it('holds back what later transactions have stored until earlier ones have ended', async () => {
    const { store, schema } = await open()
    const { task } = await put(store, 'slow')
    const start = await store.feed?.read(undefined, 1)
    const slow = await poolOf().connect()
    await slow.query('BEGIN')
    // The change of a replica that stalls before it commits.
    await slow.query(
      `WITH moved AS (UPDATE ${schema}.tasks SET generation = 2 WHERE id = 'slow' RETURNING task)
       INSERT INTO ${schema}.events (task, generation, json) SELECT task, 2, $1 FROM moved`,
      [
        JSON.stringify({
          type: 'output',
          taskId: 'slow',
          generation: 2,
          timestamp: task.updatedAt,
          output: 1,
        }),
      ],
    )
    await put(store, 'fast')
    expect(await store.feed?.read(start?.cursor, 10)).toMatchObject({ entries: [], isBehind: true })
    await slow.query('COMMIT')
    slow.release()
    const page = await store.feed?.read(start?.cursor, 10)
    expect(page?.entries.map(({ task: { id }, event }) => [id, event?.generation])).toEqual([
      ['slow', 2],
      ['fast', 1],
    ])
    expect(page?.isBehind).toBe(false)
  })

  it('leaves out what was rolled back, and continues', async () => {
    const { store, schema } = await open()
    const start = await store.feed?.read(undefined, 1)
    const other = await poolOf().connect()
    await other.query(`BEGIN; INSERT INTO ${schema}.feed (task, generation) VALUES (999, 1)`)
    await put(store, 'a')
    await other.query('ROLLBACK')
    other.release()
    expect((await store.feed?.read(start?.cursor, 10))?.entries).toHaveLength(1)
  })

  it('keeps a last entry for readers, however much an open transaction holds back', async () => {
    const { schema } = await open()
    const store = postgresStore(poolOf(), { schema, feedSize: 2 })
    const start = await store.feed?.read(undefined, 1)
    const open_ = await poolOf().connect()
    await open_.query('BEGIN; SELECT txid_current()')
    for (let count = 0; count < 5; count += 1) await put(store, `task ${count}`)
    await store.feed?.trim()
    expect((await store.feed?.read(start?.cursor, 10))?.isResync).toBeUndefined()
    await open_.query('COMMIT')
    open_.release()
    expect((await store.feed?.read(start?.cursor, 10))?.entries).toHaveLength(5)
    await store.feed?.trim()
    expect((await store.feed?.read(start?.cursor, 10))?.isResync).toBe(true)
  })

  it('wakes a feed that an open transaction has held back', async () => {
    const { store, another } = await open()
    const tasks = new DurableTaskManager({ store, pollIntervalMs: 60_000, sweepIntervalMs: false })
    const writer = new DurableTaskManager({ store: another(), sweepIntervalMs: false })
    const feed = feedOf(tasks)
    await feed.next()
    const other = await poolOf().connect()
    await other.query('BEGIN; SELECT txid_current()')
    const pending = feed.next()
    await writer.createTask({ id: 'a', skill: 's' })
    await other.query('COMMIT')
    other.release()
    expect((await pending).value).toMatchObject({ taskId: 'a' })
    await Promise.all([tasks.destroy(), writer.destroy()])
  })

  it('has each event of eight writers once and in order, for readers that come and go', async () => {
    const { store, another } = await open()
    const writers = Array.from({ length: 4 }, () => another())
    const start = await store.feed?.read(undefined, 1)
    const managers = writers.map((each) => new DurableTaskManager({ store: each, sweepIntervalMs: false }))
    const ids = Array.from({ length: 40 }, (_, index) => `task ${index}`)
    const done = new AbortController()
    const writing = Promise.all(
      ids.map(async (id, index) => {
        const at = (turn: number): DurableTaskManager =>
          managers[(index + turn) % 4] ?? (managers[0] as DurableTaskManager)
        await at(0).createTask({ id, skill: 's' })
        for (let turn = 1; turn < 20; turn += 1) await at(turn).patchTask(id, { message: `${turn}` })
      }),
    ).finally(() => done.abort())
    const reader = new DurableTaskManager({ store, sweepIntervalMs: false })
    const seen = new Map<string, number[]>()
    let cursor = start?.cursor
    let count = 0
    while (count < 20 * ids.length) {
      const signal = done.signal.aborted ? undefined : done.signal
      let left = 50
      for await (const entry of feedOf(reader, { after: cursor, signal })) {
        cursor = entry.cursor
        count += 1
        if (entry.type !== 'event') throw new Error(entry.type)
        seen.set(entry.taskId, [...(seen.get(entry.taskId) ?? []), entry.event.generation])
        if ((left -= 1) === 0 || count === 20 * ids.length) break
      }
    }
    await writing
    const all = Array.from({ length: 20 }, (_, index) => index + 1)
    for (const id of ids) expect(seen.get(id)).toEqual(all)
    await Promise.all([...managers, reader].map((manager) => manager.destroy()))
  })

  it('shows a removal and no event of the removed task, also of a change that the removal waited for', async () => {
    const { store, another, schema } = await open()
    const { task } = await put(store, 'a')
    const start = await store.feed?.read(undefined, 1)
    const slow = await poolOf().connect()
    await slow.query(`BEGIN; UPDATE ${schema}.tasks SET generation = 2 WHERE id = 'a'`)
    const removing = another().delete([keyOf(task)])
    await slow.query(
      `INSERT INTO ${schema}.events (task, generation, json) SELECT task, 2, '{}' FROM ${schema}.tasks`,
    )
    await slow.query('COMMIT')
    slow.release()
    expect(await removing).toHaveLength(1)
    const entries: unknown[] = []
    for (let { cursor } = start ?? { cursor: '' }; entries.length === 0;) {
      const page = await store.feed?.read(cursor, 10)
      entries.push(...(page?.entries ?? []))
      cursor = page?.cursor ?? ''
    }
    expect(entries.at(-1)).toMatchObject({ task: keyOf(task) })
    expect(entries.at(-1)).not.toHaveProperty('event')
  })
})
