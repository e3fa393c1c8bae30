/**
 * A handler, or any function from a Request to a Response, as a listener of Node's HTTP server.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { A2AError } from '../../core/errors.js'
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

/** A listener for `http.createServer`, and for whatever else hands over Node's two objects. */
export type NodeListener = (req: IncomingMessage, res: ServerResponse) => void

/**
 * The listener for a handler's `fetch`: `createServer(toNodeListener(handler.fetch))`, `app.use(toNodeListener(…))` in
 * Express, the raw request and response in Fastify and Koa. Below a mount path of a framework, what it leaves of the
 * path counts.
 *
 * It takes any other function from a Request to a Response, too, such as what receives push notifications. Bodies are
 * streamed both ways, no faster than they are taken, and the request's signal aborts when the connection closes before
 * the answer is whole. What the function throws is a warning of the process, and a 500 without a body.
 *
 * @throws {TypeError} when `fetch` is no function.
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
      // Only what the connection does can get here: nobody is left to be told.
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
  // What was not read would be taken for the next request.
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

/** `undefined` for a request that no client means: a path in the Host header would go past whoever guards paths. */
function urlOf({ socket, headers, url = '/' }: IncomingMessage): string | undefined {
  const host = headers.host || 'localhost'
  if (!/^[\w.\-:[\]]+$/.test(host)) return undefined
  // Of the absolute form, which proxies are sent, only the path counts.
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '')
  // Pasted together, not resolved: `//host` in a request is a path.
  const text = `${'encrypted' in socket ? 'https' : 'http'}://${host}${path.startsWith('/') ? path : `/${path}`}`
  return URL.canParse(text) ? text : undefined
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
    // Few requests wait for long enough to need one.
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
    const take = (chunk: Uint8Array): void => {
      try {
        chunks.add(chunk)
      } catch (error) {
        req.off('data', take).pause()
        // A limit that is exceeded, and nothing else.
        reject(error as Error)
      }
    }
    const leave = (): void => reject(gone())
    if (req.destroyed) leave()
    req.on('data', take)
    req.on('end', () => {
      // Every request closes after it has ended: an error made then is made for nobody, and dear.
      req.off('close', leave)
      resolve(chunks.join())
    })
    req.on('error', leave)
    req.on('close', leave)
  })
}

function gone(): A2AError {
  const reason = 'The client has gone'
  return new A2AError('UNAVAILABLE', reason, { reason })
}

/** Writes no faster than the connection takes it; a connection that closes ends the stream. */
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
  // It may close at any moment, also before anybody listens for it.
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
