/**
 * Conformance tests of stored content: any JSON, id and size.
 *
 * @module
 */
import { type TaskKey, keyOf } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import { equal, identical } from './checks.js'
import { at, change, holder, HOSTILE_NAMES, move, put, storedOf } from './samples.js'
import type { StoreTests } from './kit.js'

function nested(depth: number, around: (inner: JsonValue) => JsonValue): JsonValue {
  let value: JsonValue = 'inside'
  for (let level = 0; level < depth; level += 1) value = around(value)
  return value
}

/** Values that some formats and drivers change. */
const HOSTILE_JSON: readonly JsonValue[] = [
  ...[null, true, false, 0, '', [], {}, [[]], [{}], { '': '' }, [null], { a: null, b: [], c: {} }],
  ...[
    '\u0000',
    'a\u0000b',
    '\ud800',
    'a\udc00b',
    '\ude00\ud83d',
    '\ufeff',
    '\u2028\u2029',
    '\u007f\u0080',
    '😀',
  ],
  ...[
    '\\',
    '\\\\',
    '\\u0000',
    '\\x00',
    '"',
    "'",
    '`',
    '$1',
    '?',
    '%s',
    ':a',
    '</script>',
    '\r\n\t',
    '\ufffd',
  ],
  ...['null', '{}', '[1]', '0', '"', '2026-01-01T00:00:00.000Z', "'; DROP TABLE tasks; --"],
  ...[1e308, -1e308, 5e-324, 0.1, 0.30000000000000004, 1e21, 1e-7, -1, 2 ** 31, 2 ** 53, -(2 ** 53), 2 ** 63],
  { z: 1, a: 2, Z: 3, 'b c': 4, '10': 5, '9': 6, a1: 7 },
  { '\u0000': 1, '\ud800': 2, '😀': 3, "'": 4, '"': 5, '\\': 6, $: 7, '.': 8, 'a.b': 9 },
  { constructor: 1, toString: 2, hasOwnProperty: 3, length: 4, prototype: 5, toJSON: 6 },
  // In an object literal, `__proto__` would set the prototype.
  JSON.parse('{"__proto__":{"isAdmin":true},"a":{"__proto__":null}}') as JsonValue,
  nested(100, (inner) => [inner]),
  nested(100, (inner) => ({ inner })),
  nested(50, (inner) => [{ inner }, null]),
]

const jsonTests: StoreTests = {
  'any JSON in an event is returned unchanged': async ({ store }) => {
    const created = await put(store, 'a')
    const changed = await move(store, created.task, { outputs: HOSTILE_JSON })
    const events = await store.events(changed.key, 1, 1_000)
    equal('how many events()', events.length, HOSTILE_JSON.length)
    for (const [n, value] of HOSTILE_JSON.entries()) {
      const [expected, event] = [changed.events[n], events[n]]
      identical(`the event with ${JSON.stringify(value)}`, event, expected)
    }
    identical('get()', await store.get('a'), storedOf(created, changed))
    identical('list()', await store.list({ limit: 1 }), [storedOf(created, changed)])
    equal('whether any prototype has changed', 'isAdmin' in {}, false)
  },

  'any JSON in a task is returned unchanged': async ({ store }) => {
    for (const [n, input] of HOSTILE_JSON.entries()) {
      const id = `task ${n}`
      const created = await put(store, id, { input })
      identical(`get() of a task with ${JSON.stringify(input)}`, await store.get(id), storedOf(created))
      const changed = await move(store, created.task, { outputs: [input, input], checkpoint: true })
      const expected = { checkpoint: changed.task, events: [] }
      identical(`the checkpoint with ${JSON.stringify(input)}`, await store.get(id), expected)
    }
  },

  'any JSON in a document is returned unchanged': async ({ store }) => {
    const key = keyOf((await put(store, 'a')).task)
    for (const [n, value] of HOSTILE_JSON.entries()) {
      const document = { key, kind: 'kind', id: `document ${String(n).padStart(3, '0')}`, value }
      equal(`putDocument() of ${JSON.stringify(value)}`, await store.putDocument(document, 0), true)
    }
    const documents = await store.documents(key, 'kind')
    identical(
      'documents()',
      documents.map(({ value }) => value),
      HOSTILE_JSON,
    )
    const all = await store.allDocuments('kind', undefined, 1_000)
    identical(
      'allDocuments()',
      all.map(({ value }) => value),
      HOSTILE_JSON,
    )
  },

  'any JSON in the note of a lease is returned unchanged': async ({ store, clock }) => {
    for (const [n, note] of HOSTILE_JSON.entries()) {
      await put(store, `created ${n}`, { lease: { id: `lease ${n}`, ttlMs: n + 1, note } })
      const { task } = await put(store, `taken ${n}`)
      await store.acquire(keyOf(task), { id: `lease ${n}`, ttlMs: 1_000 + n, note })
    }
    clock.ms += 10_000
    const orphans = await store.orphans(1_000)
    const expected = [...HOSTILE_JSON, ...HOSTILE_JSON]
    identical(
      'notes of orphans()',
      orphans.map(({ note }) => note),
      expected,
    )
  },
}

const nameTests: StoreTests = {
  'ids of any characters stay distinct': async ({ store, clock }) => {
    for (const [n, id] of HOSTILE_NAMES.entries()) {
      const what = JSON.stringify(id.slice(0, 50))
      const created = await put(store, id, { input: n })
      identical(`get() of ${what}`, await store.get(id), storedOf(created))
      const changed = await move(store, created.task, { commitId: id })
      equal(`commit() to ${what}, again`, await store.commit(changed), 'committed')
      identical(`events() of ${what}`, await store.events(changed.key, 1, 10), changed.events)
      equal(`acquire() of ${what}`, await holder(store.acquire(changed.key, { id, ttlMs: n + 1 })), id)
      equal(`renew() of ${what}`, await store.renew([{ key: changed.key, id }], n + 1), [id])
    }
    const heads = await store.heads(HOSTILE_NAMES)
    equal('ids of heads()', heads.map(({ id }) => id).sort(), [...HOSTILE_NAMES].sort())
    const listed = await store.list({ limit: 1_000 })
    equal('ids of list()', listed.map(({ checkpoint }) => checkpoint.id).sort(), [...HOSTILE_NAMES].sort())
    const idsOf = (keys: readonly TaskKey[]): string[] => keys.map(({ id }) => id).sort()
    equal('ids of unended()', idsOf(await store.unended(at(1), 1_000)), [...HOSTILE_NAMES].sort())
    clock.ms += 1_000
    const orphans = await store.orphans(1_000)
    identical(
      'orphans()',
      orphans.map(({ key, leaseId }) => [key.id, leaseId]),
      HOSTILE_NAMES.map((id) => [id, id]),
    )
    for (const [n, id] of HOSTILE_NAMES.entries()) {
      const key = { id, createdAt: at(0) }
      equal('delete()', await store.delete([key]), [key])
      equal('count()', await store.count({}), HOSTILE_NAMES.length - n - 1)
    }
  },

  'a task can have timestamps of any year': async ({ store }) => {
    const years = ['0001-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999Z', at(0), '9999-12-31T23:59:59.999Z']
    for (const createdAt of years) {
      const created = await put(store, createdAt, { createdAt })
      identical(`get() of one of ${createdAt}`, await store.get(createdAt), storedOf(created))
    }
    const listed = await store.list({ limit: 10 })
    equal(
      'ids of list()',
      listed.map(({ checkpoint }) => checkpoint.id),
      [...years].reverse(),
    )
    const keys = await store.unended('9999-12-31T23:59:59.999Z', 10)
    equal(
      'ids of unended()',
      keys.map(({ id }) => id),
      years.slice(0, 3),
    )
  },
}

const MIB = 1_048_576

const sizeTests: StoreTests = {
  'an event of 4 MiB is returned unchanged': async ({ store }) => {
    const created = await put(store, 'a')
    const text = 'äöü😀\u0000"\\ '.repeat(MIB / 2).slice(0, 4 * MIB)
    const second = await move(store, created.task, { outputs: [text] })
    identical('get()', await store.get('a'), storedOf(created, second))
    identical('events()', await store.events(second.key, 1, 1), second.events)
    const third = await move(store, second.task, { outputs: [[text]], checkpoint: true })
    identical('get() with it in the checkpoint', await store.get('a'), { checkpoint: third.task, events: [] })
  },

  'ten thousand events, in commits of five hundred, can be read in pages and at once': async ({ store }) => {
    const created = await put(store, 'a')
    const changes = []
    let { task } = created
    for (let n = 0; n < 20; n += 1) {
      const made = change(task, { outputs: Array.from({ length: 500 }, (_, index) => `chunk ${n}.${index}`) })
      equal(`commit() of 500 events, number ${n}`, await store.commit(made), 'committed')
      changes.push(made)
      task = made.task
    }
    const stored = storedOf(created, ...changes)
    identical('get()', await store.get('a'), stored)
    for (let after = 1; after < 10_001; after += 700) {
      const page = await store.events(keyOf(task), after, 700)
      identical(`events(${after}, 700)`, page, stored.events.slice(after - 1, after + 699))
    }
    equal('heads()', await store.heads(['a']), [{ ...keyOf(task), generation: 10_001 }])
  },

  'a task with many events is deleted completely': async ({ store }) => {
    const { task } = await put(store, 'a')
    const { key } = await move(store, task, { outputs: Array.from({ length: 2_000 }, (_, n) => n) })
    equal('delete()', await store.delete([key]), [key])
    const again = await put(store, 'a')
    identical('get()', await store.get('a'), storedOf(again))
    identical('events()', await store.events(key, 0, 10_000), again.events)
  },
}

export const contentTests: StoreTests = { ...jsonTests, ...nameTests, ...sizeTests }
