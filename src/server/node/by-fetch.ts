/**
 * Bridge from Node's HTTP server to a function from a Fetch `Request` to a `Response`.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { reportError } from '../../runtime/report.js'
import { StalledReaderError } from '../binding/pending-output.js'
import { headersOf, isGone, parsedBody, signalOf } from './incoming.js'

type Answer = (request: Request) => Promise<Response> | Response

export async function answerByFetch(
  fetch: Answer,
  url: string,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  try {
    const { method = 'GET' } = req
    // Fetch forbids these methods.
    if (method === 'TRACE' || method === 'TRACK') return void res.writeHead(405).end()
    const body = ['GET', 'HEAD'].includes(method) ? null : bodyOf(req)
    // Node requires "duplex" for streamed bodies. The DOM's types do not have it.
    const init = {
      method,
      headers: headersOf(req),
      body,
      duplex: 'half',
      signal: signalOf(res),
    } as RequestInit
    await send(await fetch(new Request(url, init)), req, res)
  } catch (error) {
    // Errors are expected once the client has disconnected.
    if (isGone(res)) return
    const isStalled = error instanceof StalledReaderError
    if (!isStalled) reportError(error, { during: 'toNodeListener' }, 'Catch it to answer otherwise')
    if (res.headersSent) res.destroy()
    else res.writeHead(500, closing(req)).end()
  }
}

/** The body as a stream with backpressure. Canceling it leaves the connection open for the response. */
function bodyOf(req: IncomingMessage): ReadableStream<Uint8Array> | Uint8Array | null {
  if (req.readableEnded) return parsedBody(req)
  const { 'content-length': length, 'transfer-encoding': encoding } = req.headers
  if (encoding === undefined && Number(length ?? 0) === 0 && req.httpVersionMajor < 2) return null
  // Chunks are bytes as long as no encoding is set on the request.
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

/** Writes the response with backpressure. Cancels its body when the connection closes. */
async function send(
  { status, headers, body }: Response,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  // res.write() throws for chunks that are not bytes.
  const reader = body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined
  let resume = (): void => {}
  const leave = (): void => {
    resume()
    // Rejects when the body has failed: the response has ended already.
    reader?.cancel().catch(() => undefined)
  }
  res.on('drain', () => resume())
  res.on('close', leave)
  if (isGone(res)) {
    leave()
    return
  }
  // A body of another length than declared would desynchronise the connection.
  res.strictContentLength = true
  const cookies = headers.getSetCookie()
  const { connection, ...fields } = Object.fromEntries(headers)
  res.writeHead(status, {
    ...fields,
    // HTTP/2 has no such header.
    ...(connection !== undefined && req.httpVersionMajor < 2 && { connection }),
    ...(cookies.length > 0 && { 'set-cookie': cookies }),
    ...closing(req),
  })
  if (reader === undefined || req.method === 'HEAD') {
    leave()
    res.end()
    return
  }
  res.flushHeaders()
  // A body can fail while the connection takes nothing of it.
  reader.closed.catch(() => resume())
  while (!isGone(res)) {
    const { done, value } = await reader.read()
    if (done || isGone(res)) break
    if (res.write(value) || isGone(res)) continue
    await new Promise<void>((resolve) => {
      resume = resolve
    })
  }
  res.end()
}

/** Closes the connection after an unread body, which Node would read as the next request. */
function closing(req: IncomingMessage): { connection?: string } {
  return req.complete || req.httpVersionMajor > 1 ? {} : { connection: 'close' }
}
