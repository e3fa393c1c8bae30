/** The feed of a SQLite store beyond the common suite: which processes write it, and where it begins. */
import { sqliteStore } from 'a2a-tasks/stores/sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { put } from '../../../src/testing/task-store-suite/samples.js'
import { endOf, testWrittenFeed } from '../support/written-feed.js'
import { databaseFile, type DatabaseFile } from './support/sqlite.js'

let file: DatabaseFile
beforeEach(() => (file = databaseFile()))
afterEach(() => file.remove())

testWrittenFeed((name, feedSize) =>
  file.open({ prefix: `${name}_`, ...(feedSize !== undefined && { feedSize }) }),
)

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
