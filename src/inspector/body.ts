/**
 * Bodies of requests to the API.
 *
 * @module
 */
import type { Clock } from '../runtime/clock.js'
import type { Settings } from './options.js'
import { Refusal } from './refusal.js'

const MAX_BODY_BYTES = 65_536
const BODY_TIMEOUT_MS = 30_000
/** Where no handler has a limit of its own. */
const MESSAGE_BYTES = 4_194_304
const MAX_MESSAGE_BYTES = 16_777_216

/** A request whose body is to be read. */
interface Reading {
  readonly request: Request
  readonly settings: Settings
}

/** The largest body with a message: what the handler takes over HTTP, within bounds. */
export function maxMessageBytes({ handler }: Settings): number {
  return Math.min(handler?.limits?.maxBodyBytes ?? MESSAGE_BYTES, MAX_MESSAGE_BYTES)
}

/** The JSON object of a body. @throws {Refusal} */
export async function readBody(
  { request, settings }: Reading,
  maxBytes = MAX_BODY_BYTES,
): Promise<Readonly<Record<string, unknown>>> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type)) throw new Refusal(415, 'The body must be application/json')
  const text = new TextDecoder().decode(await readBytes(request, maxBytes, settings.clock))
  try {
    const json: unknown = JSON.parse(text)
    // An object of JSON has only names that are texts.
    if (typeof json === 'object' && json !== null && !Array.isArray(json))
      return json as Record<string, unknown>
  } catch {
    // It is refused below, as other values are.
  }
  throw new Refusal(400, 'The body must be a JSON object')
}

/** Copies the chunks into one buffer: each tiny chunk that is kept takes many times its size. */
async function readBytes(request: Request, maxBytes: number, clock: Clock): Promise<Uint8Array> {
  // Without an encoding, a body has bytes.
  const body = request.body as ReadableStream<Uint8Array> | null
  if (body === null) return new Uint8Array()
  if (request.bodyUsed || body.locked) {
    throw new TypeError('The inspector reads the body: pass a Request whose body was not read before')
  }
  const reader = body.getReader()
  const late = new AbortController()
  const disarm = clock.schedule(() => {
    late.abort()
    reader.cancel().catch(() => undefined)
  }, BODY_TIMEOUT_MS)
  let bytes = new Uint8Array(0)
  let size = 0
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (late.signal.aborted)
        throw new Refusal(408, `The body was not complete within ${BODY_TIMEOUT_MS} ms`)
      if (done) return bytes.subarray(0, size)
      const end = size + value.byteLength
      if (end > maxBytes) {
        await reader.cancel()
        throw new Refusal(413, `The body has more than ${maxBytes} bytes`)
      }
      if (end > bytes.byteLength)
        bytes = grown(bytes, Math.min(maxBytes, Math.max(2 * bytes.byteLength, end)))
      bytes.set(value, size)
      size = end
    }
  } finally {
    disarm()
  }
}

function grown(bytes: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(size)
  larger.set(bytes)
  return larger
}
