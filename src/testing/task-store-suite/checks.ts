/**
 * Checks that need no test runner: what does not hold throws an error that says what was expected, and what came.
 *
 * @module
 */

/** Fails unless both are the same as JSON. The order of keys, and keys without a value, make no difference. */
export function equal(what: string, actual: unknown, expected: unknown): void {
  compare(what, show(actual), show(expected))
}

/** Fails unless both are the same as JSON, to the letter: the order of keys counts. */
export function identical(what: string, actual: unknown, expected: unknown): void {
  compare(what, text(actual), text(expected))
}

/** Fails unless it rejects, with whatever. */
export async function rejects(what: string, promise: Promise<unknown>): Promise<void> {
  const outcome = await promise.then(
    (value) => `it resolved to ${clip(show(value), 0)}`,
    () => undefined,
  )
  if (outcome !== undefined) throw new Error(`${what}: expected a rejection, but ${outcome}`)
}

function compare(what: string, actual: string, expected: string): void {
  if (actual === expected) return
  let same = 0
  while (actual[same] === expected[same]) same += 1
  const message = `${what}: expected ${clip(expected, same)}, but got ${clip(actual, same)}`
  // Runners that know these two show the difference.
  throw Object.assign(new Error(message), brief(actual, expected))
}

const SHOWN = 300

/** What is around `place`. */
function clip(shown: string, place: number): string {
  const start = Math.max(0, Math.min(place - SHOWN / 3, shown.length - SHOWN))
  const end = start + SHOWN
  return `${start > 0 ? '…' : ''}${shown.slice(start, end)}${end < shown.length ? '…' : ''}`
}

/** A runner would take long to compare megabytes line by line. */
function brief(actual: string, expected: string): { actual?: string; expected?: string } {
  return Math.max(actual.length, expected.length) > 10_000 ? {} : { actual, expected }
}

function text(value: unknown): string {
  return value === undefined ? 'undefined' : JSON.stringify(value)
}

function show(value: unknown): string {
  return value === undefined ? 'undefined' : JSON.stringify(value, sortKeys)
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
}
