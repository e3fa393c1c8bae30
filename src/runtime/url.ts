/**
 * Parsing of URLs that may be invalid.
 *
 * @module
 */

/**
 * Returns the absolute URL that `text` is, or `undefined`.
 *
 * `URL.canParse` is no substitute: once Node 20 has optimised it, it refuses hosts and paths with letters of Latin-1.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}
