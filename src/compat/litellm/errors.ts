/**
 * Mapping of errors to those of LiteLLM-RS' A2A gateway.
 *
 * @module
 */
import { type A2AError, type ErrorCode } from '../../core/errors.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { RpcError } from '../../wire/dialect.js'
import { describeError, hasRetryAfter, type ErrorDescription } from '../../wire/errors.js'
import { STATES } from './tasks.js'

const INVALID_REQUEST = -32600
const INVALID_PARAMS = -32602
const INTERNAL_ERROR = -32603
const AGENT_BUSY = -32003
const TASK_CANCELLED = -32004
const CAPABILITY_MISMATCH = -32005
const AGENT_NOT_FOUND = -32002
const RATE_LIMITED = -32006

/** Codes that differ from those of A2A, or that A2A does not have. */
const CODES: { readonly [C in ErrorCode]?: number } = {
  TASK_LIMIT_REACHED: AGENT_BUSY,
  UNAVAILABLE: AGENT_BUSY,
  MANAGER_DESTROYED: AGENT_BUSY,
  WAIT_TIMED_OUT: AGENT_BUSY,
  WAIT_ABORTED: AGENT_BUSY,
  STORE_FAILED: AGENT_BUSY,
  LEASE_LOST: AGENT_BUSY,
  TASK_CANCELED: TASK_CANCELLED,
  TASK_TERMINAL: INVALID_PARAMS,
  INVALID_TRANSITION: INVALID_PARAMS,
  TASK_NOT_CANCELABLE: INVALID_PARAMS,
  TASK_GENERATION_MISMATCH: INVALID_PARAMS,
  UNSUPPORTED_OPERATION: CAPABILITY_MISMATCH,
  CONTENT_TYPE_NOT_SUPPORTED: CAPABILITY_MISMATCH,
  PUSH_NOTIFICATION_NOT_SUPPORTED: CAPABILITY_MISMATCH,
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: CAPABILITY_MISMATCH,
  EXTENSION_SUPPORT_REQUIRED: CAPABILITY_MISMATCH,
  VERSION_NOT_SUPPORTED: INVALID_REQUEST,
  AGENT_NOT_FOUND,
  AGENT_BUSY,
  CAPABILITY_MISMATCH,
  RATE_LIMITED,
}

const TASK_NOT_FOUND = -32001
/** The lowest code of A2A. The standard codes of JSON-RPC are below it. */
const LAST_A2A_CODE = -32099

/** The document gives some codes of A2A other meanings. */
function codeOf(code: ErrorCode, described: ErrorDescription): number {
  const isStandard = described.code < LAST_A2A_CODE || described.code === TASK_NOT_FOUND
  return CODES[code] ?? (isStandard ? described.code : INTERNAL_ERROR)
}

/** The document prints states as Rust's `Debug` does: `InputRequired`. */
function debugName(state: string): string {
  // A state of a custom lifecycle is not in the table.
  const name = Object.hasOwn(STATES, state) ? STATES[state as TaskState] : state
  return name
    .split(/[_-]/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

function messageOf(code: ErrorCode, { message, metadata }: ErrorDescription): string {
  const { taskId, from, to } = metadata
  switch (code) {
    case 'TASK_NOT_FOUND':
    case 'TASK_EXPIRED':
      return taskId === undefined ? message : `Task not found: ${taskId}`
    case 'TASK_NOT_CANCELABLE':
      // The document uses this text for every terminal state.
      return 'Cannot cancel a completed task'
    case 'INVALID_TRANSITION':
      if (from === undefined || to === undefined) return message
      return `Invalid state transition from ${debugName(from)} to ${debugName(to)}`
    default:
      return message
  }
}

/** Default delay in seconds. */
const DEFAULT_RETRY_AFTER = 5

function retryAfter(error: A2AError): number {
  const { retryAfterMs } = hasRetryAfter(error) ? error.data : {}
  return retryAfterMs === undefined ? DEFAULT_RETRY_AFTER : Math.max(1, Math.ceil(retryAfterMs / 1_000))
}

export function encodeError(error: A2AError): RpcError {
  const described = describeError(error)
  const code = codeOf(error.code, described)
  const message = messageOf(error.code, described)
  const isPassing = code === AGENT_BUSY || code === RATE_LIMITED
  return { code, message, ...(isPassing && { data: { retry_after: retryAfter(error), retryable: true } }) }
}
