/**
 * One HTTP request to a webhook, and the reason if it fails.
 *
 * @module
 */
import { chunksOf, open, type HttpCall, type OpenResponse } from '../../http/request.js'
import { retryAfterMs } from '../../http/retry.js'
import { A2AError } from '../../core/errors.js'
import type { TraceHeaders } from '../../runtime/trace-headers.js'
import type { PushConfig } from '../../wire/dialect.js'
import { MAX_ANSWER_BYTES, type PushSettings } from './options.js'

/** A notification, encoded for HTTP. */
export interface HttpNotification {
  /** The same in every attempt, so that receivers recognise duplicates. */
  readonly id: string
  /** The value of the header `A2A-Version`; `undefined` where the dialect has no such header. */
  readonly version: string | undefined
  readonly mediaType: string
  readonly body: string
  /** Headers that continue a trace. */
  readonly headers?: TraceHeaders
}

/** Why a notification did not arrive, without secrets, addresses or paths. */
export interface PushFailure {
  readonly reason: string
  /** The status of the response, if there was one. */
  readonly status?: number
}

export interface DeliveryFailure extends PushFailure {
  /** Whether another attempt is pointless. */
  readonly isFinal: boolean
  /** The shortest pause that the webhook asks for, in ms; 0 for none. */
  readonly retryAfterMs: number
}

/** How long reading a response to its end may take, in ms; its status decides. */
const REST_MS = 1_000
const GONE = 410

/**
 * Sends a notification. It has arrived when the webhook responds with a status of 2xx.
 *
 * @returns The failure; `undefined` if the notification has arrived.
 * @throws {A2AError} As a rejection: `REQUEST_ABORTED` by `signal`; whether the notification arrived is then unknown.
 */
export async function sendNotification(
  settings: PushSettings,
  config: PushConfig,
  notification: HttpNotification,
  signal: AbortSignal,
): Promise<DeliveryFailure | undefined> {
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
      retryAfterMs: retryAfterMs(headers, http.clock) ?? 0,
    }
  } catch (error) {
    if (signal.aborted) throw error
    return failureOf(error, timeoutMs)
  }
}

function callOf({ url, token, authentication }: PushConfig, notification: HttpNotification): HttpCall {
  const { id, version, mediaType, body, headers } = notification
  return {
    method: 'POST',
    url,
    headers: { 'content-type': mediaType },
    callerHeaders: {
      ...headers,
      'x-a2a-notification-id': id,
      ...(version !== undefined && { 'a2a-version': version }),
      ...(token && { 'x-a2a-notification-token': token }),
      ...authorizationOf(authentication),
    },
    body,
  }
}

/** A scheme alone would be a malformed header. */
function authorizationOf(authentication: PushConfig['authentication']): Record<string, string> {
  if (!authentication?.credentials) return {}
  return { authorization: `${authentication.scheme} ${authentication.credentials}` }
}

/** Reads the response to its end, so that the connection can be used again. */
async function readRest({ response, url, scope }: OpenResponse): Promise<void> {
  scope.arm(REST_MS)
  let bytes = 0
  try {
    for await (const chunk of chunksOf(response, url, scope)) {
      bytes += chunk.byteLength
      if (bytes > MAX_ANSWER_BYTES) break
    }
  } catch {
    // The status decides whatever the body does.
  } finally {
    scope.dispose()
  }
}

/** Errors of a `fetch` may contain the URL with its secrets anywhere, so they are classified and never printed. */
export function failureOf(error: unknown, timeoutMs: number): DeliveryFailure {
  try {
    return readFailure(error, timeoutMs)
  } catch {
    // The error throws when it is read.
    return { isFinal: false, retryAfterMs: 0, reason: UNREACHABLE }
  }
}

const UNREACHABLE = 'it cannot be reached'

function readFailure(error: unknown, timeoutMs: number): DeliveryFailure {
  const failure = { isFinal: false, retryAfterMs: 0 }
  if (A2AError.is(error, 'REQUEST_TIMED_OUT'))
    return { ...failure, reason: `no answer within ${timeoutMs} ms` }
  if (A2AError.is(error, 'URL_BLOCKED')) {
    // Only a name that could not be resolved has a cause; it may be resolved later.
    const isTemporary = error.cause !== undefined
    const reason = isTemporary ? 'its host cannot be resolved' : 'its URL is not allowed'
    return { ...failure, reason, isFinal: !isTemporary }
  }
  const status: unknown = A2AError.is(error, 'EXTERNAL_SERVICE_ERROR') ? error.data.status : undefined
  if (typeof status === 'number' && REDIRECTS.includes(status)) {
    return { ...failure, reason: `HTTP ${status}, a redirect that is not followed`, status }
  }
  const code = codeOf(error)
  return { ...failure, reason: code === undefined ? UNREACHABLE : `${UNREACHABLE}: ${code}` }
}

const REDIRECTS = [301, 302, 303, 307, 308]
/** Bounds the walk, as causes may form a cycle. */
const MAX_CAUSES = 8

/** The code of the platform, such as `ECONNREFUSED`, from anywhere in the chain of causes. */
function codeOf(error: unknown): string | undefined {
  let at = error
  for (let depth = 0; depth < MAX_CAUSES && at instanceof Error; depth += 1) {
    const { code, cause } = at as { readonly code?: unknown; readonly cause?: unknown }
    if (typeof code === 'string' && OF_PLATFORM.test(code) && !A2AError.is(at)) return code
    at = cause
  }
  return undefined
}

/** Error codes of Node and OpenSSL. */
const OF_PLATFORM = /^(?:E(?:AI_)?[A-Z]{2,20}|(?:ERR|UND|CERT|DEPTH|SELF|UNABLE|HOSTNAME)_[A-Z_]{1,50})$/

/** The error that reports the state of a webhook, without secrets. */
export function webhookError(
  origin: string,
  what: string,
  { reason, status }: PushFailure,
): A2AError<'EXTERNAL_SERVICE_ERROR'> {
  const text = `A webhook at ${origin} ${what}: ${reason}`
  const data = { service: 'webhook', url: origin, ...(status !== undefined && { status }) }
  return new A2AError('EXTERNAL_SERVICE_ERROR', text, data)
}
