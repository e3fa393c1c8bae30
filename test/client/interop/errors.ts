/** Expected errors by peer. */
import type { ErrorCode } from 'a2a-tasks'
import { PEER_NAMES, type PeerName } from './gaps.js'

/** `none`: the peer makes no error of it. */
type ReportedCode = ErrorCode | 'none'

/** Peers that produce another error, and why. The client reports the peer's error. */
type Others = { readonly [N in PeerName]?: { readonly code: ReportedCode; readonly reason: string } }

interface Expected {
  readonly code: ErrorCode
  readonly but: Others
}

function but(names: readonly PeerName[], code: ReportedCode, reason: string): Others {
  return Object.fromEntries(names.map((name) => [name, { code, reason }]))
}

function all(code: ErrorCode, ...others: readonly Others[]): Expected {
  return { code, but: Object.assign({}, ...others) as Others }
}

const REST = PEER_NAMES.filter((name) => name.endsWith('HTTP+JSON'))
const OWN = PEER_NAMES.filter((name) => name.startsWith('a2a-tasks'))
const OWN_REST = OWN.filter((name) => REST.includes(name))
const OWN_V03 = OWN.filter((name) => name.includes('0.3 over'))
const SDKS = PEER_NAMES.filter((name) => name.startsWith('SDK'))
const LEGACY = SDKS.filter((name) => name.startsWith('SDK 0.3.14'))
const LEGACY_RPC = 'SDK 0.3.14, A2A 0.3 over JSONRPC'
const LEGACY_REST = 'SDK 0.3.14, A2A 0.3 over HTTP+JSON'
const COMPAT_REST = 'SDK 1.3.0, A2A 0.3 over HTTP+JSON'
const MODERN = SDKS.filter((name) => name.endsWith('1.0 over JSONRPC') || name.endsWith('1.0 over HTTP+JSON'))
const MODERN_REST = 'SDK 1.3.0, A2A 1.0 over HTTP+JSON'

const NO_CHECK = 'it does not look at that'
/** It writes the error before a stream begins by a function that takes none. */
const BUG = but([LEGACY_REST], 'INTERNAL', 'it answers "Bug: toJson serializer and body must be provided"')
const OWN_PUSH = but(OWN, 'PUSH_NOTIFICATION_NOT_SUPPORTED', 'our handler sends none')
const NO_METHOD = 'there is no method in a body of HTTP+JSON: it lacks a message'

const ROWS = {
  'getTask of no task': all('TASK_NOT_FOUND'),
  'getTask of an id that must be escaped': all('TASK_NOT_FOUND'),
  'cancelTask of no task': all('TASK_NOT_FOUND'),
  'subscribe to no task': all('TASK_NOT_FOUND', BUG),
  'send to no task': all('TASK_NOT_FOUND'),
  'stream to no task': all('TASK_NOT_FOUND', BUG),
  'push configuration of no task': all('TASK_NOT_FOUND', OWN_PUSH),
  'no such push configuration': all(
    'TASK_NOT_FOUND',
    OWN_PUSH,
    but(LEGACY, 'INTERNAL', 'it takes that for an internal error'),
  ),
  'cancelTask of an ended task': all('TASK_NOT_CANCELABLE'),
  'send to an ended task': all('UNSUPPORTED_OPERATION', but(LEGACY, 'INVALID_REQUEST', 'so it calls that')),
  'stream to an ended task': all(
    'UNSUPPORTED_OPERATION',
    but([LEGACY_RPC], 'INVALID_REQUEST', 'so it calls that'),
    BUG,
  ),
  'subscribe to an ended task': all(
    'UNSUPPORTED_OPERATION',
    but([...LEGACY, ...OWN_V03], 'none', 'agents of 0.3 answer with the task'),
  ),
  'another context than that of the task': all('INVALID_PARAMS', but(LEGACY, 'none', NO_CHECK)),
  'stream where there are none': all('UNSUPPORTED_OPERATION'),
  'subscribe where there are no streams': all('UNSUPPORTED_OPERATION'),
  'push where there is none': all(
    'PUSH_NOTIFICATION_NOT_SUPPORTED',
    but([COMPAT_REST], 'INVALID_PARAMS', 'it reads another body than the SDKs of 0.3'),
  ),
  'an extended card that is not declared': all('UNSUPPORTED_OPERATION'),
  'an extended card that is not configured': all('EXTENDED_AGENT_CARD_NOT_CONFIGURED'),
  'an extended card without credentials': all('UNAUTHENTICATED'),
  'no credentials': all('UNAUTHENTICATED'),
  'an extension that is required': all('EXTENSION_SUPPORT_REQUIRED', but(LEGACY, 'none', NO_CHECK)),
  'a version that is not spoken': all('VERSION_NOT_SUPPORTED', but(LEGACY, 'TASK_NOT_FOUND', NO_CHECK)),
  'a media type that is not taken': all('CONTENT_TYPE_NOT_SUPPORTED', but(LEGACY, 'none', NO_CHECK)),
  'a body that is not declared as JSON': all(
    'CONTENT_TYPE_NOT_SUPPORTED',
    but([COMPAT_REST], 'INVALID_PARAMS', 'it takes it for an empty body'),
    but([LEGACY_RPC], 'PARSE_ERROR', 'it takes it for an empty body'),
    but([LEGACY_REST], 'INTERNAL', 'it reads on in what is undefined'),
  ),
  'a body that is no JSON': all(
    'PARSE_ERROR',
    but([MODERN_REST], 'INVALID_PARAMS', 'HTTP 400 INVALID_ARGUMENT is all it says'),
  ),
  'a body that is no request': all(
    'INVALID_REQUEST',
    but(MODERN, 'INVALID_PARAMS', 'so it calls that'),
    but([COMPAT_REST, LEGACY_REST, ...OWN_REST], 'INVALID_PARAMS', 'it lacks a message'),
  ),
  'a body that is too large': all(
    'LIMIT_EXCEEDED',
    but(SDKS, 'EXTERNAL_SERVICE_ERROR', 'express answers with HTTP 413 and HTML'),
  ),
  'a method that is not there': all('METHOD_NOT_FOUND', but(REST, 'INVALID_PARAMS', NO_METHOD)),
  'an agent that makes nothing': all('INTERNAL', but(OWN, 'none', 'it completes the task')),
  'a stream that breaks the rules': all(
    'UNSUPPORTED_OPERATION',
    but([...LEGACY, ...OWN], 'none', 'it makes something of it'),
  ),
} satisfies Record<string, Expected>

export type Failing = keyof typeof ROWS

export const EXPECTED: { readonly [F in Failing]: Expected } = ROWS
