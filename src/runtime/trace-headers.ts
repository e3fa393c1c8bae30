/**
 * Trace headers that are kept with tasks, messages and webhooks.
 *
 * @module
 */

/** Headers that identify a trace, such as `traceparent` and `tracestate` of W3C Trace Context. */
export type TraceHeaders = Readonly<Record<string, string>>

/** The most characters of all names and values. `tracestate` alone may have 512. */
const MAX_LENGTH = 1_024

/** The headers to store; `undefined` if there are none, or too many. */
export function storableTrace(trace: TraceHeaders | undefined): TraceHeaders | undefined {
  const entries = Object.entries(trace ?? {})
  const length = entries.join('').length
  return length === 0 || length > MAX_LENGTH ? undefined : Object.fromEntries(entries)
}

/** Reads stored headers. Any other value counts as none. */
export function readTrace(stored: unknown): TraceHeaders | undefined {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return undefined
  const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string'
  return storableTrace(Object.fromEntries(Object.entries(stored).filter(isText)))
}
