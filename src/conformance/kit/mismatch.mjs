/** Differences between an answer and the specification. */

const MAX_SHOWN = 300

/** The failure of a check: what was sent, what the specification asks for, and what came. */
export class Mismatch extends Error {
  constructor({ sent }, expected, got) {
    super(`expected ${expected}, got ${shown(got)}`)
    this.sent = shorten(sent ?? '')
    this.expected = expected
    this.got = shown(got)
  }
}

/** Throws a {@link Mismatch} unless `condition` holds. `got` is shown as JSON, or as it is if it is a string. */
export function ensure(answer, condition, expected, got) {
  if (!condition) throw new Mismatch(answer, expected, got)
}

export function ensureEqual(answer, what, actual, expected) {
  const isEqual = JSON.stringify(actual) === JSON.stringify(expected)
  ensure(answer, isEqual, `${what} ${JSON.stringify(expected)}`, `${what} ${JSON.stringify(actual)}`)
}

/** The status and the beginning of the body of an answer. */
export function describeAnswer({ status, text }) {
  return `HTTP ${status} ${text}`
}

function shorten(text) {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)`
}

function shown(value) {
  return shorten(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'))
}
