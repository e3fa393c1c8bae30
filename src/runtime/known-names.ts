/**
 * Known names and one that is near, for errors about unknown names.
 *
 * @module
 */

/** Returns `, did you mean "feedSize"?; known are feedSize, prefix`, for the end of "is unknown". */
export function knownNames(given: string, known: readonly string[]): string {
  return `${suggestion(given, known)}; known are ${known.join(', ')}`
}

/** Returns `, did you mean "feedSize"?`, or an empty text if no known name is near. */
export function suggestion(given: string, known: readonly string[]): string {
  for (let most = 0; most <= 4; most += 1) {
    const near = known.find((name) => isNear(plain(given), plain(name), most))
    if (near !== undefined) return `, did you mean "${near}"?`
  }
  return ''
}

/** Makes `timeoutSeconds`, `timeout-seconds` and `timeout_seconds` the same. */
function plain(name: string): string {
  return name.slice(0, 80).toLowerCase().replace(/[-_]/g, '')
}

/** Whether the texts differ in one place, by at most two characters of each and at most `most` of both. */
function isNear(a: string, b: string, most: number): boolean {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return [0, 1, 2].some((from) =>
    [0, 1, 2].some((to) => from + to <= most && a.slice(at + from) === b.slice(at + to)),
  )
}
