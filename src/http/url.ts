/**
 * Checks and safe display of URLs from other parties.
 *
 * @module
 */
import { parseUrl } from '../runtime/url.js'

/** `text` without trailing slashes. A regular expression would take quadratic time for many of them. */
export function trimSlashes(text: string): string {
  let end = text.length
  while (text[end - 1] === '/') end -= 1
  return text.slice(0, end)
}

/** The URL, or the reason, as text, why it cannot be requested. */
export function webUrl(text: string, base?: URL): URL | string {
  const url = parseUrl(text, base)
  if (url === undefined || !isWeb(url)) return 'is not an http or https URL: is http:// missing?'
  // An error of `fetch` would quote the password.
  return url.username || url.password ? 'holds credentials: use auth' : url
}

/** A URL for error texts: without query and credentials, which may be secret. */
export function shownUrl(text: string): string {
  const url = parseUrl(text)
  if (url === undefined) return /^[\w ./-]{0,200}(:\d+)?$/.test(text) ? text : '(not shown)'
  if (!isWeb(url)) return url.protocol
  return text === url.origin ? text : url.origin + url.pathname
}

/** The host without the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function isWeb({ protocol }: URL): boolean {
  return /^https?:$/.test(protocol)
}
