/**
 * Conversions of Node's request and response for Fetch: headers, abort signal, parsed bodies.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { A2AError } from '../../core/errors.js'
import { shareOfHeap } from '../../runtime/environment.js'

export function headersOf(req: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(req.headers)) {
    // HTTP/2 lists pseudo-headers such as `:path` here.
    if (!name.startsWith(':')) for (const each of [value ?? []].flat()) headers.append(name, each)
  }
  return headers
}

/** Whether the connection, or the stream of HTTP/2, has closed. The responses of HTTP/2 have no `destroyed`. */
export function isGone(res: ServerResponse): boolean {
  const { stream } = res as { readonly stream?: { readonly destroyed: boolean } }
  return res.destroyed || stream?.destroyed === true
}

/** A signal that aborts when the connection closes before the response is complete. */
export function signalOf(res: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (isGone(res)) controller.abort()
  res.on('close', () => {
    if (!res.writableFinished) controller.abort()
  })
  return controller.signal
}

/** How many requests may wait on one connection, and in this process. Clients that pipeline send a few, if any do. */
const MAX_PIPELINED = 1_000
const MAX_WAITING = 20_000
/** What a waiting request takes. */
const WAITING_BYTES = 2_048

const pipelined = new WeakMap<Socket, number>()
let waiting = 0
let maxWaiting: number | undefined

/** As many as fit into an eighth of the heap, if the platform reports it. */
function mostWaiting(): number {
  const fitting = Math.floor(shareOfHeap() / WAITING_BYTES)
  return fitting === 0 ? MAX_WAITING : Math.min(MAX_WAITING, fitting)
}

/**
 * Calls `begin` when the responses before this one on its connection are complete: HTTP/1.1 sends them in the order of
 * their requests, so those that are made early wait in memory. While requests wait, nothing more is read: what a client
 * sends ahead would take memory for as long as the first response takes. A connection with too many requests is closed.
 */
export function inTurn(req: IncomingMessage, res: ServerResponse, begin: () => void): void {
  const { socket } = req
  // Node gives the socket to one response at a time. Responses of test tools may have no socket at all.
  const { _httpMessage: current } = socket as Partial<Socket> & { readonly _httpMessage?: unknown }
  if (res.socket !== null || current === undefined || current === null || current === res) {
    begin()
    return
  }
  // Node reads on to the end of what has arrived.
  if (socket.destroyed) return
  maxWaiting ??= mostWaiting()
  if ((pipelined.get(socket) ?? 0) >= MAX_PIPELINED || waiting >= maxWaiting) {
    socket.destroy()
    return
  }
  if (!pipelined.has(socket)) socket.once('close', () => count(socket, -(pipelined.get(socket) ?? 0)))
  count(socket, 1)
  // Not at once: Node reads on after each request that it has read to its end.
  queueMicrotask(() => {
    if (pipelined.get(socket) !== 0) socket.pause()
  })
  res.once('socket', () => {
    count(socket, -1)
    // Only the request that was read last can lack a part of its body.
    if (pipelined.get(socket) === 0) socket.resume()
    begin()
  })
}

function count(socket: Socket, change: number): void {
  pipelined.set(socket, (pipelined.get(socket) ?? 0) + change)
  waiting += change
}

/**
 * Keeps the rest of a body that is not read from doing harm: on HTTP/1.1 Node would read it as the next request, on HTTP/2
 * it would take the window that all streams of the connection share.
 */
export function refuseRest(req: IncomingMessage, res: ServerResponse): void {
  if (req.httpVersionMajor < 2) res.setHeader('connection', 'close')
  else res.once('finish', () => void req.destroy())
}

/**
 * The body that a framework has read and parsed, such as `req.body` of `express.json()`, as bytes.
 *
 * @throws {TypeError} when the body was read and not kept.
 */
export function parsedBody(req: IncomingMessage): Uint8Array {
  if ('body' in req && req.body !== undefined) {
    const { body } = req
    return body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : toText(body))
  }
  if (Number(req.headers['content-length'] ?? 0) === 0) return Buffer.alloc(0)
  throw new TypeError(
    'The body has been read already: mount this listener before the middleware that reads it',
  )
}

function toText(body: unknown): string {
  try {
    return JSON.stringify(body)
  } catch {
    // JSON values have no cycles, so only the depth can exceed the stack.
    const data = { limit: 'maxDepth', max: 1000, actual: 1001 }
    throw new A2AError('LIMIT_EXCEEDED', 'The request nests too deep', data)
  }
}
