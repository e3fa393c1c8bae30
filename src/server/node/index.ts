/**
 * Listener that serves a handler on Node's HTTP server, and a `fetch` that connects to checked addresses only.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { MaybePromise } from '../../core/managers.js'
import { quote } from '../../runtime/describe.js'
import { readOptions, requireFunction } from '../../runtime/options.js'
import { parseUrl } from '../../runtime/url.js'
import { DIRECT, type HttpRequest, type Respond } from '../binding/exchange.js'
import type { HandlerFetch, RequestContext } from '../binding/fetch.js'
import { disconnected, type IncomingBody } from '../binding/incoming-body.js'
import { LargeText } from '../binding/large-texts.js'
import type { Principal } from '../caller.js'
import { answerByFetch } from './by-fetch.js'
import { headersOf, inTurn, parsedBody, refuseRest, signalOf } from './incoming.js'
import { endWith, sendEvents, sendText } from './outgoing.js'

export { pinnedFetch } from './pinned-fetch.js'

/** A listener for `http.createServer`, and for frameworks that pass on Node's request and response. */
export type NodeListener<R extends IncomingMessage = IncomingMessage> = (req: R, res: ServerResponse) => void

type AnyFetch<P extends Principal> = (
  request: Request,
  context?: RequestContext<P>,
) => Promise<Response> | Response

/** Options of {@link toNodeListener}. */
export interface NodeListenerOptions<
  P extends Principal = Principal,
  R extends IncomingMessage = IncomingMessage,
> {
  /**
   * Returns the client that a middleware has authenticated, such as `req.user` of Express; `authenticate` is not called
   * then. For `null` and `undefined`, `authenticate` decides; a handler without it responds with 401. Clients receive an
   * `A2AError` that it throws. It is not called for requests of the card.
   */
  readonly principal: (req: R) => P | null | undefined | Promise<P | null | undefined>
}

/**
 * Creates a listener from a handler's `fetch`, or from any other function from a `Request` to a `Response`, such as a
 * receiver of push notifications.
 *
 * Pass it to `createServer`, to `app.use` of Express, or call it with the raw request and response of Fastify or Koa. Below
 * the mount path of a framework, the handler sees the rest of the path. Bodies stream both ways with backpressure. The
 * request's signal aborts when the connection closes before the response is complete. When the function throws, the
 * listener responds with 500 and no body, and emits a process warning.
 *
 * @throws {TypeError} when `fetch` is not a function, and for an invalid option; the message names it.
 * @example
 * createServer(toNodeListener(handler.fetch)).listen(3000)
 * @example
 * app.use('/agent', toNodeListener(handler.fetch, { principal: (req: express.Request) => req.user }))
 */
export function toNodeListener(fetch: (request: Request) => Promise<Response> | Response): NodeListener
export function toNodeListener<P extends Principal, R extends IncomingMessage = IncomingMessage>(
  fetch: HandlerFetch<P>,
  options: NodeListenerOptions<P, R>,
): NodeListener<R>
export function toNodeListener<P extends Principal, R extends IncomingMessage>(
  fetch: AnyFetch<P>,
  options?: NodeListenerOptions<P, R>,
): NodeListener<R> {
  if (typeof fetch !== 'function') {
    throw new TypeError(`toNodeListener() takes a function, such as handler.fetch, got ${quote(fetch)}`)
  }
  const principalOf = toPrincipalOf(options)
  const { [DIRECT]: respond } = fetch as { [DIRECT]?: Respond }
  return (req, res) => {
    const url = urlOf(req)
    if (url === undefined) {
      res.writeHead(400).end()
      return
    }
    inTurn(req, res, () => {
      const principal = principalOf && ((): MaybePromise<P | null | undefined> => principalOf(req))
      const answered =
        respond === undefined
          ? answerByFetch(withPrincipal(fetch, principal), url, req, res)
          : answer(respond, toHttpRequest(url, req, res, principal), req, res)
      answered.catch(() => {
        // The connection itself has failed, so no response can be sent.
        res.destroy()
      })
    })
  }
}

function toPrincipalOf<P extends Principal, R extends IncomingMessage>(
  options: NodeListenerOptions<P, R> | undefined,
): NodeListenerOptions<P, R>['principal'] | undefined {
  if (options === undefined) return undefined
  const { principal } = readOptions(options, ['principal'], 'toNodeListener')
  requireFunction('principal', principal)
  return principal
}

function withPrincipal<P extends Principal>(
  fetch: AnyFetch<P>,
  principal: (() => MaybePromise<P | null | undefined>) | undefined,
): (request: Request) => Promise<Response> | Response {
  if (principal === undefined) return fetch
  return async (request) => fetch(request, { principal: await principal() })
}

async function answer(
  respond: Respond,
  request: HttpRequest,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { status, headers, body } = await respond(request)
  if (!req.complete) refuseRest(req, res)
  if (typeof body === 'string' || body === null) {
    // Node merges headers that are set one by one more slowly.
    const head = body === null ? headers : { ...headers, 'content-length': String(Buffer.byteLength(body)) }
    endWith(res.writeHead(status, head), body ?? undefined, respond.output)
    return
  }
  res.writeHead(status, headers)
  if (body instanceof LargeText) {
    await sendText(res, body, respond.output)
    return
  }
  await sendEvents(res, body, respond.output)
}

/** The latest URL that was found right: most requests of an agent go to the same one. */
let latestUrl: string | undefined

/** `undefined` for a malformed host: a path within it would bypass checks of the path. HTTP/2 has it in `:authority`. */
function urlOf({ socket, headers, url = '/' }: IncomingMessage): string | undefined {
  const host = headers[':authority'] || headers.host || 'localhost'
  if (typeof host !== 'string' || !/^[\w.\-:[\]]+$/.test(host)) return undefined
  // Proxies receive the absolute form. Only its path counts.
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '')
  // Concatenated, not resolved: `//host` in a request line is a path.
  const text = `${'encrypted' in socket ? 'https' : 'http'}://${host}${path.startsWith('/') ? path : `/${path}`}`
  if (text !== latestUrl && parseUrl(text) === undefined) return undefined
  latestUrl = text
  return text
}

function toHttpRequest(
  url: string,
  req: IncomingMessage,
  res: ServerResponse,
  principal: HttpRequest['principal'],
): HttpRequest {
  const method = req.method ?? 'GET'
  const header = (name: string): string | null => {
    const value = req.headers[name]
    return Array.isArray(value) ? value.join(', ') : (value ?? null)
  }
  return {
    principal,
    method,
    url,
    header,
    read: (body) => read(req, header('content-length'), body),
    toFetch: () => new Request(url, { method, headers: headersOf(req) }),
    // Created on demand: few requests wait long enough to need it.
    get signal() {
      return signalOf(res)
    },
  }
}

function read(req: IncomingMessage, declared: string | null, body: IncomingBody): Promise<Uint8Array> {
  body.declare(declared)
  if (req.readableEnded) {
    body.add(parsedBody(req))
    return Promise.resolve(body.bytes())
  }
  // The listeners hold the promise for as long as the request lives, so it has no bytes of the body.
  const complete = new Promise<void>((resolve, reject: (reason: Error) => void) => {
    const onData = (chunk: Uint8Array): void => {
      try {
        body.add(chunk)
      } catch (error) {
        // `add` throws no other values.
        refuse(error as Error)
      }
    }
    const refuse = (error: Error): void => {
      req.off('data', onData).pause()
      reject(error)
    }
    body.onRefused = refuse
    const onClose = (): void => reject(disconnected())
    if (req.destroyed) onClose()
    req.on('data', onData)
    req.on('end', () => {
      // Every request closes after its end. Creating an unused error then would cost its stack trace.
      req.off('close', onClose)
      resolve()
    })
    req.on('error', onClose)
    req.on('close', onClose)
  })
  return complete.then(() => body.bytes())
}
