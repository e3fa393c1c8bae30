/**
 * Mapping of `A2AError` codes to JSON-RPC, HTTP and gRPC, and the error data that may cross the wire.
 *
 * @module
 */
import type { A2AError, ErrorCode } from '../core/errors.js'
import type { JsonObject } from '../core/json-types.js'

/** An error of the protocol (A2A 1.0 §5.4). */
export interface WireError {
  /** JSON-RPC code. */
  readonly code: number
  /** HTTP status. */
  readonly http: number
  /** The name of the gRPC status, which the HTTP+JSON binding sends too. */
  readonly status: string
  /** As in `google.rpc.ErrorInfo`. */
  readonly reason: string
}

function wireError(reason: string, code: number, http: number, status: string): WireError {
  return { code, http, status, reason }
}

const INVALID = wireError('INVALID_PARAMS', -32602, 400, 'INVALID_ARGUMENT')
const NOT_FOUND = wireError('TASK_NOT_FOUND', -32001, 404, 'NOT_FOUND')
const UNSUPPORTED = wireError('UNSUPPORTED_OPERATION', -32004, 400, 'FAILED_PRECONDITION')
const FAILURE = wireError('INTERNAL_ERROR', -32603, 500, 'INTERNAL')
const UNAVAILABLE = wireError('UNAVAILABLE', -32603, 503, 'UNAVAILABLE')

/** A2A 1.0.1 §5.4, and what the specification leaves open: authentication, overload, the standard JSON-RPC errors. */
export const WIRE_ERRORS = {
  INVALID_PARAMS: INVALID,
  LIMIT_EXCEEDED: wireError('LIMIT_EXCEEDED', -32602, 400, 'INVALID_ARGUMENT'),
  BUDGET_EXCEEDED: wireError('BUDGET_EXCEEDED', -32603, 429, 'RESOURCE_EXHAUSTED'),
  TASK_LIMIT_REACHED: wireError('TASK_LIMIT_REACHED', -32603, 503, 'RESOURCE_EXHAUSTED'),
  TASK_NOT_FOUND: NOT_FOUND,
  INVALID_TRANSITION: UNSUPPORTED,
  TASK_TERMINAL: UNSUPPORTED,
  TASK_NOT_CANCELABLE: wireError('TASK_NOT_CANCELABLE', -32002, 400, 'FAILED_PRECONDITION'),
  TASK_GENERATION_MISMATCH: wireError('TASK_GENERATION_MISMATCH', -32010, 409, 'ABORTED'),
  TASK_CANCELED: UNSUPPORTED,
  TASK_TIMED_OUT: UNSUPPORTED,
  TASK_EXPIRED: NOT_FOUND,
  MANAGER_DESTROYED: UNAVAILABLE,
  WAIT_TIMED_OUT: UNAVAILABLE,
  WAIT_ABORTED: UNAVAILABLE,
  STORE_FAILED: UNAVAILABLE,
  JOURNAL_MISMATCH: FAILURE,
  LEASE_LOST: UNAVAILABLE,
  PARSE_ERROR: wireError('PARSE_ERROR', -32700, 400, 'INVALID_ARGUMENT'),
  INVALID_REQUEST: wireError('INVALID_REQUEST', -32600, 400, 'INVALID_ARGUMENT'),
  METHOD_NOT_FOUND: wireError('METHOD_NOT_FOUND', -32601, 404, 'NOT_FOUND'),
  UNSUPPORTED_OPERATION: UNSUPPORTED,
  CONTENT_TYPE_NOT_SUPPORTED: wireError('CONTENT_TYPE_NOT_SUPPORTED', -32005, 400, 'INVALID_ARGUMENT'),
  PUSH_NOTIFICATION_NOT_SUPPORTED: wireError(
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    -32003,
    400,
    'FAILED_PRECONDITION',
  ),
  INVALID_AGENT_RESPONSE: wireError('INVALID_AGENT_RESPONSE', -32006, 500, 'INTERNAL'),
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: wireError(
    'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
    -32007,
    400,
    'FAILED_PRECONDITION',
  ),
  EXTENSION_SUPPORT_REQUIRED: wireError('EXTENSION_SUPPORT_REQUIRED', -32008, 400, 'FAILED_PRECONDITION'),
  VERSION_NOT_SUPPORTED: wireError('VERSION_NOT_SUPPORTED', -32009, 400, 'FAILED_PRECONDITION'),
  UNAUTHENTICATED: wireError('UNAUTHENTICATED', -32603, 401, 'UNAUTHENTICATED'),
  PERMISSION_DENIED: wireError('PERMISSION_DENIED', -32603, 403, 'PERMISSION_DENIED'),
  NOT_FOUND: wireError('NOT_FOUND', -32603, 404, 'NOT_FOUND'),
  UNAVAILABLE,
  INTERNAL: FAILURE,
  EXTERNAL_SERVICE_ERROR: FAILURE,
  VALIDATION_ERROR: FAILURE,
  REQUEST_TIMED_OUT: FAILURE,
  REQUEST_ABORTED: FAILURE,
  URL_BLOCKED: FAILURE,
  SIGNATURE_INVALID: FAILURE,
  AGENT_NOT_FOUND: wireError('AGENT_NOT_FOUND', -32602, 404, 'NOT_FOUND'),
  AGENT_BUSY: wireError('AGENT_BUSY', -32603, 503, 'UNAVAILABLE'),
  CAPABILITY_MISMATCH: wireError('CAPABILITY_MISMATCH', -32004, 400, 'FAILED_PRECONDITION'),
  RATE_LIMITED: wireError('RATE_LIMITED', -32603, 429, 'RESOURCE_EXHAUSTED'),
  PROVIDER_ERROR: FAILURE,
  CONFIGURATION_ERROR: FAILURE,
} as const satisfies Record<ErrorCode, WireError>

/** Whether the error may have a `retryAfterMs`. */
export function hasRetryAfter(
  error: A2AError,
): error is A2AError<
  'UNAVAILABLE' | 'AGENT_BUSY' | 'RATE_LIMITED' | 'TASK_LIMIT_REACHED' | 'BUDGET_EXCEEDED'
> {
  return ['UNAVAILABLE', 'AGENT_BUSY', 'RATE_LIMITED', 'TASK_LIMIT_REACHED', 'BUDGET_EXCEEDED'].includes(
    error.code,
  )
}

/** The value of `Retry-After`. At least 1: an immediate retry would fail again. */
export function retryAfterSeconds(error: A2AError): number {
  const { retryAfterMs = 0 } = hasRetryAfter(error) ? error.data : {}
  return Math.max(1, Math.ceil(retryAfterMs / 1_000))
}

/** The parts of an error that cross the wire. Its `cause` and its stack never do. */
export interface ErrorDescription extends WireError {
  readonly message: string
  /** Texts only, as `ErrorInfo.metadata` demands. */
  readonly metadata: Readonly<Record<string, string>>
  /** Invalid parameters and the reasons. */
  readonly violations: readonly { readonly field: string; readonly description: string }[]
}

/** Ids and paths come from the client, so their length in the response is bounded. */
const MAX_TEXT = 200

/** Fixed texts hide failures of the agent's own requests, to others or to the store. */
function fixedText({ code }: A2AError): string | undefined {
  if (code === 'STORE_FAILED') return 'The agent cannot reach its tasks now; try again later'
  return WIRE_ERRORS[code].reason === 'INTERNAL_ERROR' ? 'Internal error' : undefined
}

/** The parts of `error` that a client may read: its text and data, bounded, without its cause. */
export function describeError(error: A2AError): ErrorDescription {
  const row = WIRE_ERRORS[error.code]
  const message = fixedText(error)
  if (message !== undefined) return { ...row, message, metadata: {}, violations: [] }
  const metadata: Record<string, string> = {}
  for (const [key, value] of Object.entries(error.data)) metadata[key] = clip(String(value))
  const { path, reason, limit } = metadata
  // What all users of the agent have spent together is not for one of them.
  if (error.code === 'BUDGET_EXCEEDED' && limit === 'limits.agentBudget') {
    delete metadata['max']
    delete metadata['spent']
  }
  const isInvalid = error.code === 'INVALID_PARAMS' && path !== undefined && reason !== undefined
  return {
    ...row,
    message: clip(error.message),
    metadata: isInvalid ? {} : metadata,
    violations: isInvalid ? [{ field: path, description: reason }] : [],
  }
}

function clip(text: string): string {
  return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text
}

const ERROR_INFO = 'type.googleapis.com/google.rpc.ErrorInfo'
const BAD_REQUEST = 'type.googleapis.com/google.rpc.BadRequest'

/** The details of an error: each object has an `@type` (A2A 1.0 §9.5, §11.6). */
export function errorDetails({ reason, metadata, violations }: ErrorDescription): JsonObject[] {
  const info = { '@type': ERROR_INFO, reason, domain: 'a2a-protocol.org', metadata: { ...metadata } }
  if (violations.length === 0) return [info]
  return [info, { '@type': BAD_REQUEST, fieldViolations: violations.map((violation) => ({ ...violation })) }]
}
