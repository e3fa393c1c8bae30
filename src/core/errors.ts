/**
 * The error class of the library, and the data of each of its codes.
 *
 * @module
 */

/** Nothing is told beside the code. */
type NoData = Readonly<Record<string, never>>

/** What `error.data` holds, by `error.code`. Adding an error is adding a row here. */
export interface ErrorData {
  /** A parameter is missing, has the wrong type, or is not JSON; `path` says which, `reason` what is wrong. */
  INVALID_PARAMS: { path: string; reason: string }
  /** A value is larger, deeper or more numerous than the option `limit` allows. */
  LIMIT_EXCEEDED: { limit: string; max: number; actual: number }
  /** The manager holds `maxTasks` tasks and may drop none of them. */
  TASK_LIMIT_REACHED: { maxTasks: number }
  /** No task has this id: it never existed, expired, or was evicted. */
  TASK_NOT_FOUND: { taskId: string }
  /** The lifecycle has no step between these two states. */
  INVALID_TRANSITION: { taskId: string; from: string; to: string }
  /** The task has ended: nothing about it changes any more. */
  TASK_TERMINAL: { taskId: string; state: string }
  /** The task has ended and can no longer be canceled (A2A 1.0 §3.3.2 TaskNotCancelableError). */
  TASK_NOT_CANCELABLE: { taskId: string; state: string }
  /** Somebody changed the task since the caller read it. */
  TASK_GENERATION_MISMATCH: { taskId: string; expectedGeneration: number; generation: number }
  /** The task was canceled: the reason of its signal. */
  TASK_CANCELED: { taskId: string }
  /** The task outlived `taskTimeoutMs`: the reason of its signal. */
  TASK_TIMED_OUT: { taskId: string }
  /** The task outlived `expiryMs` and was removed. */
  TASK_EXPIRED: { taskId: string }
  /** `destroy()` was called. */
  MANAGER_DESTROYED: { taskId: string }
  /** `waitFor` ran out of its own `timeoutMs`; the task goes on. */
  WAIT_TIMED_OUT: { taskId: string; timeoutMs: number }
  /** The signal given to `waitFor` was aborted; the task goes on. `cause` is the signal's reason. */
  WAIT_ABORTED: { taskId: string }
  /** The store failed, or could not be reached; whether the change was made is unknown. `cause` is what its driver threw. */
  STORE_FAILED: { operation: string }
  /** Another process works on the task now, or may: the reason of its signal in the one that did. */
  LEASE_LOST: { taskId: string }

  /** The text is not JSON (JSON-RPC −32700). */
  PARSE_ERROR: { reason: string }
  /** It is JSON, but no request (JSON-RPC −32600). */
  INVALID_REQUEST: { reason: string }
  /** The method or path does not exist in the version that is spoken (JSON-RPC −32601). */
  METHOD_NOT_FOUND: { method: string }
  /** The agent does not do this, or not with a task in this state (A2A 1.0 §3.3.2 UnsupportedOperationError). */
  UNSUPPORTED_OPERATION: { operation: string }
  /** A media type that is not taken (A2A 1.0 §3.3.2 ContentTypeNotSupportedError). */
  CONTENT_TYPE_NOT_SUPPORTED: { mediaType: string }
  /** The agent sends no push notifications (A2A 1.0 §3.3.2). */
  PUSH_NOTIFICATION_NOT_SUPPORTED: NoData
  /** What the agent made does not conform to the protocol (A2A 1.0 §3.3.2). */
  INVALID_AGENT_RESPONSE: { reason: string }
  /** The card declares an extended card, and there is none (A2A 1.0 §3.3.2). */
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: NoData
  /** The agent requires an extension that the client did not declare (A2A 1.0 §3.3.2). */
  EXTENSION_SUPPORT_REQUIRED: { extensions: readonly string[] }
  /** The agent does not speak the version that is asked for (A2A 1.0 §3.3.2). */
  VERSION_NOT_SUPPORTED: { version: string; supported: readonly string[] }
  /** Who asks did not say who he is, or it was not believed. */
  UNAUTHENTICATED: NoData
  /** Who asks may not do this. */
  PERMISSION_DENIED: NoData
  /** Something other than a task is needed, and is not there; `resource` says what. */
  NOT_FOUND: { resource: string }
  /** The agent is closing down, or has too much to do; try again later. */
  UNAVAILABLE: { reason: string; retryAfterMs?: number }
  /** Something went wrong inside; what it was stays inside. */
  INTERNAL: NoData

  /** Another agent, or what stands between, cannot be reached, or answers with no more than an HTTP status. */
  EXTERNAL_SERVICE_ERROR: { service: string; url: string; status?: number }
  /** What another agent tells of itself lacks what it must tell. */
  VALIDATION_ERROR: { detail: string }
  /** Another agent did not answer within `timeoutMs`. */
  REQUEST_TIMED_OUT: { timeoutMs: number }
  /** The signal given with a request was aborted. `cause` is its reason. */
  REQUEST_ABORTED: NoData
  /** The URL guard lets no request go there. */
  URL_BLOCKED: { url: string; reason: string }
  /** No signature of a card is valid (A2A 1.0 §8.4.3); `reason` says of each what is wrong. */
  SIGNATURE_INVALID: { reason: string }

  /** The gateway has no agent of this id. */
  AGENT_NOT_FOUND: { agentId: string }
  /** The agent takes no task now: it is not online, has too much to do, or its service fails. */
  AGENT_BUSY: { agentId: string; reason: string; retryable: true; retryAfterMs: number }
  /** No agent that is online can do all of this. */
  CAPABILITY_MISMATCH: { capabilities: readonly string[] }
  /** Too many tasks in too little time. */
  RATE_LIMITED: { retryable: true; retryAfterMs: number }
  /** The service behind an agent failed, or answered what it should not; `reason` is its own word, bounded. */
  PROVIDER_ERROR: {
    provider: string
    agentId: string
    reason: string
    status?: number
    retryable: boolean
    retryAfterMs?: number
  }
  /** A configuration that cannot be used. `line` and `column` count from 1; `key` is the path of what is wrong. */
  CONFIGURATION_ERROR: { file: string; line: number; column: number; key: string }
}

export type ErrorCode = keyof ErrorData

/** Every error of the library as a union, so that `switch (error.code)` narrows `error.data`. */
export type AnyA2AError = { [C in ErrorCode]: A2AError<C> }[ErrorCode]

const BRAND: unique symbol = Symbol.for('a2a-tasks.error')

/**
 * An error with a `code` to switch on and `data` typed by that code.
 *
 * Recognise it by {@link A2AError.is}, which also works when an application holds two copies of the library (one
 * loaded by `import`, one by `require`), where `instanceof` does not.
 */
export class A2AError<C extends ErrorCode = ErrorCode> extends Error {
  readonly code: C
  readonly data: Readonly<ErrorData[C]>
  readonly [BRAND] = true

  constructor(code: C, message: string, data: ErrorData[C], options?: { cause?: unknown }) {
    super(message, options)
    this.code = code
    this.data = data
    Object.defineProperty(this, 'name', { value: nameOf(code), configurable: true, writable: true })
  }

  /** Whether `value` is an error of this library, and of the given `code` where one is given. */
  static is(value: unknown): value is AnyA2AError
  static is<C extends ErrorCode>(value: unknown, code: C): value is A2AError<C>
  static is(value: unknown, code?: ErrorCode): boolean {
    if (typeof value !== 'object' || value === null || !(BRAND in value)) return false
    // As a callback of `filter` it gets an index here.
    return typeof code !== 'string' || ('code' in value && value.code === code)
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

/** Reads as "`path` `reason`": `input.when must be JSON, got a Date`. */
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

/** What an agent answered is not what the protocol says that it answers. */
export function invalidAnswer(reason: string, cause?: unknown): A2AError<'INVALID_AGENT_RESPONSE'> {
  return new A2AError(
    'INVALID_AGENT_RESPONSE',
    `The agent's answer is not A2A: ${reason}`,
    { reason },
    cause === undefined ? undefined : { cause },
  )
}

/** Why a task that has not ended is gone from the manager. */
export type RemovalCode = 'TASK_EXPIRED' | 'MANAGER_DESTROYED'

/** Why nobody need work on a task any more. */
export type EndReason = RemovalCode | 'TASK_CANCELED' | 'TASK_TIMED_OUT'

const END_TEXTS = {
  TASK_CANCELED: 'was canceled',
  TASK_TIMED_OUT: 'timed out',
  TASK_EXPIRED: 'expired',
  MANAGER_DESTROYED: 'is gone: its manager was destroyed',
} as const satisfies Record<EndReason, string>

/** The reason of a task's signal, and what its waiters and subscribers are rejected with. */
export function endError<C extends EndReason>(code: C, taskId: string): A2AError<C> {
  return new A2AError<C>(code, `Task ${taskId} ${END_TEXTS[code]}`, { taskId })
}
