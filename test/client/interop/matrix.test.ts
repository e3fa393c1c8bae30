/** Completeness of the interoperability tests: every row has a test, and every peer takes part. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EXPECTED } from './errors.js'
import { GAPS, PEER_NAMES } from './gaps.js'
import { PEERS } from './peers.js'

function source(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8')
}

test('every row of the matrix has a test, and every peer is there', () => {
  const features = ['tasks', 'operations', 'runs'].map((name) => source(`${name}.test.ts`)).join('')
  for (const row of Object.keys(GAPS)) expect(features).toContain(`feature(peer, '${row}'`)
  const errors = source('errors.test.ts')
  for (const row of Object.keys(EXPECTED)) expect(errors).toContain(`row: '${row}'`)
  expect(PEERS.map(({ name }) => name)).toEqual(PEER_NAMES)
})
