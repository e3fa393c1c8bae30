/** Nothing in src/ reads a clock, draws a random number or reaches a runtime's global, but where it is meant to. */
import { describe, expect, it } from 'vitest'
import { read, SOURCES } from '../support/repository.js'
import { reads } from '../support/source.js'

const TIME = [
  'Date.now',
  'Date()',
  'new Date()',
  'performance',
  'setTimeout',
  'setInterval',
  'setImmediate',
  'queueMicrotask',
  'requestAnimationFrame',
]
const CHANCE = ['Math.random', 'crypto']
const RUNTIME = ['globalThis', 'global', 'window', 'self', 'process', 'Buffer', 'Deno', 'Bun']

const CLOCK = 'runtime/clock.ts'
/** The files whose job is to reach the platform. */
const PLATFORM = [
  CLOCK,
  'runtime/abort.ts',
  'runtime/buffer.ts',
  'runtime/crypto.ts',
  'runtime/environment.ts',
  'runtime/fetch.ts',
  'runtime/report.ts',
  'runtime/uncaught.ts',
  'runtime/timers.ts',
  'server/node/index.ts',
  'server/node/incoming.ts',
]

/** The program and its checks are for Node, and the page for browsers. */
const APPLICATIONS = ['command-line/', 'conformance/', 'inspector/page/']
const isOfApplication = (file: string): boolean => APPLICATIONS.some((folder) => file.startsWith(folder))

describe('the source', () => {
  it('reads no clock, chance or global', () => {
    const files = SOURCES.filter((file) => !PLATFORM.includes(file) && !isOfApplication(file))
    expect(readsIn(files, [...TIME, ...CHANCE, ...RUNTIME])).toEqual([])
  })

  it('does not write to the console', () => {
    expect(readsIn(SOURCES, ['console'])).toEqual([])
  })

  it(`has its clock in ${CLOCK}`, () => {
    expect(ambient(read(`src/${CLOCK}`), TIME)).not.toEqual([])
  })
})

describe('a read of what is ambient is found', () => {
  it.each([
    ['const now = Date.now()', 'Date.now'],
    ['const now = new Date()', 'new Date()'],
    ['const now = new Date', 'new Date()'],
    ['const now = Date()', 'Date()'],
    ['const { random } = Math, n = Math.random()', 'Math.random'],
    ['const id = crypto.randomUUID()', 'crypto'],
    ['const ports = { crypto }', 'crypto'],
    ['later(setTimeout)', 'setTimeout'],
    ['console.log(1)', 'console'],
  ])('%s', (code, name) => {
    expect(ambient(code, [...TIME, ...CHANCE, 'console'])).toEqual([name])
  })

  it.each(['new Date(0).toISOString()', 'task.process.self', 'const o = { window: 1 }', 'let d: Date'])(
    '%s is none',
    (code) => {
      expect(ambient(code, [...TIME, ...RUNTIME])).toEqual([])
    },
  )
})

/** `file: name` for each of these names that a file reads. */
function readsIn(files: readonly string[], names: readonly string[]): string[] {
  return files.flatMap((file) => ambient(read(`src/${file}`), names).map((name) => `${file}: ${name}`))
}

/** To parse a file takes most of the time, and few files contain one of the names. */
function ambient(code: string, names: readonly string[]): string[] {
  const identifiers = new Set(names.flatMap((name) => name.match(/[A-Z]\w+|^\w+/gi) ?? []))
  const mayRead = [...identifiers].some((identifier) => code.includes(identifier))
  return mayRead ? reads(code).filter((name) => names.includes(name)) : []
}
