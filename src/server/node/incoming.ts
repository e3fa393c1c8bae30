/**
 * Conversions of Node's request and response for Fetch: headers, abort signal, parsed bodies.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { A2AError } from '../../core/errors.js'

export function headersOf(req: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(req.headers)) {
    // HTTP/2 lists pseudo-headers such as `:path` here.
    if (!name.startsWith(':')) for (const each of [value ?? []].flat()) headers.append(name, each)
  }
  return headers
}

/** A signal that aborts when the connection closes before the response is complete. */
export function signalOf(res: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (res.destroyed) controller.abort()
  res.on('close', () => {
    if (!res.writableFinished) controller.abort()
  })
  return controller.signal
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
  throw new TypeError('The body has been read already: put this listener before whatever reads it')
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
