/** Reading the JSON of another agent. */
import { describe, expect, it } from 'vitest'
import { parseJson } from '../../src/http/json.js'

const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

describe('JSON from an agent', () => {
  it('may be as deep as is allowed, and no deeper', () => {
    expect(parseJson(nested(3), 3)).toEqual([[[]]])
    const error = expect.objectContaining({
      code: 'LIMIT_EXCEEDED',
      data: { limit: 'maxDepth', max: 3, actual: 4 },
    }) as unknown
    expect(() => parseJson(nested(4), 3)).toThrow(error)
  })

  it.each([
    ['arrays', '['.repeat(110_000)],
    ['objects', '{"a":'.repeat(110_000)],
    ['either', '[{"a\\"]":'.repeat(60_000)],
  ])('that begins with more %s in each other than can be read is refused before it is read', (_, text) => {
    // Reading it would fail, because it has no end.
    expect(() => parseJson(text, 100)).toThrow(expect.objectContaining({ code: 'LIMIT_EXCEEDED' }) as unknown)
  })

  it('may be as wide as it likes, and have any brackets in its texts', () => {
    const text = JSON.stringify([...Array.from({ length: 110_000 }, () => ({})), '[{"\\'.repeat(110_000)])
    expect(JSON.stringify(parseJson(text, 2))).toBe(text)
  })
})
