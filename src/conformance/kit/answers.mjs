/** Results and errors in the answers of each binding and version, in one form. */

import { describeAnswer, ensure } from './mismatch.mjs'

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
}
/** Errors of the protocol; the others are those of JSON-RPC and have no prescribed reason. */
const HAS_REASON = (name) => ERRORS[name].code > -32600

/** `result` or `error` of an answer. */
export function resultOf({ isJsonRpc }, { status, json }) {
  if (isJsonRpc) return { result: json?.result, error: json?.error }
  if (status >= 200 && status < 300) return { result: json }
  return { error: json?.error ?? json }
}

/** The result, where the operation must succeed. */
export function expectResult(answer, expected = 'a result') {
  const isGood =
    answer.error === undefined && answer.result !== undefined && answer.status >= 200 && answer.status < 300
  ensure(answer, isGood, expected, describeAnswer(answer))
  return answer.result
}

/** Requires one of the errors `names`, in the form of the binding. */
export function expectError(target, answer, ...names) {
  const isJson = typeof answer.error === 'object' && answer.error !== null
  ensure(answer, isJson, `the error ${names.join(' or ')}`, describeAnswer(answer))
  if (target.isJsonRpc) expectRpcError(answer, names)
  else if (target.isModern) expectRestError(answer, names)
  else expectLegacyRestError(answer, names)
  return answer.error
}

function expectRpcError(answer, names) {
  const { error, status } = answer
  const isNamed = names.some((name) => ERRORS[name].code === error.code)
  ensure(answer, isNamed, `code ${codesOf(names)}`, describeAnswer(answer))
  ensure(answer, typeof error.message === 'string', 'a message in the error', error)
  ensure(answer, status === 200, 'HTTP status 200 for an error of JSON-RPC', `HTTP ${status} ${answer.text}`)
}

/** A `google.rpc.Status` below `error` (§11.6). */
function expectRestError(answer, names) {
  const { error, status } = answer
  const matches = names.some((name) => {
    const { statuses, grpc } = ERRORS[name]
    const isNamed = !HAS_REASON(name) || reasonOf(error) === name
    return isNamed && statuses.includes(status) && (grpc === undefined || grpc.includes(error.status))
  })
  const expected = names.map(
    (name) => `HTTP ${ERRORS[name].statuses[0]}${HAS_REASON(name) ? ` with the reason ${name}` : ''}`,
  )
  ensure(answer, matches, expected.join(' or '), describeAnswer(answer))
  ensure(answer, error.code === status, `error.code ${status}`, error)
  ensure(answer, typeof error.message === 'string', 'a message in the error', error)
}

/** 0.3 leaves the body open. SDKs need a status of an error, and a message. */
function expectLegacyRestError(answer, names) {
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
  ensure(answer, typeof answer.error.message === 'string', 'a message in the error', describeAnswer(answer))
}

/** The reason in the `ErrorInfo` of an error. */
export function reasonOf({ details, data }) {
  const infos = Array.isArray(details) ? details : Array.isArray(data) ? data : []
  return infos.find((info) => info?.['@type'] === 'type.googleapis.com/google.rpc.ErrorInfo')?.reason
}

function codesOf(names) {
  return names.map((name) => `${ERRORS[name].code} (${name})`).join(' or ')
}
