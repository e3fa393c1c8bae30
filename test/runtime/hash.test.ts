import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashInScript, hashOf } from '../../src/runtime/hash.js'

test.each([...Array(140).keys(), 1_000, 4_097])('the hash of %i characters is SHA-256', (length) => {
  for (const character of ['a', 'é', '\u{1f600}']) {
    const text = character.repeat(length)
    const expected = createHash('sha256').update(text).digest('hex')
    expect([hashOf(text), hashInScript(text)]).toEqual([expected, expected])
  }
})
