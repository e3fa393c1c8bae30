/**
 * A handler as a listener of Node's HTTP server.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Chunks, requireLength } from '../body.js'
import { DIRECT, type EventSource, type HttpAnswer, type HttpRequest, type Respond } from '../exchange.js'
import { formatFrame, HEARTBEAT } from '../sse.js'

/** A listener for `http.createServer`, and for whatever else hands over Node's two objects. */
export type NodeListener = (req: IncomingMessage, res: ServerResponse) => void

/**
 * The listener for a handler's `fetch`: `createServer(toNodeListener(handler.fetch))`, `app.use(toNodeListener(…))` in
 * Express, the raw request and response in Fastify and Koa. Below a mount path of a framework, what it leaves of the
 * path counts.
 *
 * @throws {TypeError} when `fetch` is not that of a handler of this library.
 */
export function toNodeListener(fetch: (request: Request) => Promise<Response>): NodeListener {
  const { [DIRECT]: respond } = fetch as { [DIRECT]?: Respond }
  if (respond === undefined) {
    throw new TypeError(
      'toNodeListener() takes the "fetch" of a request handler: toNodeListener(handler.fetch)',
    )
  }
  return (req, res) => {
    answer(respond, req, res).catch(() => {
      // Only what the connection does can get here: nobody is left to be told.
      res.destroy()
    })
  }
}

async function answer(respond: Respond, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const url = urlOf(req)
  if (!URL.canParse(url)) {
    res.writeHead(400).end()
    return
  }
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

function urlOf({ socket, headers, url = '/' }: IncomingMessage): string {
  const protocol = 'encrypted' in socket ? 'https' : 'http'
  // Pasted together, not resolved: `//host` in a request is a path.
  return `${protocol}://${headers.host ?? 'localhost'}${url.startsWith('/') ? url : '/'}`
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
    toFetch: () => new Request(url, { method, headers: toHeaders(req) }),
    // Few requests wait for long enough to need one.
    get signal() {
      return signalOf(res)
    },
  }
}

/** Aborts when the connection closes before the answer is whole. */
function signalOf(res: ServerResponse): AbortSignal {
  const controller = new AbortController()
  res.on('close', () => {
    if (!res.writableFinished) controller.abort()
  })
  return controller.signal
}

function toHeaders(req: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(req.headers)) {
    for (const each of [value ?? []].flat()) headers.append(name, each)
  }
  return headers
}

function read(req: IncomingMessage, declared: string | null, max: number): Promise<Uint8Array> {
  requireLength(declared, max)
  // A framework has parsed it: express.json(), say. Nothing is left to read.
  if (req.readableEnded && 'body' in req && req.body !== undefined) {
    return Promise.resolve(Buffer.from(JSON.stringify(req.body)))
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
    req.on('data', take)
    req.on('end', () => resolve(chunks.join()))
    req.on('error', reject)
    req.on('close', () => reject(new Error('The connection was closed before the body was whole')))
  })
}

/** Writes no faster than the connection takes it; a connection that closes ends the stream. */
async function sendEvents(res: ServerResponse, { frames, heart }: EventSource): Promise<void> {
  let resume = (): void => {}
  let isWaiting = false
  const stopBeating = heart.add(() => {
    if (isWaiting) res.write(HEARTBEAT)
  })
  res.on('drain', () => resume())
  res.on('close', () => {
    resume()
    void frames.return()
  })
  try {
    for (;;) {
      isWaiting = true
      const { done, value } = await frames.next()
      isWaiting = false
      if (done || res.destroyed) break
      if (res.write(formatFrame(value))) continue
      await new Promise<void>((resolve) => {
        resume = resolve
      })
    }
  } finally {
    stopBeating()
    res.end()
  }
}
