/**
 * The requests that an inspector answers. This is its whole rule against pages of other sites.
 *
 * 1. Every request, also that of the page, has a host that the inspector knows: a loopback name, or one of the option `hosts`.
 *    Another site may let its own name lead to this server (DNS rebinding). It is then of the same origin as the inspector, and
 *    only its name tells.
 * 2. A request to the API has the header of the page. A page of another origin can send it only after a preflight, which the
 *    inspector never grants.
 * 3. `Sec-Fetch-Site` is what the browser says, and no script can set it. Where it is there, it must be `same-origin`, and that
 *    suffices: it is right behind every proxy, whatever the proxy makes of `Host`.
 * 4. Browsers leave it out for plain http to other machines, and old browsers always do. Then the host of `Origin`, where there is
 *    one, must be that of the request, or one of `hosts` as it is written there, with its port.
 *
 * @module
 */
import { hasHost, hasName } from './hosts.js'
import { Refusal } from './refusal.js'

/** A header that no page of another origin can send without the consent of a preflight. */
const PAGE_HEADER = 'x-a2a-inspector'
/** Of what a request says, so much is repeated in an error. */
const MAX_SAID = 100

/** @throws {Refusal} for a request to a host that the inspector does not know. */
export function requireKnownHost(request: Request, hosts: readonly string[]): void {
  const host = hostOf(request)
  if (!hasName(hosts, host)) throw new Refusal(403, unknown(`This inspector does not answer at`, host))
}

/** @throws {Refusal} for a request to the API that may have been caused by another site. */
export function requireOwnPage(request: Request, hosts: readonly string[]): void {
  const { headers } = request
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') throw new Refusal(403, 'The request comes from another site')
  if (headers.get(PAGE_HEADER) !== '1') throw new Refusal(403, `The header ${PAGE_HEADER}: 1 is missing`)
  const origin = headers.get('origin')
  if (site !== null || origin === null) return
  const from = URL.canParse(origin) ? new URL(origin).host : origin
  if (from !== hostOf(request) && !hasHost(hosts, from)) {
    throw new Refusal(403, unknown('The request comes from another origin,', from))
  }
}

/** The host that the client has asked for, with its port. */
function hostOf(request: Request): string {
  return request.headers.get('host') ?? new URL(request.url).host
}

function unknown(what: string, host: string): string {
  const name = JSON.stringify(host.slice(0, MAX_SAID))
  return `${what} ${name}. If it is an address of yours, add it to the option "hosts" of createInspector`
}
