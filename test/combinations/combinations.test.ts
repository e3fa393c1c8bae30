/** Every part with every manager that needs no server. */
import { afterAll, describe, expect, test } from 'vitest'
import { COLUMNS } from './support/columns.js'
import { DELETION_RULES } from './support/deletions.js'
import * as kinds from '../../src/runtime/document-kinds.js'
import { FAST_ROWS, WRITTEN_KINDS } from './support/rows.js'
import { STORE_RULES } from './support/stored-first.js'
import { together } from './support/together.js'

describe.each(FAST_ROWS)('over $name', (row) => {
  test.each(COLUMNS)('$name', (column) => column.test(row))
  test.each(row.openStore === undefined ? [] : STORE_RULES)('%s', (_, rule) => rule(row))
  test('all parts together', () => together(row))
  test.each(DELETION_RULES)('%s', (_, rule) => rule(row))
})

afterAll(() => {
  const isKnown = (kind: string): boolean =>
    Object.values(kinds).some((known) => (known === kinds.CHILD_OF ? kind.startsWith(known) : kind === known))
  expect([...WRITTEN_KINDS].filter((kind) => !isKnown(kind))).toEqual([])
})
