/**
 * The agent as a function from Fetch's `Request` to its `Response`.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import { collect, type IncomingBody } from './incoming-body.js'
import type { EventSource, HttpAnswer, HttpRequest, Respond } from './exchange.js'
import { LargeText } from './large-texts.js'
import { StalledReaderError, type HeldOutput, type PendingOutput } from './pending-output.js'
import { HEARTBEAT } from '../streams/sse.js'
import type { Principal } from '../caller.js'

/** What the layer around a handler knows about a request. */
export interface RequestContext<P extends Principal = Principal> {
  /**
   * The client, where a middleware has authenticated it; `authenticate` is not called then. For `null` and `undefined`,
   * `authenticate` decides; a handler without it responds with 401.
   */
  readonly principal: P | null | undefined
}

/**
 * The `fetch` of a handler. It ignores other second arguments, such as those that Bun, Deno and Workers pass. Their types
 * do not fit one signature with an optional parameter.
 */
export type HandlerFetch<P extends Principal = Principal> = ((request: Request) => Promise<Response>) &
  ((request: Request, context: RequestContext<P>) => Promise<Response>)

export function toFetch<P extends Principal>(respond: Respond): HandlerFetch<P> {
  return async (request: Request, context?: Partial<RequestContext<P>>) => {
    // Frameworks for Node may pass Node's own request.
    if (typeof (request as Partial<Request>).headers?.get !== 'function') {
      throw new TypeError(`handler.fetch takes a Request; ${requestHint(request)}`)
    }
    const answer = await respond(toHttpRequest(request, context))
    return toResponse(answer, respond.output, request.signal)
  }
}

function requestHint(given: unknown): string {
  const isUrl = typeof given === 'string' || given instanceof URL
  return isUrl
    ? 'for a client: fetch: (url, init) => handler.fetch(new Request(url, init))'
    : 'in Node use toNodeListener(handler.fetch)'
}

function toHttpRequest(request: Request, context?: Partial<RequestContext>): HttpRequest {
  return {
    principal: principalIn(context),
    method: request.method,
    url: request.url,
    header: (name) => request.headers.get(name),
    read: (body) => readBytes(request, body),
    toFetch: () => request,
    get signal() {
      return request.signal
    },
  }
}

/** Runtimes pass their own second arguments, which have no such property. */
function principalIn(context: Partial<RequestContext> | null | undefined): HttpRequest['principal'] {
  if (typeof context !== 'object' || context === null || !('principal' in context)) return undefined
  const { principal } = context
  return () => principal
}

async function readBytes(request: Request, body: IncomingBody): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array()
  if (request.bodyUsed || request.body.locked) {
    throw new TypeError(
      'The body of the Request has been read already: call handler.fetch before what reads it, or read a clone: request.clone().json()',
    )
  }
  body.declare(request.headers.get('content-length'))
  // `arrayBuffer()` would keep every chunk until the last, and could not be stopped.
  return collect(request.body, body)
}

function toResponse(
  { status, headers, body }: HttpAnswer,
  output: PendingOutput,
  signal: AbortSignal | undefined,
): Response {
  // The rest of a body that did not arrive in time must not be read as the next request (RFC 9110 §15.5.9).
  const closing = status === 408 ? { connection: 'close' } : {}
  const init = { status, headers: { ...headers, ...closing } }
  if (typeof body === 'string' || body === null) return new Response(body, init)
  const readable = body instanceof LargeText ? toReadable(body, output) : toEvents(body, output, signal)
  return new Response(readable, init)
}

const encoder = new TextEncoder()

/** Text that a reader has begun. If it requests nothing more for `stalledTimeoutMs`, the text is dropped. */
class TextReader {
  readonly #text: LargeText
  readonly #output: PendingOutput
  readonly #held: HeldOutput | undefined
  #left = Number.MAX_SAFE_INTEGER

  constructor(text: LargeText, output: PendingOutput, onStall: (error: Error) => void) {
    this.#text = text
    this.#output = output
    const drop = (): void => {
      this.close()
      onStall(new StalledReaderError())
    }
    text.drop = drop
    // Its bytes are those of the runtime, which has all that was requested.
    this.#held = output.hold(0, { left: () => this.#left, drop })
  }

  /** The next piece; `undefined` after the last. */
  read(): Uint8Array | undefined {
    this.#left -= 1
    const piece = this.#text.next()
    if (piece === undefined) this.close()
    return typeof piece === 'string' ? encoder.encode(piece) : piece
  }

  close(): void {
    this.#output.release(this.#held)
    this.#text.release()
  }
}

function toReadable(text: LargeText, output: PendingOutput): ReadableStream<Uint8Array> {
  let reader: TextReader | undefined
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        reader = new TextReader(text, output, (error) => controller.error(error))
      },
      pull(controller) {
        const piece = reader?.read()
        if (piece === undefined) controller.close()
        else controller.enqueue(piece)
      },
      cancel() {
        reader?.close()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * Encodes each event when the reader has taken the one before it: a reader that stalls delays nothing, and takes no memory
 * beyond its connection. Some runtimes do not cancel the body when the client has left: there only `signal` ends the stream.
 */
function toEvents(
  { frames, heartbeat, textOf }: EventSource,
  output: PendingOutput,
  signal: AbortSignal | undefined,
): ReadableStream<Uint8Array> {
  let stopBeating = (): void => {}
  let ignore = (): void => {}
  let hasLeft = false
  let isWaiting = false
  let reader: TextReader | undefined
  const leave = async (): Promise<void> => {
    hasLeft = true
    isWaiting = false
    stopBeating()
    ignore()
    reader?.close()
    await frames.return()
  }
  /** `undefined` at the end. */
  const next = async (fail: (error: Error) => void): Promise<Uint8Array | undefined> => {
    const piece = hasLeft ? undefined : reader?.read()
    if (piece !== undefined) return piece
    reader = undefined
    isWaiting = !hasLeft
    const { done, value } = await frames.next()
    isWaiting = false
    if (done) return undefined
    const text = textOf(value)
    if (typeof text === 'string') return encoder.encode(text)
    const large = await text
    if (hasLeft) {
      large.release()
      return undefined
    }
    reader = new TextReader(large, output, fail)
    return reader.read() ?? encoder.encode(HEARTBEAT)
  }
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        stopBeating = heartbeat.add(() => {
          if (isWaiting) controller.enqueue(encoder.encode(HEARTBEAT))
        })
        ignore = onAbort(signal, () => void leave())
      },
      async pull(controller) {
        const piece = await next((error) => {
          controller.error(error)
          void leave()
        })
        if (piece === undefined) {
          controller.close()
          void leave()
        } else controller.enqueue(piece)
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}
