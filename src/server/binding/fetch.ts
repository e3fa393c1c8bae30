/**
 * The agent as a function from Fetch's `Request` to its `Response`.
 *
 * @module
 */
import { collect, requireLength, requireSize } from './body.js'
import type { EventSource, HttpAnswer, HttpRequest, Respond } from './exchange.js'
import { formatFrame, HEARTBEAT } from '../streams/sse.js'

export function toFetch(respond: Respond): (request: Request) => Promise<Response> {
  return async (request) => {
    // Frameworks for Node may pass Node's own request.
    if (typeof (request as Partial<Request>).headers?.get !== 'function') {
      throw new TypeError('handler.fetch takes a Request; in Node use toNodeListener(handler.fetch)')
    }
    return toResponse(await respond(toHttpRequest(request)))
  }
}

function toHttpRequest(request: Request): HttpRequest {
  return {
    method: request.method,
    url: request.url,
    header: (name) => request.headers.get(name),
    read: (max) => readBytes(request, max),
    toFetch: () => request,
    get signal() {
      return request.signal
    },
  }
}

async function readBytes(request: Request, max: number): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array()
  // Runtimes enforce a declared length; without one the bytes must be counted.
  if (!requireLength(request.headers.get('content-length'), max)) return collect(request.body, max)
  const bytes = new Uint8Array(await request.arrayBuffer())
  requireSize(bytes.byteLength, max)
  return bytes
}

function toResponse({ status, headers, body }: HttpAnswer): Response {
  const isText = typeof body === 'string' || body === null
  return new Response(isText ? body : toReadable(body), { status, headers })
}

/**
 * Encodes each event when the reader has taken the one before it: a reader that stalls delays nothing, and takes no memory
 * beyond its connection.
 */
function toReadable({ frames, heartbeat }: EventSource): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let stopBeating = (): void => {}
  let isWaiting = false
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        stopBeating = heartbeat.add(() => {
          if (isWaiting) controller.enqueue(encoder.encode(HEARTBEAT))
        })
      },
      async pull(controller) {
        isWaiting = true
        const { done, value } = await frames.next()
        isWaiting = false
        if (!done) {
          controller.enqueue(encoder.encode(formatFrame(value)))
          return
        }
        stopBeating()
        controller.close()
      },
      async cancel() {
        isWaiting = false
        stopBeating()
        await frames.return()
      },
    },
    { highWaterMark: 0 },
  )
}
