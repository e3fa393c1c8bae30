/** Common properties of all scripts. Their behaviour: test/services/redis. */
import { describe, expect, it } from 'vitest'
import * as documents from '../../../src/stores/redis/document-scripts.js'
import * as feeds from '../../../src/stores/redis/feed-scripts.js'
import * as leases from '../../../src/stores/redis/lease-scripts.js'
import * as queries from '../../../src/stores/redis/query-scripts.js'
import * as tasks from '../../../src/stores/redis/task-scripts.js'

const PARTS = new Set(['STORED', 'DOCUMENT_KEYS', 'FEEDING'])
const SCRIPTS = Object.entries({ ...tasks, ...queries, ...leases, ...documents, ...feeds }).filter(
  ([name]) => !PARTS.has(name),
)

describe.each(SCRIPTS)('the script %s', (_name, source) => {
  it('looks at the layout before anything else', () => {
    const [first = ''] = source.split('redis.call(').slice(1)
    expect(first).toMatch(/^'GET', root \.\. ':layout'\)/)
  })

  it('names no key but its root', () => {
    expect(source.match(/\bKEYS\b/g)).toHaveLength(1)
  })

  it('leaves JSON as it is', () => {
    expect(source).not.toMatch(/cjson|cmsgpack/)
  })
})
