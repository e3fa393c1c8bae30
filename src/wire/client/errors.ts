/**
 * The errors of other agents as ours.
 *
 * @module
 */
import { A2AError, type ErrorCode, type ErrorData } from '../../core/errors.js'

/** What the request was about: it completes what the answer leaves out. */
export interface RemoteErrorContext {
  /** The HTTP status of the answer. */
  readonly status?: number | undefined
  readonly operation: string
  readonly taskId?: string | undefined
}

/** What says so itself, whoever says it: that nothing was done. */
const REFUSALS: Readonly<Record<number, ErrorCode>> = {
  400: 'INVALID_PARAMS',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
}

/** What an internal error of the protocol may be, by the HTTP status. */
const STATUSES: Readonly<Record<number, ErrorCode>> = { ...REFUSALS, 429: 'UNAVAILABLE', 503: 'UNAVAILABLE' }

const MAX_TEXT = 1_000

/**
 * The error that an agent answered, in either binding of any version: `{code, message, data}`, or that in `{error}`.
 * What it is stands in the reason of its `ErrorInfo`, in its code, or in the HTTP status. `undefined`: it is no error
 * of the protocol. `cause` is the answer.
 */
export function decodeError(json: unknown, context: RemoteErrorContext): A2AError | undefined {
  const error = objectOf(objectOf(json)?.['error']) ?? objectOf(json)
  const { code, message, data, details = data } = error ?? {}
  if (error === undefined || (typeof code !== 'number' && typeof code !== 'string')) return undefined
  const infos = Array.isArray(details) ? details.map(objectOf) : []
  const info = infos.find((each) => isType(each, 'ErrorInfo'))
  const { status = NaN } = context
  const number = Number(code)
  const known = codeOfReason(info?.['reason']) ?? codeOfNumber(number) ?? REFUSALS[context.status ?? number]
  // A gateway has codes of its own, and may have lost the agent in the middle.
  if (known === undefined) return undefined
  // An internal error says less than the HTTP status.
  const found = (known === 'INTERNAL' ? STATUSES[status] : undefined) ?? known
  const text = typeof message === 'string' ? plain(message) : ''
  const violation = violationOf(infos.find((each) => isType(each, 'BadRequest')))
  const told = dataOf(found, { ...textsOf(info?.['metadata']), ...violation }, text, context)
  return new A2AError(found, text || `The agent answered with error ${plain(String(code))}`, told, {
    cause: error,
  })
}

function codeOfReason(reason: unknown): ErrorCode | undefined {
  if (reason === 'INTERNAL_ERROR') return 'INTERNAL'
  return KNOWN.find((code) => code === reason)
}

function codeOfNumber(number: number): ErrorCode | undefined {
  // Those of JSON-RPC are negative.
  return KNOWN.find((code) => SHAPES[code]?.[0] === number) ?? (number < 0 ? 'INTERNAL' : undefined)
}

type Texts = Readonly<Record<string, string>>

/**
 * The errors that cross the wire: the JSON-RPC code of those that have one of their own (A2A 1.0 §5.4, §9.5), and what
 * their data is made of: texts, as they are; `#` for numbers, `[]` for lists of texts, `!` for what is always true.
 */
const SHAPES: { readonly [C in ErrorCode]?: readonly [number: number, ...data: string[]] } = {
  PARSE_ERROR: [-32700, 'reason'],
  INVALID_REQUEST: [-32600, 'reason'],
  METHOD_NOT_FOUND: [-32601, 'method'],
  INVALID_PARAMS: [-32602, 'path', 'reason'],
  LIMIT_EXCEEDED: [NaN, 'limit', 'max#', 'actual#'],
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

/** `error.data` of an error that came over the wire: what the agent tells, then what the request was about. */
function dataOf(
  code: ErrorCode,
  told: Texts,
  text: string,
  context: RemoteErrorContext,
): ErrorData[ErrorCode] {
  const { operation, taskId = '' } = context
  const known: Texts = { taskId, operation, method: operation, reason: text, path: 'params', ...told }
  const [, ...shapes] = SHAPES[code] ?? [NaN]
  const entries = shapes.map((shape) => {
    const key = shape.replace(/\W+$/, '')
    const value = known[key] ?? ''
    if (shape.endsWith('#')) return [key, Number(value || NaN)]
    if (shape.endsWith('!')) return [key, true]
    return [key, shape.endsWith('[]') ? value.split(',').filter(Boolean) : value]
  })
  // Each row above has the properties of its code.
  return Object.fromEntries(entries) as ErrorData[ErrorCode]
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  // What is neither null nor an array has texts for keys.
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

function isType(detail: Record<string, unknown> | undefined, type: string): boolean {
  const given = detail?.['@type']
  return typeof given === 'string' && given.endsWith(`google.rpc.${type}`)
}

/** Not too long, and on one line: it goes to logs and terminals, which obey what is no text. */
function plain(text: string): string {
  return text.slice(0, MAX_TEXT).replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
}

function textsOf(metadata: unknown): Texts {
  const entries = Object.entries(objectOf(metadata) ?? {})
  return Object.fromEntries(
    entries.map(([key, value]) => [key, plain(typeof value === 'string' ? value : JSON.stringify(value))]),
  )
}

function violationOf(detail: Record<string, unknown> | undefined): Texts {
  const violations = detail?.['fieldViolations']
  const { field: path, description: reason } = objectOf(Array.isArray(violations) && violations[0]) ?? {}
  return {
    ...(typeof path === 'string' && { path: plain(path) }),
    ...(typeof reason === 'string' && { reason: plain(reason) }),
  }
}
