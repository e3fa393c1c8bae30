/** A manager and an inspector over a read replica: docs/operate/database.md. */
import pg from 'pg'
import { expect, it, onTestFinished } from 'vitest'
import { DurableTaskManager } from '../../../src/durable/index.js'
import { feed, type TaskStreamEvent } from '../../../src/index.js'
import { createInspector } from '../../../src/inspector/index.js'
import { postgresStore, type PostgresStoreOptions } from '../../../src/stores/postgres/index.js'
import { change, put } from '../../../src/testing/task-store-suite/samples.js'
import { keyOf } from '../../../src/core/task.js'
import { skipWithoutPostgres, whenPostgres, type PostgresServer } from '../../support/postgres-server.js'
import { replayed, startPair } from './postgres-pair.js'

it('PostgreSQL is installed', (context) => skipWithoutPostgres(context))

function poolOf({ url }: PostgresServer): pg.Pool {
  const pool = new pg.Pool({ connectionString: url }).on('error', () => undefined)
  onTestFinished(() => pool.end())
  return pool
}

function managerOver(pool: pg.Pool, options: PostgresStoreOptions): DurableTaskManager {
  const manager = new DurableTaskManager({
    ...{ store: postgresStore(pool, options), sweepIntervalMs: false, retention: false, pollIntervalMs: 100 },
  })
  onTestFinished(() => manager.destroy())
  return manager
}

whenPostgres('over a read replica', () => {
  it('tasks are listed, read and followed, and shown by an inspector', { timeout: 60_000 }, async () => {
    const { primary, standby } = await startPair()
    const pool = poolOf(primary)
    await postgresStore(pool, { feedSize: 100 }).migrate()
    const [writer, reader] = [
      managerOver(pool, { feedSize: 100 }),
      managerOver(poolOf(standby), { feedSize: 100, readOnly: true }),
    ]
    const { id } = await writer.createTask({ skill: 'test' })
    await replayed({ primary, standby })
    expect(await reader.listTasks()).toEqual(await writer.listTasks())
    expect(await reader.countTasks({ state: 'submitted' })).toBe(1)

    const seen: TaskStreamEvent[] = []
    const following = (async () => {
      for await (const event of reader.subscribe(id, { after: 0 })) seen.push(event)
    })()
    const all = feed(reader)
    expect((await all.next()).value).toMatchObject({ type: 'resync' })
    await writer.updateTask(id, { state: 'working' })
    await writer.updateTask(id, { state: 'completed' })
    await following
    expect(seen).toEqual(await writer.events(id))
    expect(await reader.getTask(id)).toEqual(await writer.getTask(id))
    for (const generation of [2, 3])
      expect((await all.next()).value).toMatchObject({ taskId: id, event: { generation } })
    await all.return()

    const inspector = createInspector({ tasks: reader, authorize: () => ({}) })
    const call = async (path: string): Promise<unknown> => {
      const headers = { 'x-a2a-inspector': '1' }
      const response = await inspector.fetch(new Request(`http://localhost/api/${path}`, { headers }))
      return await response.json()
    }
    expect(await call('tasks')).toMatchObject({ tasks: [{ id }] })
    expect(JSON.stringify(await call(`tasks/${id}/events`))).toContain('completed')
  })

  it('changes are refused at once, with what to do', { timeout: 60_000 }, async () => {
    const { primary, standby } = await startPair()
    const store = postgresStore(poolOf(primary))
    await store.migrate()
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: 1 } })
    await replayed({ primary, standby })
    const key = keyOf(task)
    const replica = postgresStore(poolOf(standby), { readOnly: true })
    const { events, ...commit } = change(task)
    const document = { key, kind: 'k', id: 'i', value: 1 }
    const calls: Record<string, () => Promise<unknown> | undefined> = {
      migrate: () => replica.migrate(),
      create: () => put(replica, 'b'),
      commit: () => replica.commit({ events, ...commit }),
      transact: () => replica.transact?.({ ...commit, work: () => Promise.resolve(events) }),
      delete: () => replica.delete([key]),
      acquire: () => replica.acquire(key, { id: 'm', ttlMs: 1 }),
      renew: () => replica.renew([{ key, id: 'l' }], 1),
      release: () => replica.release(key, 'l'),
      putDocument: () => replica.putDocument(document, 0),
      deleteDocument: () => replica.deleteDocument(document),
    }
    for (const [operation, call] of Object.entries(calls)) {
      const text = `The store only reads (readOnly): ${operation}. Use a store over the primary`
      await expect(call()).rejects.toMatchObject({ code: 'STORE_FAILED', message: text, data: { operation } })
    }
    expect(replica.hints).toBeUndefined()
    expect(await replica.get('a')).toEqual(await store.get('a'))
    expect(await replica.leaseCounts?.(10)).toMatchObject({ held: 0 })
    // A manager passes the refusal on, and does not try again.
    const reader = managerOver(poolOf(standby), { readOnly: true })
    await expect(reader.updateTask('a', { output: 1 })).rejects.toThrow('The store only reads (readOnly)')
  })
})
