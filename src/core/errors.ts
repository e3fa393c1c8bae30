/**
 * The error class of the library, and the data of each of its error codes.
 *
 * @module
 */

/** Codes without data. */
type NoData = Readonly<Record<string, never>>

/** The type of `error.data` by `error.code`. */
export interface ErrorData {
  /** A parameter is missing, has the wrong type, or is not JSON. `path` names it, `reason` says what is wrong. */
  INVALID_PARAMS: { path: string; reason: string }
  /** A value is larger, deeper or more numerous than the option `limit` allows. */
  LIMIT_EXCEEDED: { limit: string; max: number; actual: number }
  /**
   * A task, or all tasks of its owner or agent within a window of time, have spent more of a unit than the option `limit` allows:
   * `max` with what `onBudget` has added.
   */
  /** Without `taskId` for new work that is refused. `retryAfterMs` is the time until the next window of a budget that has one. */
  BUDGET_EXCEEDED: {
    taskId?: string
    limit: string
    unit: string
    max: number
    spent: number
    retryAfterMs?: number
  }
  /**
   * The manager holds `maxTasks` tasks, or tasks of `maxTotalBytes`, and can remove none of them. `retryAfterMs` is the time
   * until one expires, where nothing else makes room.
   */
  TASK_LIMIT_REACHED: { maxTasks: number; maxTotalBytes?: number; retryAfterMs?: number }
  /** No task has this id: it never existed, expired, or was evicted. */
  TASK_NOT_FOUND: { taskId: string }
  /** The lifecycle has no transition between these two states. */
  INVALID_TRANSITION: { taskId: string; from: string; to: string }
  /** The task has ended and can no longer change. */
  TASK_TERMINAL: { taskId: string; state: string }
  /** The task has ended and can no longer be canceled (A2A 1.0 §3.3.2 TaskNotCancelableError). */
  TASK_NOT_CANCELABLE: { taskId: string; state: string }
  /** Another caller changed the task since this one read it. */
  TASK_GENERATION_MISMATCH: { taskId: string; expectedGeneration: number; generation: number }
  /** The reason of a signal: the task was canceled. */
  TASK_CANCELED: { taskId: string }
  /** The reason of a signal: the task exceeded `taskTimeoutMs`. */
  TASK_TIMED_OUT: { taskId: string }
  /** The task exceeded `expiryMs` and was removed. */
  TASK_EXPIRED: { taskId: string }
  /** The manager was destroyed by `destroy()`. */
  MANAGER_DESTROYED: { taskId: string }
  /** `waitFor` reached its `timeoutMs`. The task continues. */
  WAIT_TIMED_OUT: { taskId: string; timeoutMs: number }
  /** The signal passed to `waitFor` aborted. The task continues. `cause` is the signal's reason. */
  WAIT_ABORTED: { taskId: string }
  /**
   * The store failed or could not be reached. Whether the change was stored is unknown. `cause` is the driver's error.
   */
  STORE_FAILED: { operation: string }
  /**
   * The code of a run called a step or question that does not match its journal, because the function was changed while a turn
   * was unfinished. `generation` is that of the next entry in the journal.
   */
  JOURNAL_MISMATCH: { taskId: string; generation: number; recorded: string; asked: string }
  /** The reason of a signal: this process lost the lease, and another process can work on the task. */
  LEASE_LOST: { taskId: string }

  /** The text is not JSON (JSON-RPC −32700). */
  PARSE_ERROR: { reason: string }
  /** The text is JSON, but no valid request (JSON-RPC −32600). */
  INVALID_REQUEST: { reason: string }
  /** The method or path does not exist in the requested protocol version (JSON-RPC −32601). */
  METHOD_NOT_FOUND: { method: string }
  /**
   * The agent does not support the operation, or not for a task in this state (A2A 1.0 §3.3.2
   * UnsupportedOperationError).
   */
  UNSUPPORTED_OPERATION: { operation: string }
  /** The media type is not supported (A2A 1.0 §3.3.2 ContentTypeNotSupportedError). */
  CONTENT_TYPE_NOT_SUPPORTED: { mediaType: string }
  /** The agent does not send push notifications (A2A 1.0 §3.3.2). */
  PUSH_NOTIFICATION_NOT_SUPPORTED: NoData
  /** The agent's response does not conform to the protocol (A2A 1.0 §3.3.2). */
  INVALID_AGENT_RESPONSE: { reason: string }
  /** The card declares an extended card, but the agent has none (A2A 1.0 §3.3.2). */
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: NoData
  /** The agent requires an extension that the client did not declare (A2A 1.0 §3.3.2). */
  EXTENSION_SUPPORT_REQUIRED: { extensions: readonly string[] }
  /** The agent does not support the requested version (A2A 1.0 §3.3.2). */
  VERSION_NOT_SUPPORTED: { version: string; supported: readonly string[] }
  /** The request has no credentials, or invalid ones. */
  UNAUTHENTICATED: NoData
  /** The caller lacks permission for this operation. */
  PERMISSION_DENIED: NoData
  /** A resource other than a task does not exist; `resource` names it. */
  NOT_FOUND: { resource: string }
  /** The agent is shutting down or overloaded. Retry later. */
  UNAVAILABLE: { reason: string; retryAfterMs?: number }
  /** An internal error. Its details are not disclosed. */
  INTERNAL: NoData

  /** Another agent cannot be reached, or the response has no information beyond its HTTP status. */
  EXTERNAL_SERVICE_ERROR: { service: string; url: string; status?: number }
  /** The card of another agent lacks required properties. */
  VALIDATION_ERROR: { detail: string }
  /** Another agent did not respond within `timeoutMs`. */
  REQUEST_TIMED_OUT: { timeoutMs: number }
  /** The signal passed with a request aborted. `cause` is its reason. */
  REQUEST_ABORTED: NoData
  /** The URL guard refuses requests to this URL. */
  URL_BLOCKED: { url: string; reason: string }
  /** No signature of a card is valid (A2A 1.0 §8.4.3); `reason` lists what is wrong with each. */
  SIGNATURE_INVALID: { reason: string }

  /** The gateway has no agent with this id. */
  AGENT_NOT_FOUND: { agentId: string }
  /** The agent accepts no task now: it is offline, at its limit, or its service fails. */
  AGENT_BUSY: { agentId: string; reason: string; retryable: true; retryAfterMs: number }
  /** No online agent has all of these capabilities. */
  CAPABILITY_MISMATCH: { capabilities: readonly string[] }
  /** A rate limit, or a limit per owner, was exceeded. */
  RATE_LIMITED: { retryable: true; retryAfterMs: number }
  /** The service behind an agent failed or sent an invalid response. `reason` is the service's own text, shortened. */
  PROVIDER_ERROR: {
    provider: string
    agentId: string
    reason: string
    status?: number
    retryable: boolean
    retryAfterMs?: number
  }
  /**
   * The configuration cannot be used. `line` and `column` count from 1; `key` is the path of the invalid setting, and `agent`
   * the id of its agent, as the file spells it.
   */
  CONFIGURATION_ERROR: { file: string; line: number; column: number; key: string; agent?: string }
}

/** The codes of all errors of this library. */
export type ErrorCode = keyof ErrorData

/** All errors of the library as a union, so that `switch (error.code)` narrows `error.data`. */
export type AnyA2AError = { [C in ErrorCode]: A2AError<C> }[ErrorCode]

const BRAND: unique symbol = Symbol.for('a2a-tasks.error')

/**
 * An error with a `code` to switch on, and `data` typed by that code.
 *
 * Check for it with {@link A2AError.is}. Unlike `instanceof`, it also works when an application holds two copies of the
 * library (one loaded by `import`, one by `require`).
 */
export class A2AError<C extends ErrorCode = ErrorCode> extends Error {
  /** The kind of the error. See `docs/reference/errors.md` for what to do about each. */
  readonly code: C
  /** Details, whose type depends on the code: see {@link ErrorData}. */
  readonly data: Readonly<ErrorData[C]>
  readonly [BRAND] = true

  constructor(code: C, message: string, data: ErrorData[C], options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
    this.data = data
    Object.defineProperty(this, 'name', { value: nameOf(code), configurable: true, writable: true })
  }

  /** Whether `value` is an error of this library and, if `code` is passed, has that code. */
  static is(value: unknown): value is AnyA2AError
  /** The code of 0.1 for `JOURNAL_MISMATCH`. */
  static is(value: unknown, code: 'JOURNAL_MISMATCH'): value is A2AError<'JOURNAL_MISMATCH'>
  static is<C extends ErrorCode>(value: unknown, code: C): value is A2AError<C>
  static is(value: unknown, code?: ErrorCode | 'JOURNAL_MISMATCH'): boolean {
    if (typeof value !== 'object' || value === null || !(BRAND in value)) return false
    // As a callback of `filter`, this function receives an index here.
    if (typeof code !== 'string') return true
    return 'code' in value && value.code === (code === 'JOURNAL_MISMATCH' ? 'JOURNAL_MISMATCH' : code)
  }
}

/** `TASK_NOT_FOUND` → `TaskNotFoundError`, `PARSE_ERROR` → `ParseError`. */
function nameOf(code: ErrorCode): string {
  const words = code
    .replace(/_ERROR$/, '')
    .split('_')
    .map((word) => word.charAt(0) + word.slice(1).toLowerCase())
  return `${words.join('')}Error`
}

export function taskNotFound(given: unknown): A2AError<'TASK_NOT_FOUND'> {
  const taskId = String(given)
  const shortened = taskId.length > 100 ? `${taskId.slice(0, 100)}…` : taskId
  return new A2AError('TASK_NOT_FOUND', `Task not found: ${shortened}`, { taskId })
}

/** @param what What there is too much of. */
export function rateLimited(retryAfterMs: number, what = 'Rate limited'): A2AError<'RATE_LIMITED'> {
  const seconds = Math.ceil(retryAfterMs / 1_000)
  return new A2AError('RATE_LIMITED', `${what}: retry after ${seconds} seconds`, {
    retryable: true,
    retryAfterMs,
  })
}

/** The message is `path` and `reason`: `input.when must be JSON, got a Date`. */
export function invalidParams(
  path: string,
  reason: string,
  cause?: unknown,
  message = `${path} ${reason}`,
): A2AError<'INVALID_PARAMS'> {
  return new A2AError(
    'INVALID_PARAMS',
    message,
    { path, reason },
    cause === undefined ? undefined : { cause },
  )
}

/** The error for a response of an agent that does not conform to the protocol. */
export function invalidAnswer(reason: string, cause?: unknown): A2AError<'INVALID_AGENT_RESPONSE'> {
  return new A2AError(
    'INVALID_AGENT_RESPONSE',
    `The agent's answer is not A2A: ${reason}`,
    { reason },
    cause === undefined ? undefined : { cause },
  )
}

/** An optional package cannot be imported. `needs` says what needs it. */
export function missingPackage(
  needs: string,
  name: string,
  operation: string,
  cause: unknown,
): A2AError<'UNSUPPORTED_OPERATION'> {
  return new A2AError('UNSUPPORTED_OPERATION', `${needs}${adviceFor(name, cause)}`, { operation }, { cause })
}

function adviceFor(name: string, cause: unknown): string {
  const { code, message } = cause as { readonly code?: unknown; readonly message?: unknown }
  if (/MODULE_NOT_FOUND$/.test(String(code))) return `: npm install ${name}`
  // Jest runs code in a context where `import()` works with this flag only.
  if (/^ERR_VM_/.test(String(code)))
    return `, which this process cannot import: set NODE_OPTIONS=--experimental-vm-modules`
  return `, and importing it has failed: ${String(message)}. If it is not installed: npm install ${name}`
}

/** The reason why a manager removed a task that had not ended. */
export type RemovalCode = 'TASK_EXPIRED' | 'MANAGER_DESTROYED'

/** The reason why work on a task is no longer needed. */
export type EndReason = RemovalCode | 'TASK_CANCELED' | 'TASK_TIMED_OUT'

const END_TEXTS = {
  TASK_CANCELED: 'was canceled',
  TASK_TIMED_OUT: 'timed out',
  TASK_EXPIRED: 'expired',
  MANAGER_DESTROYED: 'is gone: its manager was destroyed',
} as const satisfies Record<EndReason, string>

/** Whether the signal of a task aborts with this reason because the task has ended. */
export function isTaskEnd(reason: unknown): boolean {
  return A2AError.is(reason) && /^TASK_(CANCELED|TIMED_OUT|EXPIRED|TERMINAL)$/.test(reason.code)
}

/** The reason of a task's signal, and the error of its waiters and subscribers. */
export function endError<C extends EndReason>(code: C, taskId: string): A2AError<C> {
  return new A2AError<C>(code, `Task ${taskId} ${END_TEXTS[code]}`, { taskId })
}
