/**
 * A `fetch` for Node that connects only to addresses that were checked.
 *
 * The platform's `fetch` asks for the addresses of a name again, after the guard has: whoever owns the name may tell it
 * others.
 *
 * @module
 */
import { urlGuard, type UrlGuardOptions } from './url-guard.js'

/** The IP addresses of a name. */
export type Resolve = NonNullable<UrlGuardOptions['resolve']>

/** As much of Node's modules as requests are made of. */
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

/** As much of `node:dns/promises` as names are looked up with. */
export interface Dns {
  lookup(host: string, options: { all: true }): Promise<readonly { readonly address: string }[]>
}

/** What the operating system knows of a name. */
export function resolveWith(dns: Dns): Resolve {
  return async (host) => (await dns.lookup(host, { all: true })).map(({ address }) => address)
}

/** Options of `pinnedFetch`, complete and checked. */
interface PinSettings {
  readonly node: NodeModules
  readonly allow: readonly string[] | undefined
  readonly resolve: Resolve
}

/** The `fetch` that `pinnedFetch` of `a2a-tasks/server/node` promises. */
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
    return await unlessAborted(signal ?? undefined, async (until) => {
      const target = new URL(url)
      const addresses = await addressesOf(target, settings)
      const outgoing = await toOutgoing(target, rest)
      until?.throwIfAborted()
      return await send(settings.node, outgoing, addresses, until)
    })
  }
}

/** In the words of `fetch`. */
function failed(cause: unknown, what = 'fetch failed'): TypeError {
  return new TypeError(what, { cause })
}

/** What `work` gives, or the reason of the signal, also where `work` waits for something else. */
async function unlessAborted<T>(
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal | undefined) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted()
  let settle = (): void => {}
  const end = new Promise<never>((_, reject) => {
    // Reasons are what callers of abort() like.
    const onAbort = (): void => reject(signal?.reason as Error)
    signal?.addEventListener('abort', onAbort)
    settle = () => signal?.removeEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([work(signal), end])
  } finally {
    settle()
  }
}

/** All that a host has, each of which was checked, or is of a name that is allowed. */
async function addressesOf(url: URL, { node, allow, resolve }: PinSettings): Promise<string[]> {
  const { isIP } = node.net
  let found: string[] | undefined
  let failure: TypeError | undefined
  const lookUp = async (host: string): Promise<string[]> => {
    try {
      found = [...new Set(await resolve(host))]
      return found
    } catch (cause) {
      failure = failed(cause)
      throw failure
    }
  }
  try {
    await urlGuard({ allow, resolve: lookUp })(url)
  } catch (error) {
    // A name that cannot be looked up may be known a moment later: that is no refusal.
    throw failure ?? error
  }
  const host = hostOf(url)
  if (isIP(host) !== 0) return [host]
  found ??= await lookUp(host)
  // What is none would be looked up once more.
  if (found.length > 0 && found.every((address) => isIP(address) !== 0)) return found
  throw failed(new Error(`${host} has no address`))
}

/** Without the brackets of IPv6. */
function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

interface Outgoing {
  readonly url: URL
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array | undefined
}

/** They are of the connection, which is ours. */
const NOT_THEIRS = [
  ...[
    'accept-encoding',
    'connection',
    'content-length',
    'expect',
    'host',
    'keep-alive',
    'proxy-authorization',
  ],
  ...['proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
]

/** The platform's own reading of what it is given: methods, headers, and bodies of all kinds. */
async function toOutgoing(url: URL, init: RequestInit): Promise<Outgoing> {
  const request = new Request(url.href, init)
  const { method } = request
  const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer())
  const theirs = [...request.headers].filter(([name]) => !NOT_THEIRS.includes(name))
  const headers: Record<string, string> = {
    host: url.host,
    ...Object.fromEntries(theirs),
    'accept-encoding': 'identity',
  }
  const length = body?.byteLength ?? (['POST', 'PUT', 'PATCH'].includes(method) ? 0 : undefined)
  if (length !== undefined) headers['content-length'] = String(length)
  return { url, method, headers, body }
}

/** What an address has come to. */
type Outcome = { readonly incoming: Incoming } | { readonly error: unknown; readonly isUnsent: boolean }

/** What is thrown rather than told: by Node at headers that `fetch` takes, by Deno at what the program may not do. */
const unsent = (error: unknown): Outcome => ({ error, isUnsent: true })

async function send(
  node: NodeModules,
  outgoing: Outgoing,
  addresses: readonly string[],
  signal: AbortSignal | undefined,
): Promise<Response> {
  const last = addresses.at(-1)
  for (const address of addresses) {
    const outcome = await attempt(node, outgoing, address, address === last, signal).catch(unsent)
    if ('incoming' in outcome) return toResponse(outcome.incoming, outgoing.method, signal)
    // What may have arrived is not sent twice.
    if (address === last || !outcome.isUnsent || signal?.aborted) throw failed(outcome.error)
  }
  throw failed(new Error('There is no address'))
}

const CONNECT_MS = 2_000

/**
 * To the address itself, with the name in `Host` and for TLS: what does not know the option `lookup` could not be
 * kept from looking it up.
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
      ...{ host: address, port: url.port || (isSecure ? 443 : 80), path: url.pathname + url.search },
      ...{ method, headers, agent: false },
      ...(isSecure && net.isIP(host) === 0 && { servername: host }),
      ...(!isLast && { timeout: CONNECT_MS }),
    })
    let isUnsent = true
    const fail = (error: Error): void => resolve({ error, isUnsent })
    const abort = (): void => void request.destroy()
    signal?.addEventListener('abort', abort)
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
    // Stays after the answer has begun: nobody else hears of what breaks then.
    request.on('error', fail)
    request.on('close', () => {
      signal?.removeEventListener('abort', abort)
      fail(new Error('The connection was closed'))
    })
    request.end(body)
  })
}

/** There is no body, whatever comes. */
const BODILESS = [204, 205, 304]

function toResponse(incoming: Incoming, method: string, signal: AbortSignal | undefined): Response {
  const { statusCode: status = 0, statusMessage: statusText = '' } = incoming
  // The body tells what breaks. Node needs no listener for that; an emitter that knows no better throws.
  incoming.on('error', () => {})
  try {
    const init = { status, statusText, headers: toHeaders(incoming) }
    if (method !== 'HEAD' && !BODILESS.includes(status)) return new Response(bodyOf(incoming, signal), init)
    incoming.destroy()
    return new Response(null, init)
  } catch (cause) {
    incoming.destroy()
    throw failed(cause)
  }
}

/** Each line as it came. */
function toHeaders({ rawHeaders }: Incoming): Headers {
  const headers = new Headers()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '')
  }
  return headers
}

/** Read no faster than it is asked for. */
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
          throw failed(cause, 'terminated')
        }
      },
      cancel() {
        incoming.destroy()
      },
    },
    { highWaterMark: 0 },
  )
}
