/**
 * Parsing of URLs that may be invalid.
 *
 * @module
 */

/**
 * Parses an absolute URL, or one relative to `base`. Returns `undefined` if `text` is not one.
 *
 * `URL.canParse` is no substitute: once optimised, that of Node 20.20 rejects valid URLs that contain letters of Latin-1.
 */
export function parseUrl(text: string, base?: URL): URL | undefined {
  try {
    return new URL(text, base)
  } catch {
    return undefined
  }
}
