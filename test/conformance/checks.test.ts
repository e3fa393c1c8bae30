/** The checks of a server over HTTP, against the server of this library, and some broken ones. */
import { describe, expect, test } from 'vitest'
import { FILES, read } from '../support/repository.js'
import { importsOf } from '../support/source.js'
import { ALL_CHECKS, checkAgent } from '../../src/conformance/suite.js'
import { failuresOf, INTERFACES } from './support/failures.js'
import { listenOwn, listenWithFault } from './support/listen.js'

test('the server of this library passes every check, over both bindings, in 1.0 and 0.3', async () => {
  const report = await checkAgent(await listenOwn())
  expect(report.interfaces).toEqual(INTERFACES)
  expect(failuresOf(report)).toEqual([])
})

test('a known failure that passes is reported', async () => {
  const known = [{ check: 'message/echo', interface: 'JSONRPC 1.0', reason: 'It was once so' }]
  const report = await checkAgent(await listenOwn(), { known, only: ['JSONRPC 1.0'] })
  expect(report.stale).toEqual(known)
})

describe('each check', () => {
  test('has its own name, a title, and a section', () => {
    expect(new Set(ALL_CHECKS.map(({ id }) => id)).size).toBe(ALL_CHECKS.length)
    const vague = ALL_CHECKS.filter(({ title, spec }) => title === '' || Object.values(spec).includes(''))
    expect(vague).toEqual([])
  })

  test('uses nothing but Node: the checks know nothing of this library', () => {
    const files = FILES.filter((file) => /^src\/conformance\/.+\.ts$/.test(file))
    const others = files
      .flatMap((file) => importsOf(read(file)))
      .filter(({ specifier }) => !/^(node:|\.\.?\/)/.test(specifier))
    expect(files.length).toBeGreaterThan(15)
    expect(others).toEqual([])
  })
})

test.each<[string, (text: string) => string, readonly string[]]>([
  [
    'kinds in tasks of 1.0',
    (text) => text.replaceAll('"status":{', '"kind":"task","status":{'),
    ['message/form'],
  ],
  ['one page alone', (text) => text.replace(/"nextPageToken":"[^"]+"/, '"nextPageToken":""'), ['list/pages']],
  ['an id 0 that counts as none', (text) => text.replace('"id":0,', '"id":null,'), ['json-rpc/id-number']],
  [
    'no message in a status',
    (text) => text.replace(/"message":\{/g, '"text":{'),
    ['message/question', 'message/reply'],
  ],
])('a fault is found by the checks of its subject: %s', async (_, change, checks) => {
  const { results } = await checkAgent(await listenWithFault(change), { only: ['JSONRPC 1.0'] })
  const failed = results.filter(({ outcome }) => outcome === 'failed').map(({ check }) => check)
  expect(failed.toSorted()).toEqual(checks)
})
