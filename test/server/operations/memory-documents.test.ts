/** Documents beside tasks in memory: versions, pages, and the lifetime of their task. */
import { TaskManager } from 'a2a-tasks'
import { ManualClock } from 'a2a-tasks/testing'
import { describe, expect, test } from 'vitest'
import { MemoryDocuments } from '../../../src/server/memory-documents.js'

function setUp() {
  const clock = new ManualClock()
  const tasks = new TaskManager({ clock, expiryMs: 1_000, maxTasks: 3, whenFull: 'evict-terminal' })
  const documents = new MemoryDocuments(tasks)
  const make = (id?: string) => {
    const { id: made, createdAt } = tasks.createTask({ skill: 'test', ...(id !== undefined && { id }) })
    return { id: made, createdAt }
  }
  return { clock, tasks, documents, make }
}

describe('a document in memory', () => {
  test('is replaced only at the version that a write names', async () => {
    const { documents, make } = setUp()
    const document = { key: make(), kind: 'k', id: 'a', value: { n: 1 } }
    expect(await documents.putDocument(document, 1)).toBe(false)
    expect(await documents.putDocument(document, 0)).toBe(true)
    expect(await documents.putDocument(document, 0)).toBe(false)
    expect(await documents.putDocument({ ...document, value: { n: 2 } }, 1)).toBe(true)
    expect(await documents.documents(document.key, 'k')).toEqual([
      { ...document, value: { n: 2 }, version: 2 },
    ])
    expect(await documents.documents(document.key, 'other')).toEqual([])
    expect(await documents.deleteDocument(document)).toBe(true)
    expect(await documents.deleteDocument(document)).toBe(false)
    expect(await documents.documents(document.key, 'k')).toEqual([])
  })

  test('counts with its size until it is replaced or deleted', async () => {
    const { documents, make } = setUp()
    const document = { key: make(), kind: 'k', id: 'a', value: 'x'.repeat(1_000) }
    await documents.putDocument(document, 0)
    const { cost } = documents
    expect(cost).toBeGreaterThan(1_000)
    await documents.putDocument({ ...document, id: 'b' }, 0)
    expect(documents.cost).toBe(2 * cost)
    await documents.putDocument({ ...document, value: 'x' }, 1)
    expect(documents.cost).toBeLessThan(cost + 1_000)
    await documents.deleteDocument(document)
    expect(documents.cost).toBe(cost)
    await documents.deleteDocument({ ...document, id: 'b' })
    expect(documents.cost).toBe(0)
  })

  test('is a copy of what was written', async () => {
    const { documents, make } = setUp()
    const value = { list: [1] }
    const key = make()
    await documents.putDocument({ key, kind: 'k', id: 'a', value }, 0)
    value.list.push(2)
    const [found] = await documents.documents(key, 'k')
    expect(found?.value).toEqual({ list: [1] })
    expect(Object.isFrozen(found?.value)).toBe(true)
  })

  test.each(['expires', 'is evicted', 'is destroyed with its manager'])(
    'is gone when its task %s',
    async (how) => {
      const { clock, tasks, documents, make } = setUp()
      const key = make('same')
      const document = { key, kind: 'k', id: 'a', value: 1 }
      await documents.putDocument(document, 0)
      if (how === 'expires') clock.advance(1_001)
      if (how === 'is evicted') {
        tasks.cancelTask('same')
        for (let count = 0; count < 3; count += 1) make()
      }
      if (how === 'is destroyed with its manager') tasks.destroy()
      tasks.prune()
      expect(await documents.allDocuments('k', undefined, 10)).toEqual([])
      expect(documents.cost).toBe(0)
      expect(await documents.putDocument(document, 1)).toBe(false)
    },
  )

  test('is read in pages, of all tasks in the order of their first document', async () => {
    const { documents, make } = setUp()
    const written: string[] = []
    for (const key of [make('b'), make('a')]) {
      for (const id of ['2', '1', '3']) await documents.putDocument({ key, kind: 'k', id, value: id }, 0)
      written.push(...['1', '2', '3'].map((id) => `${key.id} ${id}`))
    }
    const read: string[] = []
    let after: Parameters<typeof documents.allDocuments>[1]
    for (;;) {
      const page = await documents.allDocuments('k', after, 2)
      read.push(...page.map(({ key, id }) => `${key.id} ${id}`))
      const last = page.at(-1)
      if (last === undefined) break
      after = { taskId: last.key.id, createdAt: last.key.createdAt, id: last.id }
    }
    expect(read).toEqual(written)
  })

  test('leaves no listener once the documents are closed', async () => {
    const { tasks, documents, make } = setUp()
    expect(tasks.eventNames()).toEqual([])
    await documents.putDocument({ key: make(), kind: 'k', id: 'a', value: 1 }, 0)
    expect(tasks.listenerCount('task:expired')).toBe(1)
    documents.close()
    expect(tasks.eventNames()).toEqual([])
  })
})
