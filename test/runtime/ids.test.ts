/** Generated ids, also where the platform has no `crypto.randomUUID`. */
import { afterEach, expect, it, vi } from 'vitest'
import { randomId } from '../../src/runtime/ids.js'

const UUID_V4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/

afterEach(() => vi.unstubAllGlobals())

it('an id is a UUID v4', () => {
  expect(randomId()).toMatch(UUID_V4)
  expect(randomId()).not.toBe(randomId())
})

it('an id is a UUID v4 on pages that are not served over HTTPS, which have no randomUUID', () => {
  const { crypto } = globalThis
  vi.stubGlobal('crypto', {
    getRandomValues: (bytes: Uint8Array<ArrayBuffer>) => crypto.getRandomValues(bytes),
  })
  expect(randomId()).toMatch(UUID_V4)
  expect(randomId()).not.toBe(randomId())
})
