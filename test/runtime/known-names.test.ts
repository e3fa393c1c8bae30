/** The known name that is suggested for an unknown one. */
import { describe, expect, it, test } from 'vitest'
import { knownNames, suggestion } from '../../src/runtime/known-names.js'

const KNOWN = ['feedSize', 'prefix', 'timeout_seconds', 'now', 'maxTasks']

describe('a near name is suggested', () => {
  test.each([
    ['feedsize', 'feedSize'],
    ['feed_size', 'feedSize'],
    ['fedSize', 'feedSize'],
    ['feedSiez', 'feedSize'],
    ['feedSizes', 'feedSize'],
    ['timeoutSeconds', 'timeout_seconds'],
    ['timeout-second', 'timeout_seconds'],
    ['Prefix', 'prefix'],
    ['prefixes', 'prefix'],
    ['maxTask', 'maxTasks'],
  ])('for %s: %s', (given, near) => {
    expect(suggestion(given, KNOWN)).toBe(`, did you mean "${near}"?`)
  })
})

test('the nearest of all is suggested', () => {
  expect(suggestion('ouput', ['input', 'output'])).toBe(', did you mean "output"?')
})

test.each(['', 'color', 'feed', 'size', 'seconds', 'x'.repeat(1_000_000)])('no other is: %#', (given) => {
  expect(suggestion(given, KNOWN)).toBe('')
})

it('comes before the known names', () => {
  expect(knownNames('fedSize', ['feedSize', 'now'])).toBe(
    ', did you mean "feedSize"?; known are feedSize, now',
  )
  expect(knownNames('color', ['feedSize', 'now'])).toBe('; known are feedSize, now')
})
