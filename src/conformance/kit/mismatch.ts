/** Differences between an answer and the specification. */

const MAX_SHOWN = 300

/** What was sent, as one line. */
export interface Sent {
  readonly sent: string
}

/** The failure of a check: what was sent, what the specification asks for, and what came. */
export class Mismatch extends Error {
  readonly sent: string
  readonly expected: string
  readonly got: string

  constructor({ sent }: Sent, expected: string, got: unknown) {
    super(`expected ${expected}, got ${shown(got)}`)
    this.sent = shorten(sent)
    this.expected = expected
    this.got = shown(got)
  }
}

/** Throws a {@link Mismatch} unless `condition` holds. `got` is shown as JSON, or as it is if it is a string. */
export function ensure(answer: Sent, condition: boolean, expected: string, got: unknown): asserts condition {
  if (!condition) throw new Mismatch(answer, expected, got)
}

export function ensureEqual(answer: Sent, what: string, actual: unknown, expected: unknown): void {
  const isEqual = JSON.stringify(actual) === JSON.stringify(expected)
  ensure(answer, isEqual, `${what} ${JSON.stringify(expected)}`, `${what} ${JSON.stringify(actual)}`)
}

/** The status and the beginning of the body of an answer. */
export function describeAnswer({ status, text }: { readonly status: number; readonly text: string }): string {
  return `HTTP ${status} ${text}`
}

function shorten(text: string): string {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}… (${text.length} characters)`
}

function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  return shorten(typeof value === 'string' ? value : JSON.stringify(value))
}
