import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fromColumn, toColumn } from '../../../src/stores/postgres/text.js'

const name = fc.array(
  fc.oneof(
    fc.string({ minLength: 1, unit: 'binary' }),
    fc.constantFrom('~', '~z', '\0', '\uFEFF', '京', '😀'),
  ),
)

describe('a name in a column', () => {
  it('is itself where it is ordinary', () => {
    for (const ordinary of [
      'task-1',
      'c1a5e7de-2f7b-4a0b-9c0e-5b8a55e0d6f1',
      'Übung 1/2 京',
      'a\nb',
      ' ',
      '😀',
    ]) {
      expect(toColumn(ordinary)).toBe(ordinary)
    }
  })

  it('comes back as it was', () => {
    fc.assert(
      fc.property(name, fc.integer({ min: 1, max: 200 }), (pieces, times) => {
        const given = pieces.join('').repeat(times).slice(0, 1024)
        expect(fromColumn(toColumn(given))).toBe(given)
      }),
    )
  })

  it('has no U+0000, does not begin with U+FEFF, and fits into an index', () => {
    for (const unit of ['\0', '\uFEFF', '~', 'é', '京', '\uFFFF', '😀']) {
      const column = toColumn(unit.repeat(1024 / unit.length))
      expect(column).not.toContain('\0')
      expect(column).not.toMatch(/^\uFEFF/)
      expect(new TextEncoder().encode(column).length).toBeLessThanOrEqual(2_600)
    }
  })

  it('is not that of another name', () => {
    const long = '京'.repeat(1024)
    const names = [
      '~',
      '~~',
      '~0',
      '\0',
      '~f',
      '\uFEFF',
      '~z',
      '~~z',
      long,
      `${long.slice(1)}都`,
      toColumn(long),
    ]
    expect(new Set(names.map(toColumn)).size).toBe(names.length)
  })
})
