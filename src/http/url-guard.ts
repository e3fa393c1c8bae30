/**
 * Guard against requests to private networks (SSRF).
 *
 * @module
 */
import ipaddr from 'ipaddr.js'
import { A2AError } from '../core/errors.js'
import { requireKnown } from '../runtime/options.js'
import { shownUrl } from './url.js'
import { parseUrl } from '../runtime/url.js'

/** Throws `URL_BLOCKED` where no request may go. */
export type UrlGuard = (url: URL) => void | Promise<void>

export interface UrlGuardOptions {
  /**
   * What may be reached although it is not public: names (`agent.internal`), names and ports (`localhost:4000`), IP
   * addresses (`127.0.0.1`, `::1`), CIDR ranges (`10.1.0.0/16`, `fd00::/8`). A name that is listed is not resolved.
   */
  readonly allow?: readonly string[] | undefined
  /**
   * The IP addresses of a name, all of which must be public or allowed. In Node: `async (host) => (await
   * dns.lookup(host, { all: true })).map(({ address }) => address)`. The request resolves the name again: against an
   * attacker who changes his records in between only a `fetch` helps that checks what it connects to. Default is none.
   */
  readonly resolve?: ((host: string) => Promise<readonly string[]>) | undefined
}

/**
 * `url`, if it is one of `http` or `https`, without credentials, whose host may be public: neither an IP address of a
 * private, local or reserved range (an IPv4 address embedded in IPv6 included), nor a name of a local network. It does
 * not ask what a name resolves to: {@link urlGuard} does.
 *
 * @throws {A2AError} `URL_BLOCKED`.
 */
export function validateUrl(url: string | URL): URL {
  const parsed = toUrl(url)
  requireWeb(parsed)
  requirePublic(parsed)
  return parsed
}

/**
 * A guard for URLs that come from elsewhere: {@link validateUrl} with exceptions, and a look at the addresses of names.
 *
 * @throws {TypeError | RangeError} when `allow` is no array, or an entry of it no host.
 */
export function urlGuard(options: UrlGuardOptions = {}): UrlGuard {
  requireKnown(options, ['allow', 'resolve'], 'urlGuard')
  const { allow = [], resolve } = options
  requireHosts(allow)
  const exceptions = allow.map(toException)
  const isAllowed = (host: string, url: URL): boolean => exceptions.some((allows) => allows(host, url))
  return (url) => {
    requireWeb(url)
    const host = hostOf(url)
    if (isAllowed(host, url)) return
    requirePublic(url)
    if (resolve === undefined || ipaddr.isValid(host)) return
    return requireAddresses(url, resolve, (address) => isPublic(address) || isAllowed(address, url))
  }
}

/** A text has entries, too: its characters. */
function requireHosts(allow: unknown): void {
  if (Array.isArray(allow)) return
  const got = typeof allow === 'object' ? 'an object' : `a ${typeof allow}`
  throw new TypeError(`"allow" must be an array of hosts, got ${allow === null ? 'null' : got}`)
}

async function requireAddresses(
  url: URL,
  resolve: (host: string) => Promise<readonly string[]>,
  isGood: (address: string) => boolean,
): Promise<void> {
  const host = hostOf(url)
  let addresses: readonly unknown[]
  try {
    // An iterable: what else a resolver gives is no answer.
    addresses = Array.from((await resolve(host)) as Iterable<unknown>)
  } catch (cause) {
    throw blocked(url, `${host} cannot be resolved`, cause)
  }
  const isAddress = (one: unknown): boolean => typeof one === 'string' && isStrict(one) && isGood(one)
  if (addresses.length === 0 || !addresses.every(isAddress)) {
    throw blocked(url, `${host} resolves to a private/reserved IP range`)
  }
}

/** As a resolver prints it: what others read in several ways (`010.0.0.1`), or has a zone, is none. */
function isStrict(address: string): boolean {
  if (!address.includes(':')) return ipaddr.IPv4.isValidFourPartDecimal(address)
  const [, ending] = /:([^:]*\..*)$/.exec(address) ?? []
  const isPlain = ending === undefined || ipaddr.IPv4.isValidFourPartDecimal(ending)
  return isPlain && !address.includes('%') && ipaddr.IPv6.isValid(address)
}

/** Names that resolve within a network only. */
const LOCAL_NAME = /(^|\.)(localhost|localdomain|internal|intranet|lan|home|corp|svc|test|onion|arpa)$/
/** Public by its range, but Azure's machines get their configuration there. */
const METADATA = ['168.63.129.16']

function requireWeb(url: URL): void {
  const { protocol, username, password } = url
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw blocked(url, `${protocol} — only http and https are allowed`, undefined, 'Blocked URL scheme')
  }
  if (username !== '' || password !== '') throw blocked(url, 'credentials in it are not allowed')
}

/** A URL spells an IPv4 address in one way only, however it was written. */
function requirePublic(url: URL): void {
  const host = hostOf(url)
  if (ipaddr.isValid(host)) {
    if (!isPublic(host)) throw blocked(url, `${host} is a private/reserved IP address`)
  } else if (/(^|\.)local\.?$/.test(host)) {
    throw blocked(url, `${host} is a local network hostname`)
  } else if (!host.includes('.') || host.endsWith('.') || LOCAL_NAME.test(host)) {
    throw blocked(url, `${host} is not allowed`)
  }
}

function isPublic(address: string): boolean {
  const ip = ipaddr.parse(address)
  if (ip.range() !== 'unicast' || METADATA.includes(ip.toString())) return false
  // All that is assigned so far; the rest holds IPv4 addresses under other names.
  return 'octets' in ip || ((ip.parts[0] ?? 0) & 0xe000) === 0x2000
}

/** Whether the entry allows a host, or an address of it. */
function toException(given: unknown): (host: string, url: URL) => boolean {
  const entry = typeof given === 'string' ? given : ''
  if (ipaddr.isValidCIDR(entry)) {
    const range = ipaddr.parseCIDR(entry)
    return (host) => {
      const ip = ipaddr.isValid(host) ? ipaddr.parse(host) : undefined
      return ip?.kind() === range[0].kind() && ip.match(range)
    }
  }
  const isIPv6 = ipaddr.IPv6.isValid(entry)
  const [, name, port] = /^(\[.+\]|[^:/?#@*]+)(?::(\d+))?$/.exec(isIPv6 ? `[${entry}]` : entry) ?? []
  if (name === undefined || parseUrl(`http://${name}:${port ?? 80}`) === undefined) {
    throw new RangeError(`"allow" must hold hosts and CIDR ranges, got ${JSON.stringify(given)}`)
  }
  const allowed = hostOf(new URL(`http://${name}`))
  return (host, url) => host === allowed && (port === undefined || port === portOf(url))
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80')
}

/** Without the brackets of IPv6. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function toUrl(url: string | URL): URL {
  if (url instanceof URL) return url
  const parsed = parseUrl(url)
  if (parsed !== undefined) return parsed
  const shown = shownUrl(url)
  throw new A2AError('URL_BLOCKED', `Invalid URL: ${shown}`, { url: shown, reason: 'it is no URL' })
}

function blocked(url: URL, reason: string, cause?: unknown, label = 'Blocked URL'): A2AError<'URL_BLOCKED'> {
  // A password may hold what looks like the end of one.
  const shown = url.origin === 'null' ? url.protocol : url.origin + url.pathname
  return new A2AError(
    'URL_BLOCKED',
    `${label}: ${reason}`,
    { url: shown, reason },
    cause === undefined ? undefined : { cause },
  )
}
