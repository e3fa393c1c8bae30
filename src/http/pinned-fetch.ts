/**
 * A `fetch` for Node that connects only to addresses that were checked.
 *
 * The platform's `fetch` resolves a name again after the guard has resolved it, and the owner of the name may then return
 * other addresses (DNS rebinding).
 *
 * @module
 */
import { onAbort, raceAbort } from '../runtime/abort.js'
import { hostOf } from './url.js'
import { urlGuard, type UrlGuardOptions } from './url-guard.js'

/** Resolves a name to its IP addresses. */
export type Resolve = NonNullable<UrlGuardOptions['resolve']>

/** The part of Node's modules that requests need. */
export interface NodeModules {
  readonly http: Http
  readonly https: Http
  readonly net: { readonly isIP: (text: string) => number }
}

interface Http {
  request(options: object): ClientRequest
}

interface ClientRequest {
  on(event: 'socket', listener: (socket: Socket) => void): unknown
  on(event: 'response', listener: (incoming: Incoming) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'timeout' | 'close', listener: () => void): unknown
  destroy(error?: Error): unknown
  end(body: Uint8Array | undefined): unknown
}

interface Socket {
  once(event: 'connect', listener: () => void): unknown
  setTimeout(ms: number): unknown
}

interface Incoming {
  readonly statusCode?: number | undefined
  readonly statusMessage?: string | undefined
  readonly rawHeaders: readonly string[]
  on(event: 'error', listener: () => void): unknown
  destroy(): unknown
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array, undefined>
}

/** The part of `node:dns/promises` that resolves names. */
export interface Dns {
  lookup(host: string, options: { all: true }): Promise<readonly { readonly address: string }[]>
}

/** Resolves names with the operating system. */
export function resolveWith(dns: Dns): Resolve {
  return async (host) => (await dns.lookup(host, { all: true })).map(({ address }) => address)
}

/** Options of `pinnedFetch`, complete and checked. */
interface PinSettings {
  readonly node: NodeModules
  readonly allow: readonly string[] | undefined
  readonly resolve: Resolve
}

/** The implementation of `pinnedFetch` of `a2a-tasks/server/node`. */
export function toPinnedFetch(
  settings: PinSettings,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    const { signal, redirect, ...rest } = init
    if (redirect !== undefined && redirect !== 'manual') {
      throw new TypeError(
        `pinnedFetch() follows no redirects: it takes redirect: 'manual', not '${redirect}'`,
      )
    }
    const until = signal ?? undefined
    until?.throwIfAborted()
    const work = async (): Promise<Response> => {
      const target = new URL(url)
      const addresses = await addressesOf(target, settings)
      const outgoing = await toOutgoing(target, rest)
      until?.throwIfAborted()
      return await send(settings.node, outgoing, addresses, until)
    }
    // The lookup of a name and the body of the request do not follow the signal.
    return await (until === undefined ? work() : raceAbort(until, work()))
  }
}

/** An error with the text of the platform's `fetch`. */
function fetchError(cause: unknown, what = 'fetch failed'): TypeError {
  return new TypeError(what, { cause })
}

/** All addresses of the host. Each has been checked, or belongs to a name that is allowed. */
async function addressesOf(url: URL, { node, allow, resolve }: PinSettings): Promise<string[]> {
  const { isIP } = node.net
  let found: string[] | undefined
  let failure: TypeError | undefined
  const lookUp = async (host: string): Promise<string[]> => {
    try {
      found = [...new Set(await resolve(host))]
      return found
    } catch (cause) {
      failure = fetchError(cause)
      throw failure
    }
  }
  try {
    await urlGuard({ allow, resolve: lookUp })(url)
  } catch (error) {
    // A failed lookup may succeed later, so it is not a refusal by the guard.
    throw failure ?? error
  }
  const host = hostOf(url)
  if (isIP(host) !== 0) return [host]
  found ??= await lookUp(host)
  // Node would resolve anything that is not an address.
  if (found.length > 0 && found.every((address) => isIP(address) !== 0)) return found
  throw fetchError(new Error(`${host} has no address`))
}

interface Outgoing {
  readonly url: URL
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array | undefined
}

/** Headers of the connection, which callers cannot set. */
const CONNECTION_HEADERS = [
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]

/** Lets the platform's `Request` normalise the method, the headers and bodies of all kinds. */
async function toOutgoing(url: URL, init: RequestInit): Promise<Outgoing> {
  const request = new Request(url.href, init)
  const { method } = request
  const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer())
  const kept = [...request.headers].filter(([name]) => !CONNECTION_HEADERS.includes(name))
  const headers: Record<string, string> = {
    host: url.host,
    ...Object.fromEntries(kept),
    'accept-encoding': 'identity',
  }
  const length = body?.byteLength ?? (['POST', 'PUT', 'PATCH'].includes(method) ? 0 : undefined)
  if (length !== undefined) headers['content-length'] = String(length)
  return { url, method, headers, body }
}

/** The result of an attempt to send to one address. */
type Outcome = { readonly incoming: Incoming } | { readonly error: unknown; readonly isUnsent: boolean }

/** Errors thrown before sending: by Node for headers that `fetch` accepts, by Deno for missing permissions. */
const toUnsent = (error: unknown): Outcome => ({ error, isUnsent: true })

async function send(
  node: NodeModules,
  outgoing: Outgoing,
  addresses: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Response> {
  const last = addresses.at(-1)
  for (const address of addresses) {
    const outcome = await attempt(node, outgoing, address, address === last, signal).catch(toUnsent)
    if ('incoming' in outcome) return toResponse(outcome.incoming, outgoing.method, signal)
    // A request that may have arrived is not sent twice.
    if (address === last || !outcome.isUnsent || signal?.aborted) throw fetchError(outcome.error)
  }
  throw fetchError(new Error('There is no address'))
}

/** Time limit of a connection while there are further addresses, in ms. */
const CONNECT_MS = 2_000

/**
 * Connects to the address itself, with the name in `Host` and for TLS. A runtime that ignores the option `lookup` would
 * resolve the name again.
 */
function attempt(
  { http, https, net }: NodeModules,
  { url, method, headers, body }: Outgoing,
  address: string,
  isLast: boolean,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const isSecure = url.protocol === 'https:'
  const host = hostOf(url)
  return new Promise((resolve) => {
    const request = (isSecure ? https : http).request({
      host: address,
      port: url.port || (isSecure ? 443 : 80),
      path: url.pathname + url.search,
      method,
      headers,
      agent: false,
      ...(isSecure && net.isIP(host) === 0 && { servername: host }),
      ...(!isLast && { timeout: CONNECT_MS }),
    })
    let isUnsent = true
    const fail = (error: Error): void => resolve({ error, isUnsent })
    const ignore = onAbort(signal, () => void request.destroy())
    request.on('socket', (socket) => {
      socket.once('connect', () => {
        isUnsent = false
        socket.setTimeout(0)
      })
    })
    request.on('timeout', () => {
      if (isUnsent) request.destroy(new Error(`No connection to ${address} within ${CONNECT_MS} ms`))
    })
    request.on('response', (incoming) => resolve({ incoming }))
    // Kept after the response has begun: no other listener handles an error of the request then.
    request.on('error', fail)
    request.on('close', () => {
      ignore()
      fail(new Error('The connection was closed'))
    })
    request.end(body)
  })
}

/** Statuses of responses without a body. */
const BODILESS = [204, 205, 304]

function toResponse(incoming: Incoming, method: string, signal: AbortSignal | undefined): Response {
  const { statusCode: status = 0, statusMessage: statusText = '' } = incoming
  // The body reports errors. Node needs no listener here, but other runtimes throw an error that has none.
  incoming.on('error', () => {})
  try {
    const init = { status, statusText, headers: toHeaders(incoming) }
    if (method !== 'HEAD' && !BODILESS.includes(status)) return new Response(bodyOf(incoming, signal), init)
    incoming.destroy()
    return new Response(null, init)
  } catch (cause) {
    incoming.destroy()
    throw fetchError(cause)
  }
}

/** Appends each header line, so that repeated headers are kept. */
function toHeaders({ rawHeaders }: Incoming): Headers {
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  }
  return headers
}

/** The body as a stream that reads on demand. */
function bodyOf(incoming: Incoming, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  const chunks = incoming[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next()
          if (done) controller.close()
          else controller.enqueue(value)
        } catch (cause) {
          signal?.throwIfAborted()
          throw fetchError(cause, 'terminated')
        }
      },
      cancel() {
        incoming.destroy()
      },
    },
    { highWaterMark: 0 },
  )
}
