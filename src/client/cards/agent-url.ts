/**
 * URL of an agent, as a program passes it.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import { shownUrl } from '../../http/url.js'
import { pageUrl } from '../../runtime/environment.js'
import { requireId } from '../options.js'
import { parseUrl } from '../../runtime/url.js'

/** A host with a port, which `URL` reads as a scheme, and a path. */
const HOST_AND_PORT = /^[\w.-]+:\d+(\/[\w./-]*)?$/

/**
 * Returns `at` if it is an absolute URL. In a browser, a text that begins with `/` or `.` is relative to the page. URLs of
 * other schemes than http and https are for the request to refuse.
 *
 * @throws {A2AError} `INVALID_PARAMS` for anything else.
 */
export function toAgentUrl(at: string | URL): string {
  const text = requireId(at instanceof URL ? at.href : at, 'url')
  const isHost = HOST_AND_PORT.test(text)
  if (!isHost && parseUrl(text) !== undefined) return text
  const relative = /^[./]/.test(text) ? parseUrl(text, pageUrl()) : undefined
  if (relative !== undefined) return relative.href
  const got = (isHost ? text : shownUrl(text)).slice(0, 200)
  const hint = isHost ? `: is it http://${got}?` : ''
  throw invalidParams('url', `must be an absolute URL with http:// or https://, got "${got}"${hint}`)
}
