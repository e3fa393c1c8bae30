/**
 * Beginnings and ends of texts.
 *
 * @module
 */

/** At most the first `max` units of UTF-16. Does not cut a surrogate pair. */
export function firstChars(text: string, max: number): string {
  return text.slice(0, max).replace(/[\uD800-\uDBFF]$/, '')
}

/** At most the last `max` units of UTF-16. Does not cut a surrogate pair. */
export function lastChars(text: string, max: number): string {
  return text.slice(-max).replace(/^[\uDC00-\uDFFF]/, '')
}
