/**
 * Listener of Node's HTTP server for a handler, or for any function from a `Request` to a `Response`.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { A2AError } from '../../core/errors.js'
import { parseUrl } from '../../runtime/url.js'
import { Chunks, requireLength, requireSize } from '../binding/body.js'
import {
  DIRECT,
  type EventSource,
  type HttpAnswer,
  type HttpRequest,
  type Respond,
} from '../binding/exchange.js'
import { formatFrame, HEARTBEAT } from '../streams/sse.js'
import { answerByFetch } from './by-fetch.js'
import { headersOf, parsedBody, signalOf } from './incoming.js'

export { pinnedFetch } from './pinned-fetch.js'

/** A listener for `http.createServer`, and for frameworks that pass on Node's request and response. */
export type NodeListener = (req: IncomingMessage, res: ServerResponse) => void

/**
 * Creates a listener from a handler's `fetch`: `createServer(toNodeListener(handler.fetch))`, `app.use(toNodeListener(…))`
 * in Express, the raw request and response in Fastify and Koa. Below a framework's mount path, the rest of the path counts.
 *
 * Any other function from a `Request` to a `Response` works too, such as a receiver of push notifications. Bodies stream
 * both ways with backpressure, and the request's signal aborts when the connection closes before the response is complete.
 * When the function throws, the listener answers with 500 and no body, and emits a process warning.
 *
 * @throws {TypeError} when `fetch` is not a function.
 */
export function toNodeListener(fetch: (request: Request) => Promise<Response> | Response): NodeListener {
  if (typeof fetch !== 'function') {
    throw new TypeError('toNodeListener() takes a function, such as the "fetch" of a handler')
  }
  const { [DIRECT]: respond } = fetch as { [DIRECT]?: Respond }
  return (req, res) => {
    const url = urlOf(req)
    if (url === undefined) {
      res.writeHead(400).end()
      return
    }
    const answered =
      respond === undefined ? answerByFetch(fetch, url, req, res) : answer(respond, url, req, res)
    answered.catch(() => {
      // The connection itself has failed, so no response can be sent.
      res.destroy()
    })
  }
}

async function answer(
  respond: Respond,
  url: string,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const { status, headers, body } = await respond(toHttpRequest(url, req, res))
  // Node would read the rest of the body as the next request.
  if (!req.complete) res.setHeader('connection', 'close')
  if (typeof body === 'string' || body === null) send(res, { status, headers, body })
  else {
    res.writeHead(status, headers)
    res.flushHeaders()
    await sendEvents(res, body)
  }
}

function send(res: ServerResponse, { status, headers, body }: HttpAnswer & { body: string | null }): void {
  if (body !== null) res.setHeader('content-length', Buffer.byteLength(body))
  res.writeHead(status, headers).end(body ?? undefined)
}

/** `undefined` for a malformed `Host` header: a path within it would bypass checks of the path. */
function urlOf({ socket, headers, url = '/' }: IncomingMessage): string | undefined {
  const host = headers.host || 'localhost'
  if (!/^[\w.\-:[\]]+$/.test(host)) return undefined
  // Proxies receive the absolute form. Only its path counts.
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '')
  // Concatenated, not resolved: `//host` in a request line is a path.
  const text = `${'encrypted' in socket ? 'https' : 'http'}://${host}${path.startsWith('/') ? path : `/${path}`}`
  return parseUrl(text) === undefined ? undefined : text
}

function toHttpRequest(url: string, req: IncomingMessage, res: ServerResponse): HttpRequest {
  const method = req.method ?? 'GET'
  const header = (name: string): string | null => {
    const value = req.headers[name]
    return Array.isArray(value) ? value.join(', ') : (value ?? null)
  }
  return {
    method,
    url,
    header,
    read: (max) => read(req, header('content-length'), max),
    toFetch: () => new Request(url, { method, headers: headersOf(req) }),
    // Created on demand: few requests wait long enough to need it.
    get signal() {
      return signalOf(res)
    },
  }
}

function read(req: IncomingMessage, declared: string | null, max: number): Promise<Uint8Array> {
  requireLength(declared, max)
  if (req.readableEnded) {
    const bytes = parsedBody(req)
    requireSize(bytes.byteLength, max)
    return Promise.resolve(bytes)
  }
  const chunks = new Chunks(max)
  return new Promise((resolve, reject: (reason: Error) => void) => {
    const onData = (chunk: Uint8Array): void => {
      try {
        chunks.add(chunk)
      } catch (error) {
        req.off('data', onData).pause()
        // The only error is LIMIT_EXCEEDED.
        reject(error as Error)
      }
    }
    const onClose = (): void => reject(disconnected())
    if (req.destroyed) onClose()
    req.on('data', onData)
    req.on('end', () => {
      // Every request closes after its end. Creating an unused error then would cost its stack trace.
      req.off('close', onClose)
      resolve(chunks.join())
    })
    req.on('error', onClose)
    req.on('close', onClose)
  })
}

function disconnected(): A2AError {
  const reason = 'The client has gone'
  return new A2AError('UNAVAILABLE', reason, { reason })
}

/** Writes events with backpressure. Ends the stream when the connection closes. */
async function sendEvents(res: ServerResponse, { frames, heartbeat }: EventSource): Promise<void> {
  let resume = (): void => {}
  let isWaiting = false
  const stopBeating = heartbeat.add(() => {
    if (isWaiting) res.write(HEARTBEAT)
  })
  res.on('drain', () => resume())
  res.on('close', () => {
    resume()
    void frames.return()
  })
  // The connection may have closed before the listener above was added.
  const isGone = (): boolean => res.destroyed
  try {
    while (!isGone()) {
      isWaiting = true
      const { done, value } = await frames.next()
      isWaiting = false
      if (done || isGone()) break
      if (res.write(formatFrame(value)) || isGone()) continue
      await new Promise<void>((resolve) => {
        resume = resolve
      })
    }
  } finally {
    stopBeating()
    void frames.return()
    res.end()
  }
}
