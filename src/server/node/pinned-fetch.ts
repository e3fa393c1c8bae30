/**
 * The `fetch` for untrusted URLs on Node.
 *
 * @module
 */
import * as dns from 'node:dns/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import * as net from 'node:net'
import { requireGuardOptions, toUrlGuard, type UrlGuardOptions } from '../../http/url-guard.js'
import { resolveWith, toPinnedFetch } from '../../http/pinned-fetch.js'

/**
 * Creates a `fetch` that reaches only URLs that `urlGuard` allows with the same options. It resolves each name once and
 * connects to the addresses that were checked, which prevents DNS rebinding. For webhooks, and as the `fetch` of clients
 * and of card discovery.
 *
 * Differences from the platform's `fetch`:
 * - It returns redirects instead of following them. `redirect` must be absent or `'manual'`.
 * - It uses no proxy and keeps no connection open after the body is read or canceled.
 * - It requests bodies without compression (`Accept-Encoding: identity`).
 * - It collects a request body before sending it.
 * - The response's `url` is empty.
 * - It has no time limit: pass a `signal`. Where a name has several addresses, it tries the next one when a connection
 *   fails or takes longer than two seconds.
 *
 * The function rejects with `URL_BLOCKED` before it sends anything to a refused URL, with the signal's reason, and with a
 * `TypeError` that has a `cause` for every other failure, as `fetch` does.
 *
 * @param options As those of `urlGuard`. `resolve` defaults to the operating system's resolver.
 * @throws {RangeError | TypeError} for an invalid option; the message names it.
 * @example
 * const agent = await A2AClient.connect(url, { fetch: pinnedFetch() })
 */
export function pinnedFetch(
  options: UrlGuardOptions = {},
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  // Checks the options now instead of with the first request.
  requireGuardOptions(options, 'pinnedFetch')
  toUrlGuard(options, 'allow')
  const { allow, resolve = resolveWith(dns) } = options
  return toPinnedFetch({ node: { http, https, net }, allow, resolve })
}
