/**
 * The ports that webhooks may have.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { toHostTest, type UrlGuard } from '../../http/url-guard.js'
import { describe, quote } from '../../runtime/describe.js'

type Range = readonly [from: number, to: number]

/** Those of HTTP, and those that need no privileges to listen on. */
const DEFAULT_PORTS = [80, 443, [1_024, 65_535]]
/** Mail servers act on lines of any protocol, those of an HTTP request included. */
const SMTP_PORT = 25

/**
 * `guard`, which refuses other ports than `ports` too. An entry of `allow` that names a port permits it for its host.
 *
 * @throws {TypeError | RangeError} naming the invalid port.
 */
export function withPorts(
  guard: UrlGuard,
  ports: unknown = DEFAULT_PORTS,
  allow: readonly string[],
): UrlGuard {
  const ranges = toRanges(ports)
  const isNamed = toHostTest('push.allow', allow.filter(namesPort))
  const isAllowed = (port: number): boolean =>
    port !== SMTP_PORT && ranges.some(([from, to]) => port >= from && port <= to)
  return (url) => {
    const port = portOf(url)
    // The guard refuses URLs of other schemes.
    if (port === undefined || isAllowed(port) || isNamed(url)) return guard(url)
    const reason = `port ${port} is not in push.ports`
    throw new A2AError('URL_BLOCKED', `Blocked URL: ${reason}`, { url: url.origin, reason })
  }
}

function portOf({ port, protocol }: URL): number | undefined {
  if (protocol !== 'http:' && protocol !== 'https:') return undefined
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}

/** Whether an entry is a host with a port, and not an IPv6 address without brackets. */
function namesPort(entry: string): boolean {
  return /^(\[.+\]|[^:]+):\d+$/.test(entry)
}

function toRanges(ports: unknown): Range[] {
  if (!Array.isArray(ports)) {
    throw new TypeError(`"push.ports" must be an array of ports and ranges, got ${describe(ports)}`)
  }
  return ports.map((entry: unknown, index) => {
    if (entry === SMTP_PORT) {
      throw new RangeError('"push.ports" must not list 25, the port of mail; name the host in "push.allow"')
    }
    const [from, to, ...others] = isList(entry) ? entry : [entry, entry]
    if (isPort(from) && isPort(to) && from <= to && others.length === 0) return [from, to]
    const wanted = 'a whole number from 1 to 65535, or two of them, the smaller first'
    throw new RangeError(`"push.ports[${index}]" must be ${wanted}, got ${quote(entry)}`)
  })
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

function isPort(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535
}
