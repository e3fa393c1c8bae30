/** Rules for every file of the repository. */
import { describe, expect, it } from 'vitest'
import { FILES, read } from '../support/repository.js'
import { usesAny } from '../support/source.js'

const ROOT_ENTRIES = [
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'tsup.config.ts', 'README.md', 'LICENSE'],
  ...['src', 'test', 'docs', 'examples'],
]
// This file names what it forbids.
const OTHERS = FILES.filter((file) => file !== 'test/package/files.test.ts')
const TEXTS = OTHERS.filter((file) => /\.(ts|[cm]?js|json|md|ya?ml)$|^\.ci\/|^LICENSE$/.test(file))
const CODE = OTHERS.filter((file) => file.endsWith('.ts'))
const TESTS = CODE.filter((file) => /\.test(-d)?\.ts$/.test(file))

/** Lines that match, as `file:line`. */
function linesWith(pattern: RegExp, files: readonly string[]): string[] {
  return files.flatMap((file) =>
    read(file)
      .split('\n')
      .flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}`] : [])),
  )
}

describe('the repository', () => {
  it('has nothing in its root but what was agreed, and dotfiles', () => {
    const entries = new Set(FILES.map((file) => file.split('/')[0] ?? ''))
    const others = [...entries].filter((entry) => !entry.startsWith('.') && !ROOT_ENTRIES.includes(entry))
    expect(others).toEqual([])
  })

  it.each(['README.md', 'LICENSE', 'package-lock.json'])('has a %s', (file) => {
    expect(FILES).toContain(file)
  })

  it('names its files in kebab-case', () => {
    const names = CODE.map((file) => file.split('/').at(-1) ?? '')
    expect(names.filter((name) => !/^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z-]+)*\.ts$/.test(name))).toEqual([])
  })

  it('leaves nothing to be done', () => {
    expect(linesWith(/\b(TODO|FIXME|XXX)\b/, TEXTS)).toEqual([])
  })

  it('uses no `any`', () => {
    // To parse a file takes most of the time.
    const suspects = CODE.filter((file) => /\bany\b/.test(read(file)))
    expect(suspects.filter((file) => usesAny(read(file)))).toEqual([])
    expect(usesAny('const x = [] as any[]')).toBe(true)
  })

  it('skips no test, and runs none alone', () => {
    const marks =
      /\b(it|test|describe|suite|bench)\b[\w.]*\.(skip|only|todo|fails|skipIf|runIf)\b|\bx(it|describe)\(/
    expect(linesWith(marks, TESTS)).toEqual([])
    expect('it.only(() => {})').toMatch(marks)
  })

  it('names no path of one machine', () => {
    const path = /(?<![\w/.-])\/(home|Users|root|work|tmp|var\/folders)\/|[A-Z]:\\\\?Users/
    expect(linesWith(path, TEXTS)).toEqual([])
    expect('"/home/someone/a2a"').toMatch(path)
  })

  it('locks versions without the address that they came from', () => {
    expect(
      linesWith(
        /"resolved"|\.tgz"/,
        FILES.filter((file) => file.endsWith('package-lock.json')),
      ),
    ).toEqual([])
  })
})
