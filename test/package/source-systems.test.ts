/**
 * `docs/reference/source-systems.md` lists each behaviour of the source systems and what the library does; `source-systems.md`
 * in this folder lists the tests that show it.
 */
import { describe, expect, test } from 'vitest'
import { ALL_CHECKS } from '../../src/conformance/suite.js'
import { FILES, read } from '../support/repository.js'

interface Row {
  readonly system: string
  readonly number: string
  readonly line: string
  /** `**Same.**`, or another verdict and the reason. */
  readonly verdict: string
}

interface TestList {
  readonly system: string
  readonly number: string
  readonly line: string
  /** `file › name`. */
  readonly tests: readonly string[]
}

const PAGE = read('docs/reference/source-systems.md')
const TESTS = read('test/package/source-systems.md')

/** The number of behaviours of each system. */
const SYSTEMS: readonly (readonly [system: string, count: number])[] = [
  ['The TaskManager module', 39],
  ['corvid-agent', 46],
  ['KAOS', 42],
  ['The A2A task-lifecycle document', 13],
  ['LiteLLM-RS', 36],
]

const VERDICT = /^\*\*(?:Same\.\*\*|Differs\.\*\* \S)/

function rowsOf(page: string): Row[] {
  return page.split(/^## /m).flatMap((section) => {
    const [system = '', ...lines] = section.split('\n')
    return lines.flatMap((line) => {
      const [, number = '', , verdict = ''] = line.split('|').map((cell) => cell.trim())
      return /^\d+$/.test(number) ? [{ system, number, line, verdict }] : []
    })
  })
}

function testListsOf(page: string): TestList[] {
  return page.split(/^## /m).flatMap((section) => {
    const [system = '', ...lines] = section.split('\n')
    return lines.flatMap((line) => {
      const [, number, list = ''] = /^- \*\*(\d+)\.\*\* (.*)$/.exec(line) ?? []
      return number === undefined ? [] : [{ system, number, line, tests: list.split('; ') }]
    })
  })
}

const known = new Map<string, boolean>()

/** Whether a test, or a group of tests, has a name that begins so, or a check of agents has this id. */
function exists(cell: string): boolean {
  const isThere = known.get(cell) ?? isNamed(cell)
  known.set(cell, isThere)
  return isThere
}

function isNamed(cell: string): boolean {
  const [, short = '', name = ''] = /^`(.+?) › (.+)`$/.exec(cell) ?? []
  if (short === 'checks') return ALL_CHECKS.some(({ id }) => id === name)
  const file = `test/${short}.test.ts`
  if (!FILES.includes(file)) return false
  const literal = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`(?:\\b(?:test|it|describe)|\\))\\(\\s*['"\`]${literal}`).test(read(file))
}

const nameOf = ({ system, number }: Row | TestList) => `${system} ${number}`

/** The first difference between two lists, or nothing. */
function difference(found: readonly string[], expected: readonly string[]): string[] {
  const index = Array.from({ length: Math.max(found.length, expected.length) }).findIndex(
    (_, at) => found[at] !== expected[at],
  )
  return index < 0 ? [] : [`${found[index] ?? 'nothing'} in place of ${expected[index] ?? 'nothing'}`]
}

/** The mistakes of the page and of the list of tests. */
function problemsOf(page: string, tests: string): string[] {
  const rows = rowsOf(page)
  const lists = testListsOf(tests)
  const all = SYSTEMS.flatMap(([system, count]) =>
    Array.from({ length: count }, (_, index) => `${system} ${index + 1}`),
  )
  return [
    ...difference(rows.map(nameOf), all),
    ...difference(lists.map(nameOf), rows.map(nameOf)),
    ...rows.filter(({ verdict }) => !VERDICT.test(verdict)).map((row) => `${nameOf(row)}: ${row.verdict}`),
    ...lists.flatMap((list) =>
      list.tests.filter((cell) => !exists(cell)).map((cell) => `${nameOf(list)}: ${cell}`),
    ),
  ]
}

test('every behaviour is listed, once, in order, with a verdict and with tests that exist', () => {
  expect(problemsOf(PAGE, TESTS)).toEqual([])
})

describe('a mistake is found', () => {
  function expectProblems(line: string, mutations: readonly string[]): void {
    for (const mutated of mutations) {
      const [page, tests] = [PAGE, TESTS].map((text) => text.replace(line, () => mutated))
      expect(problemsOf(page ?? '', tests ?? '').length, mutated).toBeGreaterThan(0)
    }
  }

  test.each(rowsOf(PAGE))('in row $number of $system', ({ line, verdict }) => {
    const [, word = ''] = /^\*\*(.+?)\*\*/.exec(verdict) ?? []
    expectProblems(line, ['', `${line}\n${line}`, line.replace(verdict, ''), line.replace(word, `${word}!`)])
  })

  test.each(testListsOf(TESTS))('in the tests of row $number of $system', ({ line, tests }) => {
    expectProblems(line, [
      '',
      `${line}\n${line}`,
      line.replace(tests.join('; '), ''),
      ...tests.map((cell) => line.replace(cell, () => cell.replace(' › ', ' › no '))),
    ])
  })

  test('in the name of a test', () => {
    expect(exists('`core/lifecycle › the diagram is`')).toBe(true)
    expect(exists('`core/lifecycle › diagram is`')).toBe(false)
    expect(exists('`core/lifecycle › working`')).toBe(false)
    expect(exists('`core/lifecycle`')).toBe(false)
    expect(exists('`core/nowhere › the diagram is`')).toBe(false)
  })

  test('in a verdict', () => {
    const valid = ['**Same.**', '**Same.** `prune()`', '**Differs.** Why']
    expect(valid.map((verdict) => VERDICT.test(verdict))).toEqual([true, true, true])
    const invalid = ['', '**Differs.**', '**Not applicable.** Why', '**Later.** Why', 'Same']
    expect(invalid.some((verdict) => VERDICT.test(verdict))).toBe(false)
  })
})
