/**
 * "Did you mean" suggestions for misspelt keys.
 *
 * @module
 */

/** Returns `, did you mean "endpoint"?`, or an empty text if no known name is close enough. */
export function suggestion(given: string, known: readonly string[]): string {
  const word = normalize(given.slice(0, 80))
  const [nearest] = known
    .map((name) => ({ name, distance: distanceOf(word, normalize(name)) }))
    .filter(({ name, distance }) => distance <= Math.max(1, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance)
  return nearest === undefined ? '' : `, did you mean "${nearest.name}"?`
}

/** Treats `timeoutSeconds`, `timeout-seconds` and `timeout_seconds` alike. */
function normalize(name: string): string {
  return name.toLowerCase().replace(/[_\-\s]/g, '')
}

/** Levenshtein distance. */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 0; i < from.length; i += 1) {
    const next = [i + 1]
    for (let j = 1; j <= to.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (from[i] === to[j - 1] ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
