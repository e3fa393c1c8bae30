/**
 * Requests of Node's answered by a function from Fetch's `Request` to its `Response`.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { reportError } from '../../runtime/report.js'
import { headersOf, parsedBody, signalOf } from './incoming.js'

type Answer = (request: Request) => Promise<Response> | Response

export async function answerByFetch(
  fetch: Answer,
  url: string,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  try {
    const { method = 'GET' } = req
    // Fetch has none.
    if (method === 'TRACE' || method === 'TRACK') return void res.writeHead(405).end()
    const body = ['GET', 'HEAD'].includes(method) ? null : bodyOf(req)
    // The types of Node's fetch, which are not those of the DOM, know "duplex"; a stream is not sent without.
    const init = {
      method,
      headers: headersOf(req),
      body,
      duplex: 'half',
      signal: signalOf(res),
    } as RequestInit
    await send(await fetch(new Request(url, init)), req, res)
  } catch (error) {
    // Of a client that has gone it is what was to be expected.
    if (res.destroyed) return
    reportError(error, { during: 'toNodeListener' }, 'Catch it to answer otherwise')
    if (res.headersSent) res.destroy()
    else res.writeHead(500, closing(req)).end()
  }
}

/** Reads no faster than it is read. Whoever leaves it leaves the connection open, for the answer. */
function bodyOf(req: IncomingMessage): ReadableStream<Uint8Array> | Uint8Array | null {
  if (req.readableEnded) return parsedBody(req)
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers
  if (encoding === undefined && Number(length ?? 0) === 0 && req.httpVersionMajor < 2) return null
  // Of a request of Node's, which has no encoding set, chunks are bytes.
  const chunks: AsyncIterator<Uint8Array> = req.iterator({ destroyOnReturn: false })
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next()
        if (next.done) controller.close()
        else controller.enqueue(next.value)
      },
      async cancel() {
        await chunks.return?.()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Writes no faster than the connection takes it; a connection that closes cancels the body. */
async function send(
  { status, headers, body }: Response,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  // Whatever else it holds is refused by res.write().
  const reader = body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined
  let resume = (): void => {}
  const leave = (): void => {
    resume()
    // It has failed, or has ended: either way there is nothing to be done.
    reader?.cancel().catch(() => undefined)
  }
  res.on('drain', () => resume())
  res.on('close', leave)
  if (res.destroyed) {
    leave()
    return
  }
  // More or fewer bytes than are declared would be taken for another response.
  res.strictContentLength = true
  const cookies = headers.getSetCookie()
  res.writeHead(status, {
    ...Object.fromEntries(headers),
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
    ...closing(req),
  })
  if (reader === undefined || req.method === 'HEAD') {
    leave()
    res.end()
    return
  }
  res.flushHeaders()
  // It may close at any moment.
  const isGone = (): boolean => res.destroyed
  while (!isGone()) {
    const { done, value } = await reader.read()
    if (done || isGone()) break
    if (res.write(value) || isGone()) continue
    await new Promise<void>((resolve) => {
      resume = resolve
    })
  }
  res.end()
}

/** What was not read would be taken for the next request. */
function closing(req: IncomingMessage): { connection?: string } {
  return req.complete || req.httpVersionMajor > 1 ? {} : { connection: 'close' }
}
