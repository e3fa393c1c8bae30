/**
 * One attempt to tell a webhook of something.
 *
 * @module
 */
import { chunksOf, open, type HttpCall, type Opened } from '../../http/request.js'
import { A2AError } from '../../core/errors.js'
import type { Clock } from '../../runtime/clock.js'
import type { PushConfig } from '../../wire/dialect.js'
import { MAX_ANSWER_BYTES, type PushSettings } from './options.js'

export interface Notification {
  /** The same at every attempt: receivers tell by it what they have. */
  readonly id: string
  /** As in the header `A2A-Version`; absent where the version has no such header. */
  readonly version: string | undefined
  readonly mediaType: string
  readonly body: string
}

/** Why a notification did not arrive, in words without a secret, an address or a path. */
export interface PushFailure {
  readonly reason: string
  /** Of the answer, if there was one. */
  readonly status?: number
}

export interface Missed extends PushFailure {
  /** Whether there is no point in trying again. */
  readonly isFinal: boolean
  /** When the webhook wants to be asked again. */
  readonly retryAfterMs: number
}

/** How long the rest of an answer may take that says all with its status. */
const REST_MS = 1_000
const GONE = 410

/**
 * Sends a notification. It has arrived when the webhook answers with a status of 2xx.
 *
 * @returns Why it has not arrived; nothing if it has.
 * @throws {A2AError} `REQUEST_ABORTED` by `signal`: whether it has arrived is not known then.
 */
export async function notify(
  settings: PushSettings,
  config: PushConfig,
  notification: Notification,
  signal: AbortSignal,
): Promise<Missed | undefined> {
  const { http, timeoutMs } = settings
  try {
    const opened = await open(http, callOf(config, notification), { signal, timeoutMs })
    await readRest(opened)
    const { status, headers } = opened.response
    if (status >= 200 && status < 300) return undefined
    return {
      reason: `HTTP ${status}`,
      status,
      isFinal: status === GONE,
      retryAfterMs: retryAfterMs(headers.get('retry-after') ?? '', http.clock),
    }
  } catch (error) {
    if (signal.aborted) throw error
    return missedBy(error, timeoutMs)
  }
}

function callOf({ url, token, authentication }: PushConfig, notification: Notification): HttpCall {
  const { id, version, mediaType, body } = notification
  return {
    method: 'POST',
    url,
    headers: { 'content-type': mediaType },
    own: {
      'x-a2a-notification-id': id,
      ...(version !== undefined && { 'a2a-version': version }),
      ...(token && { 'x-a2a-notification-token': token }),
      ...(authentication !== undefined && { authorization: authorizationOf(authentication) }),
    },
    body,
  }
}

function authorizationOf({ scheme, credentials }: NonNullable<PushConfig['authentication']>): string {
  return credentials ? `${scheme} ${credentials}` : scheme
}

/** An answer that is read to its end leaves the connection to the next one. */
async function readRest({ response, url, abortion }: Opened): Promise<void> {
  abortion.arm(REST_MS)
  let bytes = 0
  try {
    for await (const chunk of chunksOf(response, url, abortion)) {
      bytes += chunk.byteLength
      if (bytes > MAX_ANSWER_BYTES) break
    }
  } catch {
    // Its status has said all.
  } finally {
    abortion.dispose()
  }
}

/** Seconds, or a date (RFC 9110 §10.2.3). */
function retryAfterMs(text: string, clock: Clock): number {
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1_000
  const at = / GMT$/.test(text) ? Date.parse(text) : NaN
  return Number.isNaN(at) ? 0 : Math.max(0, at - clock.now())
}

/** What a `fetch` throws may hold the URL, and that a secret, wherever it likes: it is told apart, and not printed. */
function missedBy(error: unknown, timeoutMs: number): Missed {
  try {
    return readMissed(error, timeoutMs)
  } catch {
    // Not even that can be read.
    return { isFinal: false, retryAfterMs: 0, reason: UNREACHABLE }
  }
}

const UNREACHABLE = 'it cannot be reached'

function readMissed(error: unknown, timeoutMs: number): Missed {
  const missed = { isFinal: false, retryAfterMs: 0 }
  if (A2AError.is(error, 'REQUEST_TIMED_OUT'))
    return { ...missed, reason: `no answer within ${timeoutMs} ms` }
  if (A2AError.is(error, 'URL_BLOCKED')) {
    // A name that cannot be resolved may be again; there is a cause in this case only.
    const isPassing = error.cause !== undefined
    const reason = isPassing ? 'its host cannot be resolved' : 'its URL is not allowed'
    return { ...missed, reason, isFinal: !isPassing }
  }
  const status: unknown = A2AError.is(error, 'EXTERNAL_SERVICE_ERROR') ? error.data.status : undefined
  if (typeof status === 'number' && REDIRECTS.includes(status)) {
    return { ...missed, reason: `HTTP ${status}, a redirect that is not followed`, status }
  }
  const code = codeOf(error)
  return { ...missed, reason: code === undefined ? UNREACHABLE : `${UNREACHABLE}: ${code}` }
}

const REDIRECTS = [301, 302, 303, 307, 308]
/** More causes are a circle. */
const MAX_CAUSES = 8

/** `ECONNREFUSED`, wherever in the causes it stands. */
function codeOf(error: unknown): string | undefined {
  let at = error
  for (let depth = 0; depth < MAX_CAUSES && at instanceof Error; depth += 1) {
    const { code, cause } = at as { readonly code?: unknown; readonly cause?: unknown }
    if (typeof code === 'string' && OF_PLATFORM.test(code) && !A2AError.is(at)) return code
    at = cause
  }
  return undefined
}

/** As Node and OpenSSL name what has gone wrong. */
const OF_PLATFORM = /^(?:E(?:AI_)?[A-Z]{2,20}|(?:ERR|UND|CERT|DEPTH|SELF|UNABLE|HOSTNAME)_[A-Z_]{1,50})$/
