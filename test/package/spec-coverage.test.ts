/**
 * `docs/reference/spec-coverage.md` names the source and the test of each requirement of the protocol, or explains why there
 * is none.
 */
import { describe, expect, test } from 'vitest'
import { ALL_CHECKS } from '../../src/conformance/suite.js'
import { FILES, read } from '../support/repository.js'

interface Row {
  readonly number: number
  readonly level: string
  readonly where: string
  /** `file › name`, `differs`, or `not applicable`. */
  readonly tests: readonly string[]
}

const PAGE = read('docs/reference/spec-coverage.md')

const ROWS: readonly Row[] = PAGE.split('\n').flatMap((line) => {
  const [, number = '', , , level = '', where = '', test = ''] = line.split('|').map((cell) => cell.trim())
  return /^\d+$/.test(number) ? [{ number: Number(number), level, where, tests: test.split('; ') }] : []
})

const EXCUSE = /^(not applicable|differs)$/

/** The explanations of the exceptions: `- **5.** The agent …`, one list for each kind. */
const [, DIFFERENCES = '', NOT_APPLICABLE = ''] =
  /^The library differs.*?$\n\n(.*?)\n\nFive.*?$\n\n(.*?)\n\n/ms.exec(PAGE) ?? []

function numbersOf(list: string): number[] {
  return [...list.matchAll(/^- \*\*(\d+)\.\*\* \S/gm)].map(([, number]) => Number(number))
}

/** Of these cells, the names are those of the checks that users run, too. */
const CHECKS = 'checks › '

/** `send › 1.` → the file, and how the name begins. */
function toTest(cell: string): { file: string; name: string } {
  const [short = '', name = ''] = cell.split(' › ')
  return { file: `test/${short.includes('/') ? short : `server/spec/${short}`}.test.ts`, name }
}

/** The numbers that the names of a file's tests begin with. */
function numbersIn(file: string): Set<string> {
  const names = read(file).matchAll(/['"`](\d+(?:, \d+)*)\. /g)
  return new Set([...names].flatMap(([, numbers = '']) => numbers.split(', ')))
}

function exists(cell: string): boolean {
  if (cell.startsWith(CHECKS)) return ALL_CHECKS.some(({ id }) => id === cell.slice(CHECKS.length))
  const { file, name } = toTest(cell)
  if (!FILES.includes(file) || name === '') return false
  const [, number] = /^(\d+)\.$/.exec(name) ?? []
  return number === undefined ? read(file).includes(name) : numbersIn(file).has(number)
}

test('every requirement is listed, once, in order', () => {
  expect(ROWS.map(({ number }) => number)).toEqual(Array.from({ length: 178 }, (_, index) => index + 1))
})

test('every exception is explained', () => {
  const having = (excuse: string) =>
    ROWS.filter(({ tests }) => tests.includes(excuse)).map(({ number }) => number)
  expect(numbersOf(DIFFERENCES)).toEqual(having('differs'))
  expect(numbersOf(NOT_APPLICABLE)).toEqual(having('not applicable'))
})

test('every level is one of three', () => {
  expect(new Set(ROWS.map(({ level }) => level))).toEqual(new Set(['MUST', 'SHOULD', 'policy']))
})

describe.each(ROWS)('$number', ({ number, where, tests }) => {
  const named = tests.filter((cell) => !EXCUSE.test(cell))

  test('names tests that exist, or is an exception', () => {
    expect(tests.join('')).not.toBe('')
    expect(named.filter((cell) => !exists(cell))).toEqual([])
  })

  test('is shown by a test, unless it is an exception', () => {
    if (tests.some((cell) => EXCUSE.test(cell))) return
    // A test without its number could not be found.
    expect(
      named.some(
        (cell) => toTest(cell).name === `${number}.` || cell.startsWith('wire/') || cell.startsWith(CHECKS),
      ),
    ).toBe(true)
  })

  test('names a source file that exists, if it has a test', () => {
    const file = /`(.+)`/.exec(where)?.[1]
    if (named.length > 0) expect(FILES).toContain(`src/${file ?? ''}`)
  })
})

test('every number that a test begins with is on the page, with that file', () => {
  const specs = FILES.filter((file) => /^test\/server\/spec\/.*\.test\.ts$/.test(file))
  const missing = specs.flatMap((file) => {
    const short = file.replace(/^test\/server\/spec\/(.*)\.test\.ts$/, '$1')
    return [...numbersIn(file)].filter((number) => {
      const row = ROWS.find((each) => each.number === Number(number))
      return !row?.tests.includes(`${short} › ${number}.`)
    })
  })
  expect(missing).toEqual([])
})

test('a page that is wrong is found', () => {
  expect(exists('send › 1.')).toBe(true)
  expect(exists('send › 178.')).toBe(false)
  expect(exists('nowhere › 1.')).toBe(false)
  expect(exists('send')).toBe(false)
  expect(exists('wire/v1/corpus › every folder')).toBe(true)
  expect(exists('wire/v1/corpus › no folder')).toBe(false)
  expect(exists('checks › get/unknown')).toBe(true)
  expect(exists('checks › get/nothing')).toBe(false)
})
