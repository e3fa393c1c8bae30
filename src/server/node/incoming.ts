/**
 * What there is to know of a request of Node's.
 *
 * @module
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { A2AError } from '../../core/errors.js'

export function headersOf(req: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(req.headers)) {
    // HTTP/2 has `:path` and the like among its headers.
    if (!name.startsWith(':')) for (const each of [value ?? []].flat()) headers.append(name, each)
  }
  return headers
}

/** Aborts when the connection closes before the answer is whole. */
export function signalOf(res: ServerResponse): AbortSignal {
  const controller = new AbortController()
  if (res.destroyed) controller.abort()
  res.on('close', () => {
    if (!res.writableFinished) controller.abort()
  })
  return controller.signal
}

/** What a framework has left of a body that it has read: express.json() keeps what it has parsed. */
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
    // What was JSON can only be too deep.
    const data = { limit: 'maxDepth', max: 1000, actual: 1001 }
    throw new A2AError('LIMIT_EXCEEDED', 'The request nests too deep', data)
  }
}
