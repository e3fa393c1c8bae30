/**
 * Tests of a feed whose option the processes of a store set differently.
 *
 * @module
 */
import type { TaskStore } from 'a2a-tasks/durable'
import { expect, it } from 'vitest'
import { keyOf } from '../../../src/core/task.js'
import { move, put } from '../../../src/testing/task-store-suite/samples.js'

/** The cursor of the end of the feed. */
export async function endOf(store: TaskStore): Promise<string> {
  return (await store.feed?.read(undefined, 1))?.cursor ?? ''
}

/** @param open - Opens a store of this name, with a feed of this size. */
export function testWrittenFeed(open: (name: string, feedSize?: number) => Promise<TaskStore>): void {
  it('is written by a process without the option, too', async () => {
    const plain = await open('untold')
    expect(plain.feed).toBeUndefined()
    const before = await put(plain, 'before')
    const store = await open('untold', 10)
    const start = await endOf(store)
    await move(plain, before.task)
    await put(plain, 'a')
    // It leaves the feed as it is.
    const later = await open('untold')
    await later.delete([keyOf(before.task)])
    const { entries } = (await store.feed?.read(start, 10)) ?? {}
    expect(entries?.map(({ task, event }) => [task.id, event?.generation])).toEqual([
      ['a', 1],
      ['before', undefined],
    ])
  })

  it('ends with the size 0, and a later feed does not know its cursors', async () => {
    const store = await open('ended', 10)
    const cursors = [await endOf(store)]
    await put(store, 'a')
    cursors.push(await endOf(store))
    const off = await open('ended', 0)
    expect(off.feed).toBeUndefined()
    cursors.push(await endOf(store))
    await put(off, 'b')
    const again = await open('ended', 10)
    for (const cursor of cursors) {
      expect(await again.feed?.read(cursor, 10)).toMatchObject({ entries: [], isResync: true })
    }
    const start = await endOf(again)
    await open('ended', 10)
    await put(off, 'c')
    expect((await again.feed?.read(start, 10))?.entries.map(({ task }) => task.id)).toEqual(['c'])
  })
}
