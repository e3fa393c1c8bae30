/**
 * Decoding of other agents' errors into `A2AError`.
 *
 * @module
 */
import { A2AError, type ErrorCode, type ErrorData } from '../../core/errors.js'
import { recordOf, type Unread } from '../../runtime/unread.js'

/** Facts about the request. They complete what the error leaves out. */
export interface RemoteErrorContext {
  /** The HTTP status of the response. */
  readonly status?: number | undefined
  readonly operation: string
  readonly taskId?: string | undefined
}

/** HTTP statuses that mean a refusal even without a code of the protocol. */
const REFUSALS: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_PARAMS',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
}

/** More specific codes for an internal error of the protocol, by HTTP status. */
const STATUSES: Readonly<Record<number, ErrorCode>> = { ...REFUSALS, 429: 'UNAVAILABLE', 503: 'UNAVAILABLE' }

const MAX_TEXT = 1_000

/**
 * Decodes an agent's error in either binding of any version: `{code, message, data}`, or the same in `{error}`. The
 * code is determined by the reason of its `ErrorInfo`, then by its code, then by the HTTP status. Returns `undefined`
 * if the JSON is not an error of the protocol. `cause` is the response.
 */
export function decodeError(json: unknown, context: RemoteErrorContext): A2AError | undefined {
  const error = recordOf(recordOf(json)?.['error']) ?? recordOf(json)
  const { code, message, data, details = data } = error ?? {}
  if (error === undefined || (typeof code !== 'number' && typeof code !== 'string')) return undefined
  const infos = Array.isArray(details) ? details.map(recordOf) : []
  const info = infos.find((each) => isType(each, 'ErrorInfo'))
  const found = codeOf(info?.['reason'], Number(code), context.status)
  if (found === undefined) return undefined
  const text = typeof message === 'string' ? plain(message) : ''
  const violation = violationOf(infos.find((each) => isType(each, 'BadRequest')))
  const errorData = dataOf(found, { ...textsOf(info?.['metadata']), ...violation }, text, context)
  return new A2AError(found, text || `The agent answered with error ${plain(String(code))}`, errorData, {
    cause: error,
  })
}

/**
 * The text of an error that is not one of the protocol: servers of A2A 0.3 send `{message}`, gateways of HTTP `{detail}`.
 * Empty if there is none.
 */
export function textOfError(json: unknown): string {
  const error = recordOf(json)
  const { message, detail = message } = recordOf(error?.['error']) ?? error ?? {}
  return typeof detail === 'string' ? plain(detail) : ''
}

/** `undefined` for the error of an intermediate gateway, which may have lost the agent during the request. */
function codeOf(reason: unknown, number: number, status: number | undefined): ErrorCode | undefined {
  const known = codeOfReason(reason) ?? codeOfNumber(number) ?? REFUSALS[status ?? number]
  // The HTTP status is more specific than an internal error.
  return (known === 'INTERNAL' ? STATUSES[status ?? NaN] : undefined) ?? known
}

function codeOfReason(reason: unknown): ErrorCode | undefined {
  if (reason === 'INTERNAL_ERROR') return 'INTERNAL'
  return KNOWN.find((code) => code === reason)
}

function codeOfNumber(number: number): ErrorCode | undefined {
  // JSON-RPC codes are negative.
  return KNOWN.find((code) => SHAPES[code]?.[0] === number) ?? (number < 0 ? 'INTERNAL' : undefined)
}

type Texts = Readonly<Record<string, string>>

/**
 * Errors that cross the wire: the JSON-RPC code, if the error has one of its own (A2A 1.0 §5.4, §9.5), and the
 * properties of its data. Properties are texts by default; `#` marks numbers, `[]` lists of texts, `!` constants that
 * are true. `?` marks those that may be absent.
 */
const SHAPES: { readonly [C in ErrorCode]?: readonly [number: number, ...data: string[]] } = {
  PARSE_ERROR: [-32700, 'reason'],
  INVALID_REQUEST: [-32600, 'reason'],
  METHOD_NOT_FOUND: [-32601, 'method'],
  INVALID_PARAMS: [-32602, 'path', 'reason'],
  LIMIT_EXCEEDED: [NaN, 'limit', 'max#', 'actual#'],
  BUDGET_EXCEEDED: [NaN, 'taskId?', 'limit', 'unit', 'max#', 'spent#', 'retryAfterMs#?'],
  TASK_LIMIT_REACHED: [NaN, 'maxTasks#'],
  TASK_NOT_FOUND: [-32001, 'taskId'],
  TASK_NOT_CANCELABLE: [-32002, 'taskId', 'state'],
  TASK_GENERATION_MISMATCH: [-32010, 'taskId', 'expectedGeneration#', 'generation#'],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32003],
  UNSUPPORTED_OPERATION: [-32004, 'operation'],
  CONTENT_TYPE_NOT_SUPPORTED: [-32005, 'mediaType'],
  INVALID_AGENT_RESPONSE: [-32006, 'reason'],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: [-32007],
  EXTENSION_SUPPORT_REQUIRED: [-32008, 'extensions[]'],
  VERSION_NOT_SUPPORTED: [-32009, 'version', 'supported[]'],
  UNAUTHENTICATED: [NaN],
  PERMISSION_DENIED: [NaN],
  NOT_FOUND: [NaN, 'resource'],
  UNAVAILABLE: [NaN, 'reason'],
  AGENT_NOT_FOUND: [NaN, 'agentId'],
  AGENT_BUSY: [NaN, 'agentId', 'reason', 'retryable!', 'retryAfterMs#'],
  CAPABILITY_MISMATCH: [NaN, 'capabilities[]'],
  RATE_LIMITED: [NaN, 'retryable!', 'retryAfterMs#'],
  INTERNAL: [-32603],
}

// The keys of the table are codes.
const KNOWN = Object.keys(SHAPES) as ErrorCode[]

/** `error.data` of an error that came over the wire: the agent's metadata, then facts about the request. */
function dataOf(
  code: ErrorCode,
  metadata: Texts,
  text: string,
  context: RemoteErrorContext,
): ErrorData[ErrorCode] {
  const { operation, taskId = '' } = context
  const known: Texts = { taskId, operation, method: operation, reason: text, path: 'params', ...metadata }
  const [, ...shapes] = SHAPES[code] ?? [NaN]
  const present = shapes.filter((shape) => !shape.endsWith('?') || nameOf(shape) in metadata)
  const entries = present.map((shape) => {
    const key = nameOf(shape)
    const value = known[key] ?? ''
    if (shape.includes('#')) return [key, Number(value || NaN)]
    if (shape.endsWith('!')) return [key, true]
    return [key, shape.endsWith('[]') ? value.split(',').filter(Boolean) : value]
  })
  // Each row of the table has the properties of its code.
  return Object.fromEntries(entries) as ErrorData[ErrorCode]
}

function nameOf(shape: string): string {
  return shape.replace(/\W+$/, '')
}

function isType(detail: Unread | undefined, type: string): boolean {
  const given = detail?.['@type']
  return typeof given === 'string' && given.endsWith(`google.rpc.${type}`)
}

/** Clipped and on one line: the text goes to logs and terminals, which interpret control characters. */
function plain(text: string): string {
  return text.slice(0, MAX_TEXT).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}

function textsOf(metadata: unknown): Texts {
  const entries = Object.entries(recordOf(metadata) ?? {})
  return Object.fromEntries(
    entries.map(([key, value]) => [key, plain(typeof value === 'string' ? value : JSON.stringify(value))]),
  )
}

function violationOf(detail: Unread | undefined): Texts {
  const violations = detail?.['fieldViolations']
  const { field: path, description: reason } = recordOf(Array.isArray(violations) && violations[0]) ?? {}
  return {
    ...(typeof path === 'string' && { path: plain(path) }),
    ...(typeof reason === 'string' && { reason: plain(reason) }),
  }
}
