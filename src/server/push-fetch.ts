/**
 * Requests that connect to addresses that were looked at, and to no others.
 *
 * `fetch` asks for the addresses of a name again, after the guard has: whoever owns the name may tell it others.
 *
 * @module
 */
import { urlGuard, type UrlGuard } from '../client/url-guard.js'
import { builtin } from './platform.js'

/** The IP addresses of a name. */
export type Resolve = (host: string) => Promise<readonly string[]>

interface Dns {
  lookup(host: string, options: { all: true }): Promise<readonly { readonly address: string }[]>
}

interface Address {
  readonly address: string
  readonly family: 4 | 6
}

type Lookup = (
  host: string,
  options: { readonly all?: boolean },
  callback: (error: unknown, address?: string | readonly Address[], family?: number) => void,
) => void

interface Incoming {
  readonly statusCode?: number
  readonly headers: Readonly<Record<string, unknown>>
  resume(): void
}

interface Outgoing {
  on(event: 'error', listener: (error: Error) => void): this
  on(event: 'response', listener: (message: Incoming) => void): this
  end(body: unknown): void
}

interface Http {
  readonly request: (url: string, options: object) => Outgoing
}

interface Streams {
  readonly Readable: { toWeb(message: Incoming): ReadableStream<Uint8Array> }
}

/** The DNS of the runtime, where it has one. */
export function lookUp(): Resolve | undefined {
  // The module that it is called for, or none.
  const dns = builtin('node:dns/promises') as Dns | undefined
  return dns && (async (host) => (await dns.lookup(host, { all: true })).map(({ address }) => address))
}

/** As much of `fetch` as webhooks need; nothing where the runtime lacks what it is made of. It follows no redirect. */
export function vettedFetch(
  allow: readonly string[] | undefined,
  resolve: Resolve,
): ((url: string, init: RequestInit) => Promise<Response>) | undefined {
  // The modules that they are called for, or none.
  const http = builtin('node:http') as Http | undefined
  const https = builtin('node:https') as Http | undefined
  const streams = builtin('node:stream') as Streams | undefined
  if (http === undefined || https === undefined || streams === undefined) return undefined
  return (text, { method, headers, body, signal }) =>
    new Promise((settle, reject) => {
      const url = new URL(text)
      const { request } = url.protocol === 'https:' ? https : http
      const lookup = lookupFor(url, allow, resolve)
      const options = { method, headers: Object.fromEntries(new Headers(headers)), signal, lookup }
      request(text, options)
        .on('error', reject)
        .on('response', (message) => {
          // It throws at a status that there is not.
          settle(Promise.resolve(message).then((given) => toResponse(given, streams)))
        })
        .end(body)
    })
}

/** Tells the connection where to go: to what {@link urlGuard} lets through, whatever it let through before. */
function lookupFor(url: URL, allow: readonly string[] | undefined, resolve: Resolve): Lookup {
  const addressesOf = async (host: string): Promise<Address[]> => {
    const addresses = await resolve(host)
    if (!(await isListed(url, allow))) await requireAll(url, addresses, urlGuard({ allow }))
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  }
  return (host, options, callback) => {
    addressesOf(host).then(
      (addresses) => {
        const [first] = addresses
        if (first === undefined) callback(new TypeError('The name has no address'))
        else if (options.all === true) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error: unknown) => callback(error),
    )
  }
}

/** Whether the host is allowed by its name, whatever it stands for: the guard then does not even ask. */
async function isListed(url: URL, allow: readonly string[] | undefined): Promise<boolean> {
  const guard = urlGuard({ allow, resolve: () => Promise.reject(new Error('It is asked for')) })
  try {
    await guard(url)
    return true
  } catch {
    return false
  }
}

/** What is no address is a name, and refused or asked for in vain. */
async function requireAll(
  { protocol, port }: URL,
  addresses: readonly string[],
  guard: UrlGuard,
): Promise<void> {
  for (const address of addresses) {
    const host = address.includes(':') ? `[${address}]` : address
    await guard(new URL(`${protocol}//${host}${port && `:${port}`}/`))
  }
}

/** The headers that say where to go and when to come back. */
const HEADERS = ['location', 'retry-after']
/** Those that have no body, and a `Response` takes none for. */
const BODILESS = [204, 205, 304]

function toResponse(message: Incoming, { Readable }: Streams): Response {
  const { statusCode: status = 0, headers } = message
  const known = HEADERS.flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' ? [[name, value] as [string, string]] : []
  })
  if (BODILESS.includes(status)) {
    message.resume()
    return new Response(null, { status, headers: known })
  }
  return new Response(Readable.toWeb(message), { status, headers: known })
}
