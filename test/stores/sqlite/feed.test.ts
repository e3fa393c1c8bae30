/** The feed of a SQLite store beyond the common suite: which processes write it, and where it begins. */
import { sqliteStore, type SqliteStore } from 'a2a-tasks/stores/sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { keyOf } from '../../../src/core/task.js'
import { move, put } from '../../../src/testing/task-store-suite/samples.js'
import { databaseFile, type DatabaseFile } from './support/sqlite.js'

let file: DatabaseFile
beforeEach(() => (file = databaseFile()))
afterEach(() => file.remove())

async function endOf(store: SqliteStore): Promise<string> {
  return (await store.feed?.read(undefined, 1))?.cursor ?? ''
}

test('a process without the option writes the feed, too', async () => {
  const plain = await file.open()
  expect(plain.feed).toBeUndefined()
  const before = await put(plain, 'before')
  const store = await file.open({ feedSize: 10 })
  const start = await endOf(store)
  await move(plain, before.task)
  await put(plain, 'a')
  // It leaves the feed as it is.
  const later = await file.open()
  await later.delete([keyOf(before.task)])
  const { entries } = (await store.feed?.read(start, 10)) ?? {}
  expect(entries?.map(({ task, event }) => [task.id, event?.generation])).toEqual([
    ['a', 1],
    ['before', undefined],
  ])
})

test('the size 0 ends the feed, and a feed that begins again does not know the cursors of the one before', async () => {
  const store = await file.open({ feedSize: 10 })
  const cursors = [await endOf(store)]
  await put(store, 'a')
  cursors.push(await endOf(store))
  const off = await file.open({ feedSize: 0 })
  expect(off.feed).toBeUndefined()
  await put(off, 'b')
  const again = await file.open({ feedSize: 10 })
  for (const cursor of cursors) {
    expect(await again.feed?.read(cursor, 10)).toMatchObject({ entries: [], isResync: true })
  }
  const start = await endOf(again)
  await put(off, 'c')
  const { entries } = (await again.feed?.read(start, 10)) ?? {}
  expect(entries?.map(({ task }) => task.id)).toEqual(['c'])
})

test('a cursor of another file is not known', async () => {
  const other = databaseFile()
  const start = await endOf(await other.open({ feedSize: 10 }))
  other.remove()
  const store = await file.open({ feedSize: 10 })
  for (let tasks = 0; tasks < 20; tasks += 1) await put(store, `task ${tasks}`)
  expect((await store.feed?.read(start, 10))?.isResync).toBe(true)
})

test('two stores of one file have a feed each', async () => {
  const one = await file.open({ prefix: 'one_', feedSize: 10 })
  const two = await file.open({ prefix: 'two_', feedSize: 10 })
  const start = await endOf(two)
  await put(one, 'a')
  expect((await two.feed?.read(start, 10))?.entries).toEqual([])
})

test('of two processes that start the feed together one does', async () => {
  const stores = [
    sqliteStore(file.connect(), { feedSize: 10 }),
    sqliteStore(file.connect(), { feedSize: 10 }),
  ]
  await Promise.all(stores.map((store) => store.migrate()))
  const rows = file.connect().prepare('SELECT * FROM a2a_feed').all()
  expect(rows).toHaveLength(1)
})
