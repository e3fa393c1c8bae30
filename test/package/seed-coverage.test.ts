/**
 * `docs/seed-coverage.md` says of each behaviour of the five systems which test shows it, or why we differ.
 */
import { describe, expect, test } from 'vitest'
import { FILES, read } from '../support/repository.js'

interface Row {
  readonly system: string
  readonly number: string
  readonly line: string
  /** `file › name`, or a word on why there is none. */
  readonly tests: readonly string[]
}

const PAGE = read('docs/seed-coverage.md')

/** How many behaviours of each there are, and what comes after those that have a row of their own. */
const SYSTEMS: readonly (readonly [system: string, count: number, rest: readonly string[]])[] = [
  ['The TaskManager module', 39, []],
  ['corvid-agent', 46, []],
  ['KAOS', 42, []],
  ['The task lifecycle document', 13, []],
  ['LiteLLM-RS', 36, []],
]

const EXCUSE = /^(later|not applicable|differs)\b/

function rowsOf(page: string): Row[] {
  return page.split(/^## /m).flatMap((section) => {
    const [system = '', ...lines] = section.split('\n')
    return lines.flatMap((line) => {
      const [, number = '', , tests = ''] = line.split('|').map((cell) => cell.trim())
      return /^\d/.test(number) ? [{ system, number, line, tests: tests.split('; ') }] : []
    })
  })
}

const known = new Map<string, boolean>()

/** Whether a test, or a group of tests, has a name that begins so. */
function exists(cell: string): boolean {
  const isThere = known.get(cell) ?? isNamed(cell)
  known.set(cell, isThere)
  return isThere
}

function isNamed(cell: string): boolean {
  const [short = '', name = ''] = cell.split(' › ')
  const file = `test/${short}.test.ts`
  if (!FILES.includes(file) || name === '') return false
  const literal = name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return new RegExp(`(?:\\b(?:test|it|describe)|\\))\\(\\s*['"\`]${literal}`).test(read(file))
}

function isRight(cell: string): boolean {
  if (!EXCUSE.test(cell)) return exists(cell)
  return /^(later$|(not applicable|differs): \S)/.test(cell)
}

/** What is wrong with the page, in the order of its rows. */
function problemsOf(page: string): string[] {
  const rows = rowsOf(page)
  const expected = SYSTEMS.flatMap(([system, count, rest]) =>
    [...Array.from({ length: count }, (_, index) => String(index + 1)), ...rest].map(
      (number) => `${system} ${number}`,
    ),
  )
  const numbers = rows.map(({ system, number }) => `${system} ${number}`)
  const misplaced = numbers.filter((number, index) => number !== expected[index])
  const missing = expected.filter((number) => !numbers.includes(number))
  const wrong = rows.flatMap(({ system, number, tests }) => {
    // What we do otherwise is shown by a test, too.
    const isShown = tests.some((cell) => !cell.startsWith('differs'))
    return [...(isShown ? tests : ['nothing'])]
      .filter((cell) => !isRight(cell))
      .map((cell) => `${system} ${number}: ${cell}`)
  })
  return [...misplaced, ...missing, ...wrong]
}

test('every behaviour is listed, once, in order, with tests that there are, or with a reason', () => {
  expect(problemsOf(PAGE)).toEqual([])
})

describe('a page that is wrong is found', () => {
  test.each(rowsOf(PAGE))('by its row $number of $system', ({ line, tests }) => {
    const mutations = [
      '',
      `${line}\n${line}`,
      line.replace(tests.join('; '), ''),
      ...tests.map((cell) => line.replace(cell, misspelt(cell))),
    ]
    for (const mutated of mutations) {
      const problems = problemsOf(PAGE.replace(line, () => mutated))
      expect(problems.length, mutated).toBeGreaterThan(0)
    }
  })

  test('by the tests that it names', () => {
    expect(exists('core/lifecycle › the diagram is')).toBe(true)
    expect(exists('core/lifecycle › diagram is')).toBe(false)
    expect(exists('core/lifecycle › working')).toBe(false)
    expect(exists('core/lifecycle')).toBe(false)
    expect(exists('core/nowhere › the diagram is')).toBe(false)
  })

  test('by a reason that is none', () => {
    expect(['later', 'differs: why', 'not applicable: why'].map(isRight)).toEqual([true, true, true])
    expect(['later: why', 'differs:', 'differs', 'not applicable', ''].some(isRight)).toBe(false)
  })
})

/** A test of another name, or a reason that is none. */
function misspelt(cell: string): string {
  return EXCUSE.test(cell) ? `${cell.replace(/:.*/, '')}:` : cell.replace(' › ', ' › no ')
}
