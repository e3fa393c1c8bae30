/**
 * Texts of messages.
 *
 * @module
 */

/** Different texts. */
export function texts(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `text ${at}`)
}
