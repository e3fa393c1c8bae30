/**
 * Checks that a request to the API comes from the inspector's own page.
 *
 * @module
 */
import type { Settings } from './options.js'
import { Refusal } from './refusal.js'

/** A header that no page of another origin can send without the consent of a preflight, which is never given. */
const PAGE_HEADER = 'x-a2a-inspector'

const MAX_BODY_BYTES = 65_536
/** Where no handler has a limit of its own. */
const MESSAGE_BYTES = 4_194_304
const MAX_MESSAGE_BYTES = 16_777_216

/** @throws {Refusal} for a request that may have been caused by another site. */
export function requireOwnPage(request: Request): void {
  const { headers } = request
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') throw new Refusal(403, 'The request comes from another site')
  if (headers.get(PAGE_HEADER) !== '1') throw new Refusal(403, `The header ${PAGE_HEADER}: 1 is missing`)
  const origin = headers.get('origin')
  if (origin !== null && hostOf(origin) !== (headers.get('host') ?? hostOf(request.url))) {
    throw new Refusal(403, 'The request comes from another origin')
  }
}

function hostOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).host : undefined
}

/** The largest body with a message: what the handler takes over HTTP, within bounds. */
export function maxMessageBytes({ handler }: Settings): number {
  return Math.min(handler?.limits?.maxBodyBytes ?? MESSAGE_BYTES, MAX_MESSAGE_BYTES)
}

/** The JSON object of a body. @throws {Refusal} */
export async function readBody(
  request: Request,
  maxBytes = MAX_BODY_BYTES,
): Promise<Readonly<Record<string, unknown>>> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type)) throw new Refusal(415, 'The body must be application/json')
  const text = await readText(request, maxBytes)
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

async function readText(request: Request, maxBytes: number): Promise<string> {
  // Without an encoding, a body has bytes.
  const body = request.body as ReadableStream<Uint8Array> | null
  if (body === null) return ''
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    size += value.byteLength
    if (size > maxBytes) {
      await reader.cancel()
      throw new Refusal(413, `The body has more than ${maxBytes} bytes`)
    }
    text += decoder.decode(value, { stream: true })
  }
}
