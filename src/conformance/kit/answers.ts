/** Results and errors in the answers of each binding and version, in one form. */

import type { Answer, StreamAnswer } from './http.js'
import { describeAnswer, ensure } from './mismatch.js'
import type { WireBody, WireError, WireErrorInfo } from './wire.js'

/** What an operation says: its result, or its error. */
export interface Outcome {
  readonly result?: WireBody | null | undefined
  readonly error?: WireError | null | undefined
}

/** An answer, and what the operation says in it. */
export type Called = Answer & Outcome
export type CalledStream = StreamAnswer & Outcome

/** The binding and the version of an interface. */
interface Spoken {
  readonly isJsonRpc: boolean
  readonly isModern: boolean
}

interface KnownError {
  readonly code: number
  /** The first is that of 1.0.1. */
  readonly statuses: readonly [number, ...number[]]
  readonly grpc?: readonly string[]
}

/** Errors by their names (1.0 §5.4, §9.5). HTTP statuses that A2A 1.0.0 names beside those of 1.0.1 count as right. */
export const ERRORS = {
  TASK_NOT_FOUND: { code: -32001, statuses: [404], grpc: ['NOT_FOUND'] },
  TASK_NOT_CANCELABLE: { code: -32002, statuses: [400, 409], grpc: ['FAILED_PRECONDITION'] },
  PUSH_NOTIFICATION_NOT_SUPPORTED: {
    code: -32003,
    statuses: [400],
    grpc: ['FAILED_PRECONDITION', 'UNIMPLEMENTED'],
  },
  UNSUPPORTED_OPERATION: { code: -32004, statuses: [400], grpc: ['FAILED_PRECONDITION', 'UNIMPLEMENTED'] },
  CONTENT_TYPE_NOT_SUPPORTED: { code: -32005, statuses: [400, 415], grpc: ['INVALID_ARGUMENT'] },
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: { code: -32007, statuses: [400], grpc: ['FAILED_PRECONDITION'] },
  VERSION_NOT_SUPPORTED: { code: -32009, statuses: [400], grpc: ['FAILED_PRECONDITION', 'UNIMPLEMENTED'] },
  PARSE_ERROR: { code: -32700, statuses: [400] },
  INVALID_REQUEST: { code: -32600, statuses: [400] },
  METHOD_NOT_FOUND: { code: -32601, statuses: [404] },
  INVALID_PARAMS: { code: -32602, statuses: [400], grpc: ['INVALID_ARGUMENT'] },
} satisfies Record<string, KnownError>

export type ErrorName = keyof typeof ERRORS
/** Errors of the protocol; the others are those of JSON-RPC and have no prescribed reason. */
const HAS_REASON = (name: ErrorName): boolean => ERRORS[name].code > -32600

/** `result` or `error` of an answer. */
export function resultOf({ isJsonRpc }: Pick<Spoken, 'isJsonRpc'>, { status, json }: Answer): Outcome {
  if (isJsonRpc) return { result: json?.result, error: json?.error }
  if (status >= 200 && status < 300) return { result: json }
  return { error: json?.error ?? json }
}

/** The result, where the operation must succeed. */
export function expectResult(answer: Called, expected = 'a result'): WireBody {
  const { result, error, status } = answer
  const isGood = error === undefined && status >= 200 && status < 300
  ensure(answer, isGood && result != null, expected, describeAnswer(answer))
  return result
}

/** Requires one of the errors `names`, in the form of the binding. */
export function expectError(target: Spoken, answer: Called, ...names: readonly ErrorName[]): WireError {
  const { error } = answer
  ensure(
    answer,
    typeof error === 'object' && error !== null,
    `the error ${names.join(' or ')}`,
    describeAnswer(answer),
  )
  if (target.isJsonRpc) expectRpcError(answer, error, names)
  else if (target.isModern) expectRestError(answer, error, names)
  else expectLegacyRestError(answer, error, names)
  return error
}

function expectRpcError(answer: Called, error: WireError, names: readonly ErrorName[]): void {
  const { status } = answer
  const isNamed = names.some((name) => ERRORS[name].code === error.code)
  ensure(answer, isNamed, `code ${codesOf(names)}`, describeAnswer(answer))
  ensure(answer, typeof error.message === 'string', 'a message in the error', error)
  ensure(answer, status === 200, 'HTTP status 200 for an error of JSON-RPC', `HTTP ${status} ${answer.text}`)
}

/** A `google.rpc.Status` below `error` (§11.6). */
function expectRestError(answer: Called, error: WireError, names: readonly ErrorName[]): void {
  const { status } = answer
  const matches = names.some((name) => {
    const { statuses, grpc }: KnownError = ERRORS[name]
    const isNamed = !HAS_REASON(name) || reasonOf(error) === name
    return isNamed && statuses.includes(status) && (grpc === undefined || grpc.includes(String(error.status)))
  })
  const expected = names.map(
    (name) => `HTTP ${ERRORS[name].statuses[0]}${HAS_REASON(name) ? ` with the reason ${name}` : ''}`,
  )
  ensure(answer, matches, expected.join(' or '), describeAnswer(answer))
  ensure(answer, error.code === status, `error.code ${status}`, error)
  ensure(answer, typeof error.message === 'string', 'a message in the error', error)
}

/** 0.3 leaves the body open. SDKs need a status of an error, and a message. */
function expectLegacyRestError(answer: Called, error: WireError, names: readonly ErrorName[]): void {
  const isNotFound = names.length === 1 && names[0] === 'TASK_NOT_FOUND'
  const isRight = isNotFound
    ? answer.status === 404
    : answer.status >= 400 && answer.status < 600 && answer.status !== 500
  ensure(
    answer,
    isRight,
    isNotFound ? 'HTTP 404' : 'an HTTP status of an error, not 500',
    describeAnswer(answer),
  )
  ensure(answer, typeof error.message === 'string', 'a message in the error', describeAnswer(answer))
}

/** The reason in the `ErrorInfo` of an error. */
export function reasonOf({ details, data }: WireError): string | undefined {
  const infos: readonly (WireErrorInfo | null)[] = Array.isArray(details)
    ? details
    : Array.isArray(data)
      ? data
      : []
  return infos.find((info) => info?.['@type'] === 'type.googleapis.com/google.rpc.ErrorInfo')?.reason
}

function codesOf(names: readonly ErrorName[]): string {
  return names.map((name) => `${ERRORS[name].code} (${name})`).join(' or ')
}
