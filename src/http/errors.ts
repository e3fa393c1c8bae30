/**
 * Errors of requests to other agents.
 *
 * @module
 */
import { A2AError, type ErrorCode } from '../core/errors.js'
import { shownUrl } from './url.js'

const SERVICE = 'A2A'

/** An agent or another service cannot be reached, or its response has no information beyond the HTTP status. */
export class ExternalServiceError extends A2AError<'EXTERNAL_SERVICE_ERROR'> {
  /** HTTP status for a server that passes this error on. */
  readonly statusCode = 502
  readonly context: { readonly service: string }

  /** The error's message is "`service`: `message`". `status` is the HTTP status of the response, if there was one. */
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

/** The card of an agent lacks required information. */
export class ValidationError extends A2AError<'VALIDATION_ERROR'> {
  /** HTTP status for a server that passes this error on. */
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

/** The error of a stream whose response has ended in good order, while its task works. */
export function endedEarly(url: string): ExternalServiceError {
  const shown = shownUrl(url)
  return new ExternalServiceError(SERVICE, `${shown} ended the stream before the task ended`, { url: shown })
}

/** The error with a sentence more. */
export function withNote(error: A2AError<'EXTERNAL_SERVICE_ERROR'>, note: string): ExternalServiceError {
  const { service, ...data } = error.data
  const said = error.message.slice(`${service}: `.length)
  return new ExternalServiceError(service, `${said}. ${note}`, { ...data, cause: error.cause })
}

/** Removes queries: an error of `fetch` may quote the URL, whose query may contain a key. */
function queryless(text: string): string {
  return text.slice(0, 500).replace(/\?[^\s"'<>]+/g, '?…')
}

/** The innermost cause: the error of `fetch` itself is only "fetch failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (cause instanceof Error) return reasonOf(cause)
  const code = codeOf(error)
  return error.message || code || error.name
}

/** `said`: what the response says about its status. */
export function badStatus(url: string, status: number, statusText: string, said = ''): ExternalServiceError {
  const shown = shownUrl(url)
  const text = `${shown} answered HTTP ${status} ${statusText}`.trim()
  return new ExternalServiceError(SERVICE, said ? `${text}: ${said}` : text, { url: shown, status })
}

export function timedOut(timeoutMs: number, what = 'No answer'): A2AError<'REQUEST_TIMED_OUT'> {
  return new A2AError('REQUEST_TIMED_OUT', `${what} within ${timeoutMs} ms`, { timeoutMs })
}

export function aborted(signal: AbortSignal): A2AError<'REQUEST_ABORTED'> {
  return new A2AError('REQUEST_ABORTED', 'The request was aborted', {}, { cause: signal.reason })
}

/** Error codes for connections that were never made: those of Node, then those of Bun. */
const NEVER_CONNECTED = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
  'FailedToOpenSocket',
]

/** Errors by which an agent refuses a request before it processes it. */
const REFUSALS: readonly ErrorCode[] = [
  'UNAVAILABLE',
  'URL_BLOCKED',
  'VERSION_NOT_SUPPORTED',
  'METHOD_NOT_FOUND',
]

/** Whether the agent has certainly not processed the request, so that sending it again cannot process it twice. */
export function isUnprocessed(error: unknown): boolean {
  if (A2AError.is(error) && REFUSALS.includes(error.code)) return true
  if (!A2AError.is(error, 'EXTERNAL_SERVICE_ERROR')) return false
  const { status } = error.data
  // The resource is missing, moved, or lacks the method. After processing a request, servers redirect with 303 or 302.
  if (status !== undefined) return [301, 307, 308, 404, 405].includes(status)
  return hasCode(error.cause)
}

function hasCode(error: unknown): boolean {
  if (typeof error !== 'object' || error === null) return false
  const { cause, errors } = error as { cause?: unknown; errors?: unknown }
  // Happy Eyeballs reports one error per address.
  if (Array.isArray(errors) && errors.length > 0) return errors.every(hasCode)
  return NEVER_CONNECTED.includes(codeOf(error) ?? '') || hasCode(cause)
}

function codeOf(error: object): string | undefined {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : undefined
}

/** Whether the error is a response with an HTTP status, and without an error of A2A. */
export function hasStatus(error: unknown): boolean {
  return A2AError.is(error, 'EXTERNAL_SERVICE_ERROR') && error.data.status !== undefined
}

/** Whether the same request may succeed later after an answer with this HTTP status, or without an answer. */
export function isPassingStatus(status: number | undefined): boolean {
  return status === undefined || status >= 500 || [408, 425, 429].includes(status)
}

/** Whether the same request may succeed later. */
export function isTransient(error: unknown): boolean {
  if (A2AError.is(error, 'UNAVAILABLE')) return true
  if (!A2AError.is(error, 'EXTERNAL_SERVICE_ERROR')) return false
  const { status } = error.data
  return status === undefined || status >= 500 || status === 408 || status === 425
}
