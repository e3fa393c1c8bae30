import { describe, expect, test } from 'vitest'
import type { RegisteredAgent } from '../../../src/gateway/registry/agent.js'
import { AgentRegistry } from '../../../src/gateway/registry/registry.js'
import { capabilitiesIn, LeastLoadedSelector } from '../../../src/gateway/registry/selection.js'

function agents(...all: readonly (readonly [id: string, ...capabilities: string[]])[]): RegisteredAgent[] {
  const registry = new AgentRegistry()
  for (const [id, ...capabilities] of all) {
    registry.register({ id, provider: 'custom', capabilities, endpoint: { url: 'https://example.com' } })
  }
  return registry.list()
}

describe('the least loaded', () => {
  const three = agents(['a', 'x'], ['b', 'x'], ['c', 'x'])
  const choose = (selection: LeastLoadedSelector, loads: Readonly<Record<string, number>> = {}): unknown =>
    selection.select(three, (id) => loads[id] ?? 0)?.id

  test('is the one with the fewest tasks', () => {
    expect(choose(new LeastLoadedSelector(), { a: 2, b: 1, c: 2 })).toBe('b')
  })

  test('is everybody in turn where all have the same', () => {
    const selection = new LeastLoadedSelector()
    expect(Array.from({ length: 7 }, () => choose(selection)).join('')).toBe('abcabca')
  })

  test('is, among equals, the one chosen longest ago', () => {
    const selection = new LeastLoadedSelector()
    choose(selection)
    choose(selection, { a: 1, c: 1 })
    expect(choose(selection, { c: 1 })).toBe('a')
    expect(choose(selection, { c: 1 })).toBe('b')
    expect(choose(selection)).toBe('c')
  })

  test('is none if there is no agent', () => {
    expect(new LeastLoadedSelector().select([], () => 0)).toBeNull()
  })

  test('may be an agent whose load was forgotten', () => {
    const selection = new LeastLoadedSelector()
    choose(selection)
    selection.forget('a')
    expect(choose(selection)).toBe('a')
  })

  test('changes nothing of the agents given', () => {
    const given = [...three]
    new LeastLoadedSelector().select(given, (id) => -id.charCodeAt(0))
    expect(given).toEqual(three)
  })
})

describe('capabilities in a text', () => {
  const known = agents(
    ['a', 'sum', 'web_search', 'c++', 'code'],
    ['b', 'search', 'code-review'],
    ['c', 'Übersetzung'],
  )

  test.each([
    ['Please sum these', ['sum']],
    ['summarize the sumo', []],
    ['SUM, then (search)!', ['sum', 'search']],
    ['search, search and sum', ['search', 'sum']],
    ['do a Web  Search for it', ['web_search']],
    ['web_search and web-search', ['web_search']],
    ['web search search', ['web_search', 'search']],
    ['a code\nreview', ['code-review']],
    ['die übersetzung', ['Übersetzung']],
    ['nothing of it', []],
    ['', []],
  ])('%j: %j', (text, expected) => {
    expect(capabilitiesIn(text, known)).toEqual(expected)
  })

  test('are returned in the spelling of the agent that comes first', () => {
    expect(capabilitiesIn('web search', agents(['a', 'web-search'], ['b', 'web_search']))).toEqual([
      'web-search',
    ])
  })

  test('are no patterns', () => {
    const odd = agents(['a', '.*', '(a+)+$', 'constructor', '__proto__'])
    expect(capabilitiesIn('anything aaaaaaaa constructor', odd)).toEqual(['constructor'])
  })

  test('are found in a long text of one word after the other', () => {
    const many = agents(['a', ...Array.from({ length: 500 }, (_, index) => `a a a a ${index}`)])
    expect(capabilitiesIn('a '.repeat(30_000) + '499', many)).toEqual(['a a a a 499'])
  })

  test('are searched in the first 65,536 characters: a text may have millions of words', () => {
    expect(capabilitiesIn(`${'a '.repeat(32_766)}sum`, known)).toEqual(['sum'])
    expect(capabilitiesIn(`${'a '.repeat(32_768)}sum`, known)).toEqual([])
  })
})
