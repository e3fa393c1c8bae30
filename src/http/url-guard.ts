/**
 * Guard against requests to private networks (SSRF).
 *
 * @module
 */
import ipaddr from 'ipaddr.js'
import { A2AError } from '../core/errors.js'
import { requireFunctions, requireKnown } from '../runtime/options.js'
import { hostOf, shownUrl } from './url.js'
import { describe, quote } from '../runtime/describe.js'
import { parseUrl } from '../runtime/url.js'

/** Checks a URL before a request. Throws `URL_BLOCKED` to refuse it, and returns nothing to allow it. */
export type UrlGuard = (url: URL) => void | Promise<void>

/** Options of {@link urlGuard}. */
export interface UrlGuardOptions {
  /**
   * Hosts to allow although they are not public: names (`agent.internal`), names with ports (`localhost:4000`), IP
   * addresses (`127.0.0.1`, `::1`), CIDR ranges (`10.1.0.0/16`, `fd00::/8`). Listed names are not resolved.
   */
  readonly allow?: readonly string[] | undefined
  /**
   * Returns the IP addresses of a name, all of which must be public or allowed. In Node: `async (host) => (await
   * dns.lookup(host, { all: true })).map(({ address }) => address)`. The request resolves the name again. Against an
   * attacker who changes the records in between, use a `fetch` that connects only to checked addresses, such as
   * `pinnedFetch` of `a2a-tasks/server/node`. Default is none: names are not resolved.
   */
  readonly resolve?: ((host: string) => Promise<readonly string[]>) | undefined
}

/**
 * Returns `url` if it uses `http` or `https`, contains no credentials, and its host may be public.
 *
 * A host is not public if it is an IP address of a private, local or reserved range, also as an IPv4 address embedded in
 * IPv6, or a name of a local network. Names are not resolved: use {@link urlGuard} with `resolve` for that.
 *
 * @throws {A2AError} `URL_BLOCKED` for any other URL.
 */
export function validateUrl(url: string | URL): URL {
  const parsed = toUrl(url)
  requireWeb(parsed)
  requirePublic(parsed)
  return parsed
}

/**
 * Creates a guard for URLs from untrusted sources: {@link validateUrl} with exceptions, which can also check the addresses
 * of names. The guard throws `URL_BLOCKED`, or rejects with it when it has to resolve a name.
 *
 * @throws {TypeError | RangeError} when an option is unknown, `allow` is not an array, or an entry of it is not a host.
 * @example
 * const agent = await A2AClient.connect(url, { urlGuard: urlGuard({ allow: ['agent.internal'] }) })
 */
export function urlGuard(options: UrlGuardOptions = {}): UrlGuard {
  requireGuardOptions(options, 'urlGuard')
  return toUrlGuard(options, 'allow')
}

/** @throws {TypeError} naming the invalid option of `where`. */
export function requireGuardOptions(options: UrlGuardOptions, where: string): void {
  requireKnown(options, ['allow', 'resolve'], where)
  requireFunctions(options, ['resolve'])
}

/** Creates a guard as {@link urlGuard} does. Errors call the exceptions `option`. */
export function toUrlGuard({ allow = [], resolve }: UrlGuardOptions, option: string): UrlGuard {
  requireHosts(option, allow)
  const exceptions = allow.map((entry) => toException(option, entry))
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

/** Creates a test for URLs whose host, and port if it has one, is that of an entry of `allow`. */
export function toHostTest(option: string, allow: readonly string[]): (url: URL) => boolean {
  const exceptions = allow.map((entry) => toException(option, entry))
  return (url) => exceptions.some((allows) => allows(hostOf(url), url))
}

/** Refuses a string, whose characters would count as entries. */
function requireHosts(option: string, allow: unknown): void {
  if (Array.isArray(allow)) return
  throw new TypeError(`"${option}" must be an array of hosts, got ${describe(allow)}`)
}

async function requireAddresses(
  url: URL,
  resolve: (host: string) => Promise<readonly string[]>,
  isGood: (address: string) => boolean,
): Promise<void> {
  const host = hostOf(url)
  let addresses: readonly unknown[]
  try {
    // Array.from throws for a result that is null or undefined.
    addresses = Array.from((await resolve(host)) as Iterable<unknown>)
  } catch (cause) {
    throw blocked(url, `${host} cannot be resolved`, cause)
  }
  const isAddress = (one: unknown): boolean => typeof one === 'string' && isStrict(one) && isGood(one)
  if (addresses.length === 0 || !addresses.every(isAddress)) {
    throw blocked(url, `${host} resolves to a private/reserved IP range`)
  }
}

/** Whether `address` is in the form that resolvers return. Ambiguous forms (`010.0.0.1`) and zones are not. */
function isStrict(address: string): boolean {
  if (!address.includes(':')) return ipaddr.IPv4.isValidFourPartDecimal(address)
  const [, ending] = /:([^:]*\..*)$/.exec(address) ?? []
  const isPlain = ending === undefined || ipaddr.IPv4.isValidFourPartDecimal(ending)
  return isPlain && !address.includes('%') && ipaddr.IPv6.isValid(address)
}

/** Names that resolve only within a network, or to the computer itself. */
const PRIVATE_NAMES = [
  // Reserved, or in common use for private networks: RFC 6761, RFC 6762 appendix G, RFC 8375, RFC 9476.
  /(^|\.)(localhost|localdomain|localnet|internal|intranet|private|priv|corp|home|homenet|lan)$/,
  /(^|\.)(mail|domain|workgroup|test|invalid|alt|onion|arpa)$/,
  // Service discovery, containers and virtual machines.
  /(^|\.)(svc|consul|nomad|mesos|docker|podman|lxd|incus|vagrant)$/,
  /(^|\.)(internal\.cloudapp\.net|reddog\.microsoft\.com|mshome\.net|ts\.net|beta\.tailscale\.net)$/,
  // Routers and resolvers of home networks.
  /(^|\.)(fritz\.(box|nas)|(myfritz|easy|o2)\.box|speedport\.ip|pi\.hole)$/,
  /(^|\.)(routerlogin\.(net|com)|tplinkwifi\.net|router\.asus\.com)$/,
  // Public names of the loopback address.
  /(^|\.)((localtest|lvh|vcap)\.me|lacolhost\.com)$/,
  // Hosts that discovery of proxies and tunnels looks up in each domain.
  /^(wpad|isatap)\./,
]
/** Metadata services at addresses of public ranges: that of Azure. */
const METADATA = ['168.63.129.16']

function requireWeb(url: URL): void {
  const { protocol, username, password } = url
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw blocked(url, `${protocol} — only http and https are allowed`, undefined, 'Blocked URL scheme')
  }
  if (username !== '' || password !== '') throw blocked(url, 'credentials in it are not allowed')
}

/** Relies on `URL`, which normalises the spellings of an IPv4 address. */
function requirePublic(url: URL): void {
  const host = hostOf(url)
  if (ipaddr.isValid(host)) {
    if (!isPublic(host)) throw blocked(url, `${host} is a private/reserved IP address`)
  } else if (/(^|\.)local\.?$/.test(host)) {
    throw blocked(url, `${host} is a local network hostname`)
  } else if (!host.includes('.') || host.endsWith('.') || isPrivateName(host)) {
    throw blocked(url, `${host} is not allowed`)
  }
}

function isPrivateName(host: string): boolean {
  return PRIVATE_NAMES.some((pattern) => pattern.test(host))
}

function isPublic(address: string): boolean {
  const ip = ipaddr.parse(address)
  if (ip.range() !== 'unicast' || METADATA.includes(ip.toString())) return false
  // Only 2000::/3 is assigned to public hosts. Other ranges include embedded IPv4 addresses.
  return 'octets' in ip || ((ip.parts[0] ?? 0) & 0xe000) === 0x2000
}

/** Returns a test for the hosts and addresses that an entry of `allow` permits. */
function toException(option: string, given: unknown): (host: string, url: URL) => boolean {
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
    throw new RangeError(`"${option}" must hold hosts and CIDR ranges, got ${quote(given)}`)
  }
  const allowed = hostOf(new URL(`http://${name}`))
  return (host, url) => host === allowed && (port === undefined || port === portOf(url))
}

function portOf({ port, protocol }: URL): string {
  return port || (protocol === 'https:' ? '443' : '80')
}

function toUrl(url: string | URL): URL {
  if (url instanceof URL) return url
  const parsed = parseUrl(url)
  if (parsed !== undefined) return parsed
  const shown = shownUrl(url)
  throw new A2AError('URL_BLOCKED', `Invalid URL: ${shown}`, { url: shown, reason: 'it is no URL' })
}

function blocked(url: URL, reason: string, cause?: unknown, label = 'Blocked URL'): A2AError<'URL_BLOCKED'> {
  // Built from parts: cutting the credentials out of the text fails when a password contains "@" or "/".
  const shown = url.origin === 'null' ? url.protocol : url.origin + url.pathname
  return new A2AError(
    'URL_BLOCKED',
    `${label}: ${reason}`,
    { url: shown, reason },
    cause === undefined ? undefined : { cause },
  )
}
