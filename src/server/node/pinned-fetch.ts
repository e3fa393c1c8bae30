/**
 * A `fetch` for URLs that come from elsewhere: it connects to addresses that were checked, and to no others.
 *
 * @module
 */
import * as dns from 'node:dns/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import * as net from 'node:net'
import { urlGuard, type UrlGuardOptions } from '../../http/url-guard.js'
import { resolveWith, toPinnedFetch } from '../../http/pinned-fetch.js'

/**
 * A `fetch` that goes where `urlGuard` with the same options lets it, and looks up each name once: it connects to the
 * very addresses that were checked, so that nobody can have a name lead elsewhere between the check and the request
 * (DNS rebinding). For webhooks, and as the `fetch` of clients and of what fetches cards.
 *
 * It differs from the platform's: redirects are not followed but given back as they are, also where `redirect` is left
 * out; no proxy is used, and no connection is kept, so that none is left open once the body is read or canceled; the
 * body is asked for, and given, as it is stored (`Accept-Encoding: identity`); a body that is sent is collected first;
 * `url` of the response is empty. It sets no time limit: pass a `signal`. Of several addresses the next one is tried
 * where no connection comes about, for at most two seconds for each but the last.
 *
 * The function rejects with `URL_BLOCKED` for what is refused, before anything is sent, with the signal's reason, and
 * with a TypeError, whose `cause` says why, for everything else, as `fetch` does.
 *
 * @param options `resolve` defaults to what the operating system knows of a name.
 * @throws {RangeError | TypeError} when the options make no sense.
 * @example
 * const agent = await A2AClient.connect(url, { fetch: pinnedFetch() })
 */
export function pinnedFetch(
  options: UrlGuardOptions = {},
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  // What makes no sense is told at once.
  urlGuard(options)
  const { allow, resolve = resolveWith(dns) } = options
  return toPinnedFetch({ node: { http, https, net }, allow, resolve })
}
