/**
 * Request bodies, read within a size limit.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { HttpRequest } from './exchange.js'

/** `fatal` rejects invalid UTF-8 instead of replacing it. */
const decoder = new TextDecoder('utf-8', { fatal: true })

/**
 * The JSON in the body; `undefined` when there is no body.
 *
 * @throws {A2AError} `CONTENT_TYPE_NOT_SUPPORTED`, `LIMIT_EXCEEDED`, `PARSE_ERROR`.
 */
export async function readJson(
  request: HttpRequest,
  maxBytes: number,
  mediaTypes: readonly string[],
): Promise<unknown> {
  const bytes = await request.read(maxBytes)
  if (bytes.byteLength === 0) return undefined
  requireMediaType(request.header('content-type'), mediaTypes)
  return parse(bytes)
}

/** Browsers send other types from foreign pages without a preflight request, so only declared JSON is read. */
function requireMediaType(header: string | null, mediaTypes: readonly string[]): void {
  const mediaType = (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (mediaTypes.includes(mediaType)) return
  const shown = mediaType === '' ? 'none' : mediaType.slice(0, 80)
  throw new A2AError(
    'CONTENT_TYPE_NOT_SUPPORTED',
    `Content-Type must be ${mediaTypes.join(' or ')}, got ${shown}`,
    { mediaType: shown },
  )
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch (cause) {
    const reason = 'The body is not JSON in UTF-8'
    throw new A2AError('PARSE_ERROR', reason, { reason }, { cause })
  }
}

/**
 * Whether the request declares its length.
 *
 * @throws {A2AError} `LIMIT_EXCEEDED` when it is more than `max`.
 */
export function requireLength(declared: string | null, max: number): boolean {
  if (declared === null || !/^\d{1,15}$/.test(declared)) return false
  requireSize(Number(declared), max)
  return true
}

/** @throws {A2AError} `LIMIT_EXCEEDED`. */
export function requireSize(size: number, max: number): void {
  if (size > max) throw tooLarge(max, size)
}

/** Reads a body. Beyond `max` bytes it stops without canceling, which would close the connection. */
export async function collect(body: ReadableStream<Uint8Array>, max: number): Promise<Uint8Array> {
  const chunks = new Chunks(max)
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return chunks.join()
      chunks.add(value)
    }
  } finally {
    reader.releaseLock()
  }
}

/** The chunks of a body, up to a limit. */
export class Chunks {
  readonly #chunks: Uint8Array[] = []
  readonly #max: number
  #size = 0

  constructor(max: number) {
    this.#max = max
  }

  /** @throws {A2AError} `LIMIT_EXCEEDED`. */
  add(chunk: Uint8Array): void {
    this.#size += chunk.byteLength
    requireSize(this.#size, this.#max)
    this.#chunks.push(chunk)
  }

  join(): Uint8Array {
    const [first] = this.#chunks
    if (first !== undefined && this.#chunks.length === 1) return first
    const bytes = new Uint8Array(this.#size)
    let offset = 0
    for (const chunk of this.#chunks) {
      bytes.set(chunk, offset)
      offset += chunk.byteLength
    }
    return bytes
  }
}

function tooLarge(max: number, actual: number): A2AError {
  return new A2AError('LIMIT_EXCEEDED', `The body exceeds maxBodyBytes (${max})`, {
    limit: 'maxBodyBytes',
    max,
    actual,
  })
}
