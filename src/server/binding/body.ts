/**
 * Request bodies, read within limits of size, time and memory.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { elapsed, type Clock } from '../../runtime/clock.js'
import { yieldToEventLoop } from '../../runtime/timers.js'
import { parseUrl } from '../../runtime/url.js'
import type { HttpRequest } from './exchange.js'
import { BodyBudget, IncomingBody } from './incoming-body.js'

/** Bodies up to so many bytes are decoded and parsed at once. Longer ones give way to other work in between. */
const BYTES_AT_A_TIME = 262_144
/** `fatal` rejects invalid UTF-8 instead of replacing it. */
const UTF_8 = { fatal: true } as const
const decoder = new TextDecoder('utf-8', UTF_8)

interface BodyLimits {
  readonly maxBodyBytes: number
  readonly bodyTimeoutMs: number
  readonly maxBodyBytesInFlight: number
  readonly maxNodes: number
}

/** Reads the bodies of one handler's requests. */
export class BodyReader {
  readonly #limits: BodyLimits
  readonly #clock: Clock
  readonly #budget: BodyBudget
  /** All bodies have the same time limit, so the first one of the set is due first. */
  readonly #bodies = new Set<IncomingBody>()
  #disarm: (() => void) | undefined

  constructor(limits: BodyLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
    this.#budget = new BodyBudget(limits.maxBodyBytesInFlight)
  }

  /**
   * The JSON in the body; `undefined` when there is no body.
   *
   * @throws {A2AError} `CONTENT_TYPE_NOT_SUPPORTED`, `LIMIT_EXCEEDED`, `PARSE_ERROR`; `UNAVAILABLE` when too many bytes
   *   are in flight, or the client disconnects.
   */
  async readJson(request: HttpRequest, mediaTypes: readonly string[]): Promise<unknown> {
    const { maxBodyBytes, bodyTimeoutMs, maxNodes } = this.#limits
    const dueAt = elapsed(this.#clock) + bodyTimeoutMs
    const body = new IncomingBody(maxBodyBytes, dueAt, this.#budget)
    this.#bodies.add(body)
    try {
      if (this.#disarm === undefined) this.#arm(bodyTimeoutMs)
      const bytes = await request.read(body)
      if (bytes.byteLength === 0) {
        requireOwnSite(request, mediaTypes)
        return undefined
      }
      requireMediaType(request.header('content-type'), mediaTypes)
      requireFewNodes(bytes, maxNodes)
      return bytes.byteLength <= BYTES_AT_A_TIME ? parse(bytes) : await parseLarge(bytes)
    } finally {
      this.#bodies.delete(body)
      body.release()
      if (this.#bodies.size === 0) this.#stop()
    }
  }

  /** One timer serves all bodies. Those that are complete do not move it, so it may fire early. */
  #arm(delayMs: number): void {
    this.#disarm = this.#clock.schedule(() => this.#expire(), delayMs)
  }

  #stop(): void {
    this.#disarm?.()
    this.#disarm = undefined
  }

  #expire(): void {
    this.#disarm = undefined
    const now = elapsed(this.#clock)
    for (const body of this.#bodies) {
      if (body.dueAt > now) {
        this.#arm(body.dueAt - now)
        return
      }
      this.#bodies.delete(body)
      body.refuse(tooSlow(this.#limits.bodyTimeoutMs, now - body.dueAt))
    }
  }
}

/** Browsers send other types from foreign pages without a preflight request, so only declared JSON is read. */
function requireMediaType(header: string | null, mediaTypes: readonly string[]): void {
  const mediaType = essence(header)
  if (mediaTypes.includes(mediaType)) return
  const shown = mediaType === '' ? 'none' : mediaType.slice(0, 80)
  throw new A2AError(
    'CONTENT_TYPE_NOT_SUPPORTED',
    `Content-Type must be ${mediaTypes.join(' or ')}, got ${shown}`,
    { mediaType: shown },
  )
}

/**
 * Refuses a request without a body that a browser sends for a page of another origin, with the user's cookies. A JSON type
 * passes: browsers send it only after a preflight request that the integrator's CORS settings have allowed.
 */
function requireOwnSite(request: HttpRequest, mediaTypes: readonly string[]): void {
  const header = request.header('content-type')
  if (mediaTypes.includes(essence(header)) || !isFromOtherSite(request)) return
  const shown = essence(header).slice(0, 80) || 'none'
  throw new A2AError(
    'CONTENT_TYPE_NOT_SUPPORTED',
    `A request from another site needs the Content-Type ${mediaTypes.join(' or ')}, got ${shown}`,
    { mediaType: shown },
  )
}

/** Clients that are no browsers send neither header. */
function isFromOtherSite(request: HttpRequest): boolean {
  const site = request.header('sec-fetch-site')
  if (site !== null) return site !== 'same-origin' && site !== 'none'
  const origin = request.header('origin')
  // Browsers of before 2023 send only this one. The scheme is not compared: a proxy may have terminated TLS.
  return origin !== null && parseUrl(origin)?.host !== new URL(request.url).host
}

/** The media type without its parameters, in lower case. */
function essence(header: string | null): string {
  return (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}

const QUOTE = 0x22
const COMMA = 0x2c
const BRACKET = 0x5b
const BACKSLASH = 0x5c
const BRACE = 0x7b

/**
 * Counts the values before they are parsed, which can block the process for a hundred times as long: outside of strings,
 * each value but the first follows a comma or an opening bracket. Bytes within characters of UTF-8 are not below 128.
 *
 * @throws {A2AError} `LIMIT_EXCEEDED`.
 */
function requireFewNodes(bytes: Uint8Array, max: number): void {
  const { length } = bytes
  // No value is shorter than a byte.
  if (length <= max) return
  let count = 1
  for (let at = 0; at < length; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      at += 1
      while (at < length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1
    } else if (byte === COMMA || byte === BRACKET || byte === BRACE) {
      count += 1
      if (count > max) throw tooMany(max)
    }
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch (cause) {
    throw notJson(cause)
  }
}

/** Yields between the pieces, and before and after the text is parsed: each takes milliseconds. */
async function parseLarge(bytes: Uint8Array): Promise<unknown> {
  try {
    const pieces = new TextDecoder('utf-8', UTF_8)
    let text = ''
    for (let at = 0; at < bytes.byteLength; at += BYTES_AT_A_TIME) {
      text += pieces.decode(bytes.subarray(at, at + BYTES_AT_A_TIME), { stream: true })
      await yieldToEventLoop()
    }
    const value: unknown = JSON.parse(text + pieces.decode())
    await yieldToEventLoop()
    return value
  } catch (cause) {
    throw notJson(cause)
  }
}

function notJson(cause: unknown): A2AError {
  const reason = 'The body is not JSON in UTF-8'
  return new A2AError('PARSE_ERROR', reason, { reason }, { cause })
}

const STATUSES = new Map([
  ['maxBodyBytes', 413],
  ['maxNodes', 413],
  ['bodyTimeoutMs', 408],
  // The manager of the tasks has no room now.
  ['maxTotalBytes', 503],
])

/** The HTTP status of a request whose body was not read; `undefined` for other errors. */
export function bodyStatusOf(error: A2AError): number | undefined {
  return A2AError.is(error, 'LIMIT_EXCEEDED') ? STATUSES.get(error.data.limit) : undefined
}

function tooMany(max: number): A2AError {
  return new A2AError('LIMIT_EXCEEDED', `The body has more values than maxNodes (${max})`, {
    limit: 'maxNodes',
    max,
    actual: max + 1,
  })
}

function tooSlow(max: number, late: number): A2AError {
  return new A2AError('LIMIT_EXCEEDED', `The body was not complete within bodyTimeoutMs (${max})`, {
    limit: 'bodyTimeoutMs',
    max,
    actual: Math.ceil(max + late),
  })
}
