/**
 * Suggestions for misspelt names.
 *
 * @module
 */

/** The name that `written` most likely stands for, if one is near. */
export function nearest(written: string, names: readonly string[]): string | undefined {
  const longer = names.filter((name) => written.length >= 3 && name.startsWith(written))
  if (longer.length === 1) return longer[0]
  const limit = written.length <= 4 ? 1 : 2
  const ranked = names
    .map((name) => ({ name, distance: distance(written, name) }))
    .sort((a, b) => a.distance - b.distance)
  return ranked[0] !== undefined && ranked[0].distance <= limit ? ranked[0].name : undefined
}

/** Edits of one character, or swaps of two neighbours, from one text to the other. */
function distance(from: string, to: string): number {
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1]
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1]
      next[j] = Math.min(
        at(row, j) + 1,
        at(next, j - 1) + 1,
        at(row, j - 1) + (isSame ? 0 : 1),
        isSwapped ? at(before, j - 2) + 1 : Infinity,
      )
    }
    before = row
    row = next
  }
  return at(row, to.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity
}
