/** The limits in docs/security.md: each option has a row, and the defaults are those of the guides. */
import { describe, expect, test } from 'vitest'
import { read, SOURCES } from '../support/repository.js'

/** The section of docs/security.md, a guide with the same options, and how many defaults they share. */
const GUIDES: readonly (readonly [section: string, guide: string, shared: number])[] = [
  ['Task manager', 'task-manager', 10],
  ['Task manager', 'durable', 5],
  ['Request handler', 'agent-options', 5],
  ['Webhooks', 'webhooks', 5],
  ['Client', 'client-options', 5],
  ['Gateway', 'gateway', 3],
]

const UNITS: Readonly<Record<string, number>> = {
  KiB: 1_024,
  MiB: 1_048_576,
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}

describe.each(GUIDES)('the limits under "%s" and in the guide %s', (section, guide, shared) => {
  test('have the same defaults', () => {
    const ours = defaultsIn(sectionOf(read('docs/security.md'), section))
    const theirs = defaultsIn(read(`docs/guides/${guide}.md`))
    const common = [...theirs.keys()].filter((name) => ours.has(name))
    expect(common.length).toBeGreaterThanOrEqual(shared)
    const inGuide = new Map(common.map((name) => [name, theirs.get(name)]))
    expect(new Map(common.map((name) => [name, ours.get(name)]))).toEqual(inGuide)
  })
})

/** Numbers that bound nothing that others send: pauses, rhythms, and the sizes of pages and lists. */
const NO_LIMITS = [
  ...[
    'baseDelayMs',
    'everyMs',
    'expirySkewMs',
    'heartbeatMs',
    'expiresInMs',
    'initialMs',
    'leftMs',
    'maxMs',
    'pollIntervalMs',
    'pollMs',
  ],
  ...['pruneIntervalMs', 'resetMs', 'retryAfterMs', 'retryMinMs', 'sweepIntervalMs', 'waitMs'],
  ...['graceMs', 'pageSize', 'totalSize', 'softTtlMs', 'durationMs'],
]
/** They have a row under the name of their option, or of what they bound. */
const UNDER_ANOTHER_NAME = ['hardTtlMs', 'maxAgeMs', 'maxBytes', 'maxCount', 'maxEntries']

test('each limit that is an option has a row', () => {
  const rows = read('docs/security.md')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((row) => row.split('|', 2).at(1) ?? '')
  const named = new Set(
    rows.flatMap((cell) => [...cell.matchAll(/`(?:\w+\.)*(\w+)`/g)].map(([, name]) => name)),
  )
  const options = SOURCES.flatMap((file) =>
    [...read(`src/${file}`).matchAll(/readonly (max[A-Z]\w*|\w+(?:Ms|Size|Bytes))\?:/g)].map(
      ([, name]) => name ?? '',
    ),
  )
  const others = new Set([...NO_LIMITS, ...UNDER_ANOTHER_NAME])
  expect(options.length).toBeGreaterThan(50)
  expect([...new Set(options)].filter((name) => !others.has(name) && !named.has(name))).toEqual([])
})

test('a default is read in each form that the pages write it in', () => {
  const rows =
    '| `a` | 4 MiB; else 413 |\n| `b`, durable | 10 seconds |\n| `c` | 10,000 | `1` |\n| `d` | none |'
  expect(Object.fromEntries(defaultsIn(rows))).toEqual({ a: 4_194_304, b: 10_000, c: 10_000 })
})

test('the memory of a full house is that of docs/design/performance.md', () => {
  const section = sectionOf(read('docs/security.md'), 'Memory at the limits')
  const numbers = [...section.matchAll(/\b[\d,]+ B\b/g)].map(([number]) => number)
  expect(numbers).toHaveLength(2)
  const measured = read('docs/design/performance.md')
  expect(numbers.filter((number) => !measured.includes(number))).toEqual([])
})

function sectionOf(page: string, heading: string): string {
  return page.split(/^#+ /m).find((part) => part.startsWith(`${heading}\n`)) ?? ''
}

/** Numbers at the start of the second cell, by the name at the start of the first; sizes in bytes, times in ms. */
function defaultsIn(text: string): Map<string, number> {
  const rows = text.matchAll(/^\| `([\w.]+)`[^|]*\| ([\d,]+)(?: ([A-Za-z]+?)s?\b)?/gm)
  return new Map(
    [...rows].map(([, name = '', digits = '', unit = '']) => {
      return [name, Number(digits.replaceAll(',', '')) * (UNITS[unit] ?? 1)]
    }),
  )
}
