/**
 * Assertions that work with any test runner.
 *
 * @module
 */

/** Throws unless both are equal as JSON. The order of keys and `undefined` values do not count. */
export function equal(what: string, actual: unknown, expected: unknown): void {
  compare(what, show(actual), show(expected))
}

/** Throws unless both have the same JSON text: the order of keys counts. */
export function identical(what: string, actual: unknown, expected: unknown): void {
  compare(what, text(actual), text(expected))
}

/** Throws unless the promise rejects, with any reason. */
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
  // Many runners show the difference of these two properties.
  throw Object.assign(new Error(message), brief(actual, expected))
}

const SHOWN = 300

/** The part of a text around `position`. */
function clip(shown: string, position: number): string {
  const start = Math.max(0, Math.min(position - SHOWN / 3, shown.length - SHOWN))
  const end = start + SHOWN
  return `${start > 0 ? '…' : ''}${shown.slice(start, end)}${end < shown.length ? '…' : ''}`
}

/** Omits large values, which runners compare slowly line by line. */
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
