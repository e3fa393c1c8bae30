/**
 * Errors of requests to other agents.
 *
 * @module
 */
import { A2AError, type ErrorCode } from '../core/errors.js'
import { shownUrl } from './url.js'

const SERVICE = 'A2A'

/** Another agent, or what stands between, cannot be reached, or answers with no more than an HTTP status. */
export class ExternalServiceError extends A2AError<'EXTERNAL_SERVICE_ERROR'> {
  /** What to answer over HTTP where nothing better is known. */
  readonly statusCode = 502
  readonly context: { readonly service: string }

  /** Reads as "`service`: `message`". `status` is that of the answer, if there was one. */
  constructor(
    service: string,
    message: string,
    { url = '', status, cause }: { url?: string; status?: number; cause?: unknown } = {},
  ) {
    super(
      'EXTERNAL_SERVICE_ERROR',
      `${service}: ${message}`,
      { service, url, ...(status !== undefined && { status }) },
      cause === undefined ? undefined : { cause },
    )
    this.context = { service }
  }
}

/** What another agent tells of itself lacks what it must tell. */
export class ValidationError extends A2AError<'VALIDATION_ERROR'> {
  /** What to answer over HTTP where nothing better is known. */
  readonly statusCode = 400
  readonly detail: string

  constructor(detail: string, options?: { cause?: unknown }) {
    super('VALIDATION_ERROR', detail, { detail }, options)
    this.detail = detail
  }
}

export function unreachable(url: string, cause: unknown): ExternalServiceError {
  const shown = shownUrl(url)
  return new ExternalServiceError(SERVICE, `${shown} cannot be reached: ${queryless(reasonOf(cause))}`, {
    url: shown,
    cause,
  })
}

/** A `fetch` may tell the URL, and that may hold a key. */
function queryless(text: string): string {
  return text.slice(0, 500).replace(/\?[^\s"'<>]+/g, '?…')
}

/** What `fetch` says is "fetch failed"; why it did stands in the causes. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (cause instanceof Error) return reasonOf(cause)
  const code = codeOf(error)
  return error.message || code || error.name
}

export function badStatus(url: string, status: number, statusText: string): ExternalServiceError {
  const shown = shownUrl(url)
  const text = `${shown} answered HTTP ${status} ${statusText}`.trim()
  return new ExternalServiceError(SERVICE, text, { url: shown, status })
}

export function timedOut(timeoutMs: number, what = 'No answer'): A2AError<'REQUEST_TIMED_OUT'> {
  return new A2AError('REQUEST_TIMED_OUT', `${what} within ${timeoutMs} ms`, { timeoutMs })
}

export function aborted(signal: AbortSignal): A2AError<'REQUEST_ABORTED'> {
  return new A2AError('REQUEST_ABORTED', 'The request was aborted', {}, { cause: signal.reason })
}

/** What says that no connection was made. Names of Node, then of Bun. */
const NEVER_CONNECTED = [
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['ConnectionRefused', 'FailedToOpenSocket'],
]

const REFUSALS: readonly ErrorCode[] = [
  'UNAVAILABLE',
  'URL_BLOCKED',
  'VERSION_NOT_SUPPORTED',
  'METHOD_NOT_FOUND',
]

/** Whether the agent certainly has not done what it was asked: asking once more does nothing twice. */
export function isUndone(error: unknown): boolean {
  if (A2AError.is(error) && REFUSALS.includes(error.code)) return true
  if (!A2AError.is(error, 'EXTERNAL_SERVICE_ERROR')) return false
  const { status } = error.data
  // Not found, or not with this method, or moved: nobody took it. Whoever took it says 303, or 302 in its place.
  if (status !== undefined) return [301, 307, 308, 404, 405].includes(status)
  return hasCode(error.cause)
}

function hasCode(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { cause, errors } = error as { cause?: unknown; errors?: unknown }
  // Happy eyeballs: an error for each address.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(hasCode)
  return NEVER_CONNECTED.includes(codeOf(error) ?? '') || hasCode(cause)
}

function codeOf(error: object): string | undefined {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}

/** Whether the same request may well succeed later. */
export function isPassing(error: unknown): boolean {
  if (A2AError.is(error, 'UNAVAILABLE')) return true
  if (!A2AError.is(error, 'EXTERNAL_SERVICE_ERROR')) return false
  const { status } = error.data
  return status === undefined || status >= 500 || status === 408 || status === 425
}
