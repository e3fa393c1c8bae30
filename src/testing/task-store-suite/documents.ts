/**
 * Conformance tests of documents.
 *
 * @module
 */
import { type TaskKey, keyOf } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import type { TaskStore } from '../../durable/task-store.js'
import type { DocumentCursor, TaskDocument } from '../../core/managers.js'
import { equal, identical, rejects } from './checks.js'
import { at, HOSTILE_NAMES, move, put, UNWRITABLE } from './samples.js'
import type { StoreTests } from './kit.js'

const KIND = 'kind'

async function keyOfNew(store: TaskStore, id: string): Promise<TaskKey> {
  return keyOf((await put(store, id)).task)
}

/** Reads all documents of a kind, page by page. `between` runs after each page and may change documents. */
async function pages(
  store: TaskStore,
  limit: number,
  between: (last: TaskDocument) => Promise<unknown> = () => Promise.resolve(),
): Promise<TaskDocument[]> {
  const all: TaskDocument[] = []
  for (let after: DocumentCursor | undefined; ;) {
    const page = await store.allDocuments(KIND, after, limit)
    const last = page.at(-1)
    if (last === undefined) return all
    equal('whether a page is too long', page.length > limit, false)
    all.push(...page)
    if (all.length > 1_000) throw new Error('allDocuments(): expected an end of the pages, but got none')
    after = { taskId: last.key.id, createdAt: last.key.createdAt, id: last.id }
    await between(last)
  }
}

function nameOf({ key, id }: TaskDocument): string {
  return `${id} of ${key.id}`
}

const writingTests: StoreTests = {
  'a document is written only at its expected version': async ({ store }) => {
    const key = await keyOfNew(store, 'a')
    const put = async (value: JsonValue, version: number): Promise<boolean> =>
      await store.putDocument({ key, kind: KIND, id: 'd', value }, version)
    equal('documents() before', await store.documents(key, KIND), [])
    equal('putDocument() of none at version 1', await put('zero', 1), false)
    equal('putDocument() at version 0', await put('one', 0), true)
    equal('putDocument() at version 0 again', await put('two', 0), false)
    equal('putDocument() at version 1', await put('three', 1), true)
    equal('putDocument() at version 1 again', await put('four', 1), false)
    equal('putDocument() at version 3', await put('five', 3), false)
    const expected = [{ key, kind: KIND, id: 'd', value: 'three', version: 2 }]
    equal('documents()', await store.documents(key, KIND), expected)
    equal('allDocuments()', await store.allDocuments(KIND, undefined, 10), expected)
  },

  'a missing task has no documents': async ({ store }) => {
    const key = { id: 'a', createdAt: at(0) }
    equal('putDocument()', await store.putDocument({ key, kind: KIND, id: 'd', value: 1 }, 0), false)
    equal('documents()', await store.documents(key, KIND), [])
    equal('allDocuments()', await store.allDocuments(KIND, undefined, 10), [])
    equal('deleteDocument()', await store.deleteDocument({ key, kind: KIND, id: 'd' }), false)
    await keyOfNew(store, 'a')
    equal('documents() when there is one', await store.documents(key, KIND), [])
  },

  'a deleted document is gone, and can be created again': async ({ store }) => {
    const key = await keyOfNew(store, 'a')
    const document = { key, kind: KIND, id: 'd', value: 1 }
    await store.putDocument(document, 0)
    await store.putDocument(document, 1)
    await store.putDocument({ ...document, id: 'e' }, 0)
    equal('deleteDocument()', await store.deleteDocument(document), true)
    equal('deleteDocument() again', await store.deleteDocument(document), false)
    equal('putDocument() at the old version', await store.putDocument(document, 2), false)
    equal('ids of documents()', (await store.documents(key, KIND)).map(nameOf), ['e of a'])
    equal('ids of allDocuments()', (await pages(store, 10)).map(nameOf), ['e of a'])
    equal('putDocument() at version 0', await store.putDocument(document, 0), true)
    equal('the first of documents()', (await store.documents(key, KIND))[0], { ...document, version: 1 })
  },

  'of fifty concurrent writes of a document one succeeds, and with retries none is lost': async (kit) => {
    const { store, another } = kit
    const stores = [store, await another()]
    const key = await keyOfNew(store, 'a')
    const writers = Array.from({ length: 50 }, (_, n) => n)
    const write = async (n: number, value: JsonValue, version: number): Promise<boolean> =>
      await (stores[n % 2] ?? store).putDocument({ key, kind: KIND, id: 'd', value }, version)
    const first = await Promise.all(writers.map((n) => write(n, [], 0)))
    equal('how many wrote the first version', first.filter(Boolean).length, 1)
    const add = async (n: number): Promise<void> => {
      // A writer fails only when another one succeeds, so 50 tries suffice.
      for (let tries = 1; tries <= 50; tries += 1) {
        const [present] = await (stores[n % 2] ?? store).documents(key, KIND)
        const list = Array.isArray(present?.value) ? present.value : []
        if (await write(n, [...list, n], present?.version ?? 0)) return
      }
      throw new Error('putDocument(): expected one of 50 writers to get through in 50 tries, but it did not')
    }
    await Promise.all(writers.map(add))
    const [last] = await store.documents(key, KIND)
    equal('the version', last?.version, 51)
    const list = Array.isArray(last?.value) ? last.value.map(Number) : []
    equal(
      'who has written',
      list.sort((a, b) => a - b),
      writers,
    )
  },

  'a document that cannot be written changes nothing': async ({ store }) => {
    const key = await keyOfNew(store, 'a')
    const document = { key, kind: KIND, id: 'd', value: 1 }
    await rejects('putDocument() of a new one', store.putDocument({ ...document, value: UNWRITABLE }, 0))
    equal('documents()', await store.documents(key, KIND), [])
    await store.putDocument(document, 0)
    await rejects('putDocument()', store.putDocument({ ...document, value: UNWRITABLE }, 1))
    equal('documents() then', await store.documents(key, KIND), [{ ...document, version: 1 }])
  },

  'documents do not change their task, and stay when it ends': async ({ store }) => {
    const { task } = await put(store, 'a', { lease: { id: 'l', ttlMs: 100 } })
    const document = { key: keyOf(task), kind: KIND, id: 'd', value: 1 }
    await store.putDocument(document, 0)
    equal('heads()', await store.heads(['a']), [{ ...keyOf(task), generation: 1 }])
    await move(store, task, { leaseId: 'l', state: 'completed', checkpoint: true })
    equal('documents()', await store.documents(document.key, KIND), [{ ...document, version: 1 }])
    equal('putDocument()', await store.putDocument(document, 1), true)
    equal('putDocument() of a new one', await store.putDocument({ ...document, id: 'e' }, 0), true)
    equal('deleteDocument()', await store.deleteDocument(document), true)
  },
}

const findingTests: StoreTests = {
  'documents of different kinds and tasks are independent': async ({ store }) => {
    const [a, b] = [await keyOfNew(store, 'a'), await keyOfNew(store, 'b')]
    const places = [
      [a, KIND],
      [a, 'other'],
      [b, KIND],
    ] as const
    for (const [key, kind] of places) {
      const value = `${kind} of ${key.id}`
      equal(`putDocument() of ${value}`, await store.putDocument({ key, kind, id: 'd', value }, 0), true)
    }
    await store.putDocument({ key: a, kind: KIND, id: 'd', value: 'changed' }, 1)
    const valueOf = async (key: TaskKey, kind: string): Promise<JsonValue[]> =>
      (await store.documents(key, kind)).map(({ value }) => value)
    equal('the one that changed', await valueOf(a, KIND), ['changed'])
    equal('the one of the other kind', await valueOf(a, 'other'), ['other of a'])
    equal('the one of the other task', await valueOf(b, KIND), ['kind of b'])
    equal('those of a kind that none has', await valueOf(a, 'none'), [])
    await store.deleteDocument({ key: a, kind: KIND, id: 'd' })
    equal('how many of the other kind', (await store.allDocuments('other', undefined, 10)).length, 1)
    equal('those of the kind', (await pages(store, 10)).map(nameOf), ['d of b'])
  },

  'the documents of a task are ordered by their ids': async ({ store }) => {
    const key = await keyOfNew(store, 'a')
    for (const id of ['b', 'a', 'C', '10', '9', 'a b', 'aa', 'B', '_', 'A']) {
      await store.putDocument({ key, kind: KIND, id, value: id }, 0)
    }
    await store.putDocument({ key, kind: KIND, id: 'C', value: 'last' }, 1)
    const ids = (await store.documents(key, KIND)).map(({ id }) => id)
    equal('ids of documents()', ids, ['10', '9', 'A', 'B', 'C', '_', 'a', 'a b', 'aa', 'b'])
  },

  'documents with ids of any characters are returned once each': async ({ store }) => {
    const key = await keyOfNew(store, 'a')
    for (const id of HOSTILE_NAMES) {
      equal('putDocument()', await store.putDocument({ key, kind: KIND, id, value: id }, 0), true)
      equal('putDocument() again', await store.putDocument({ key, kind: KIND, id, value: id }, 1), true)
    }
    const documents = await store.documents(key, KIND)
    const values = documents.map(({ value }) => (typeof value === 'string' ? value : ''))
    equal('values of documents()', [...values].sort(), [...HOSTILE_NAMES].sort())
    identical(
      'ids of documents()',
      documents.map(({ id }) => id),
      values,
    )
    identical('allDocuments()', (await pages(store, 7)).map(({ id }) => id).sort(), [...values].sort())
    for (const id of HOSTILE_NAMES) {
      equal('deleteDocument()', await store.deleteDocument({ key, kind: KIND, id }), true)
    }
    equal('documents() then', await store.documents(key, KIND), [])
  },

  'pages of documents span tasks and contain each document once': async ({ store }) => {
    const expected: string[] = []
    for (const taskId of ['a', 'b', 'b/c', 'A', '😀', 'a\u0000', '\uffff', 'ab']) {
      const key = await keyOfNew(store, taskId)
      for (const id of ['1', '2', 'x', 'X', '1\u0000', '😀', '\uffff']) {
        await store.putDocument({ key, kind: KIND, id, value: null }, 0)
        await store.putDocument({ key, kind: 'other', id, value: null }, 0)
        expected.push(`${id} of ${taskId}`)
      }
    }
    const whole = (await pages(store, 1_000)).map(nameOf)
    equal('names, sorted', [...whole].sort(), expected.sort())
    for (const limit of [1, 2, 7, 8, 55, 56]) {
      equal(`names in pages of ${limit}`, (await pages(store, limit)).map(nameOf), whole)
    }
  },

  'pages of documents continue after a deleted document': async ({ store }) => {
    for (const taskId of ['a', 'b', 'c', 'd']) {
      const key = await keyOfNew(store, taskId)
      for (const id of ['1', '2', '3']) await store.putDocument({ key, kind: KIND, id, value: 0 }, 0)
    }
    const whole = (await pages(store, 100)).map(nameOf)
    let round = 0
    const seen = await pages(store, 2, async ({ key, kind, id }) => {
      round += 1
      await (round % 2 === 0 ? store.deleteDocument({ key, kind, id }) : store.delete([key]))
    })
    const left = (await pages(store, 100)).map(nameOf)
    const names = seen.map(nameOf)
    equal('whether any came twice', new Set(names).size, names.length)
    equal(
      'those that are still there, and were not seen',
      left.filter((name) => !names.includes(name)),
      [],
    )
    equal(
      'whether the order is the same',
      names,
      whole.filter((name) => names.includes(name)),
    )
  },
}

export const documentTests: StoreTests = { ...writingTests, ...findingTests }
