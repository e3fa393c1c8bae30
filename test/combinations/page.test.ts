/** The table of docs/reference/combinations.md, compared with the cells that the tests of this folder run. */
import { expect, test } from 'vitest'
import { read } from '../support/repository.js'
import { COLUMNS } from './support/columns.js'
import { durableRow, FAST_ROWS, HEADINGS, type Row } from './support/rows.js'

/** A row with each heading. Those of servers are opened in the tests of services. */
const ROWS = HEADINGS.map((heading): Row => {
  const unopened = durableRow(heading, heading, () => Promise.reject(new Error('It is not opened here')))
  return FAST_ROWS.find((row) => row.heading === heading) ?? unopened
})

test('the page has each cell, as it is tested', () => {
  const lines = read('docs/reference/combinations.md').split('\n')
  const cells = lines
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  const [head, , ...body] = cells
  expect(head).toEqual(['part', ...HEADINGS])
  expect(body).toEqual(COLUMNS.map(({ name, cell }) => [name, ...ROWS.map((row) => cell(row))]))
})

test('no manager is left out', () => {
  expect(FAST_ROWS.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['TaskManager', 'memoryStore', 'libsql']),
  )
})
