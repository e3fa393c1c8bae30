/**
 * Messages of MCP, and its two generations: with the version and the capabilities in each request (2026-07-28), and with a
 * session that `initialize` begins (2025-11-25 and before).
 *
 * @module
 */
import { randomId } from '../runtime/ids.js'
import { toStandardBase64 } from '../runtime/base64.js'
import { toBase64Url } from '../runtime/base64url.js'
import { isRecord, recordOf, type Unread } from '../runtime/unread.js'
import type { HttpRequest } from '../server/binding/exchange.js'
import { LAST_EVENT, positionIn, type Position } from './positions.js'
import { Refusal } from './refusal.js'
import { isId, type RequestId } from './request-id.js'

/** Versions in which each request stands for itself. */
export const STATELESS_VERSIONS = ['2026-07-28']
/** Versions with sessions, the latest first. */
export const SESSION_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26']

/** The extension for tasks. */
export const TASKS = 'io.modelcontextprotocol/tasks'

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'
const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'
/** The most characters of what an error repeats. */
const MAX_SHOWN = 100

/** What the client can do for the server. */
export interface Capabilities {
  /** It asks its user by a form. */
  readonly form: boolean
  /** It sends its user to an address. */
  readonly url: boolean
  /** It follows tasks. */
  readonly tasks: boolean
}

/** A request of MCP. */
export interface Call {
  readonly id: RequestId
  readonly method: string
  readonly params: Unread
  /** Whether it is of a version in which each request stands for itself. */
  readonly isStateless: boolean
  readonly capabilities: Capabilities
  /** Present where the client wants to hear of progress. */
  readonly progressToken?: RequestId
  readonly session?: string
  /** Whether a client with a session wants the call as a task (2025-11-25). */
  readonly isTask: boolean
  /** The task whose result a client with a session waits for. */
  readonly relatedTask?: string
  /** Whether the client can ask for the rest of a stream that has broken (2025-11-25). */
  readonly isResumable: boolean
  /** From where it asks for the rest. */
  readonly position?: Position
}

/** A message of the client. */
export type Incoming =
  | { readonly type: 'call'; readonly call: Call }
  | {
      readonly type: 'notification'
      readonly method: string
      readonly params: Unread
      readonly session: string | undefined
    }
  /** The answer to a request of the server. */
  | { readonly type: 'response'; readonly id: RequestId; readonly result: Unread | undefined }

/** @throws {Refusal} for anything but one message of JSON-RPC 2.0, with all that its version of MCP asks for. */
export function readIncoming(json: unknown, request: HttpRequest): Incoming {
  if (!isRecord(json) || json['jsonrpc'] !== '2.0')
    throw new Refusal('request', 'The body must be one message of JSON-RPC 2.0', { status: 400 })
  const { id, method } = json
  if ('id' in json && !isId(id))
    throw new Refusal('request', 'The id must be a text or a whole number', { status: 400 })
  if (typeof method !== 'string') {
    if (!isId(id)) throw new Refusal('request', 'The message has no method', { status: 400 })
    return { type: 'response', id, result: recordOf(json['result']) }
  }
  const params = recordOf(json['params'] ?? {})
  if (params === undefined) throw new Refusal('params', 'params must be an object', { status: 400 })
  if (isId(id)) return { type: 'call', call: readCall({ id, method, params }, request) }
  return { type: 'notification', method, params, session: request.header('mcp-session-id') ?? undefined }
}

function readCall(message: Message, request: HttpRequest): Call {
  const meta = recordOf(message.params['_meta']) ?? {}
  const { progressToken } = meta
  const base = { ...message, ...(isId(progressToken) && { progressToken }) }
  const version = request.header('mcp-protocol-version')
  if (VERSION_KEY in meta || STATELESS_VERSIONS.includes(version ?? ''))
    return {
      ...{ ...base, isStateless: true, isTask: false, isResumable: false },
      capabilities: declaredIn(message, meta, request),
    }
  if (message.method !== 'initialize') requireSessionVersion(version)
  return {
    ...{ ...base, ...sessionOf(request), isTask: isRecord(message.params['task']) },
    // Clients of earlier versions cannot read the event with which such a stream begins.
    isResumable: version === SESSION_VERSIONS[0],
  }
}

/** What the session of a request tells. */
function sessionOf(request: HttpRequest): Pick<Call, 'isStateless' | 'capabilities' | 'session'> {
  const session = request.header('mcp-session-id') ?? undefined
  return {
    isStateless: false,
    capabilities: capabilitiesOf(session),
    ...(session !== undefined && { session }),
  }
}

/**
 * The call for the rest of whose stream a client asks; `undefined` for any other request.
 *
 * @throws {Refusal} for a position that is none.
 */
export function resumedCall(request: HttpRequest): Call | undefined {
  const eventId = request.header('last-event-id') ?? LAST_EVENT
  const version = request.header('mcp-protocol-version') ?? ''
  if (request.method !== 'GET' || eventId === LAST_EVENT || STATELESS_VERSIONS.includes(version))
    return undefined
  const position = positionIn(eventId)
  const { id, progressToken, taskId, isRelated } = position
  return {
    ...{
      id,
      method: 'tools/call',
      params: {},
      position,
      ...sessionOf(request),
      isTask: false,
      isResumable: true,
    },
    ...(progressToken !== undefined && { progressToken }),
    ...(isRelated && { relatedTask: taskId }),
  }
}

/** The id of the task that a request is about. @throws {Refusal} */
export function taskIdOf({ params: { taskId } }: Call): string {
  if (typeof taskId === 'string' && taskId !== '') return taskId
  throw new Refusal('params', 'taskId must be the id of a task')
}

/** The id of the request that an error is about. */
export function idIn(json: unknown): RequestId | undefined {
  const { id } = recordOf(json) ?? {}
  return isId(id) ? id : undefined
}

/** What a request of the generation without sessions declares. Checks all that it must have. */
function declaredIn({ method, params }: Message, meta: Unread, request: HttpRequest): Capabilities {
  const { [VERSION_KEY]: version, [CAPABILITIES_KEY]: declared } = meta
  if (typeof version !== 'string' || !isRecord(declared))
    throw new Refusal('params', `_meta must have "${VERSION_KEY}" and "${CAPABILITIES_KEY}"`, { status: 400 })
  requireHeader(request, 'mcp-protocol-version', version)
  if (!STATELESS_VERSIONS.includes(version)) throw unsupportedVersion(version)
  requireHeader(request, 'mcp-method', method)
  const named = method.startsWith('tasks/') ? params['taskId'] : params['name']
  if ((method === 'tools/call' || method.startsWith('tasks/')) && typeof named === 'string')
    requireHeader(request, 'mcp-name', named)
  const { form, url } = elicitationOf(declared)
  return { form, url, tasks: TASKS in (recordOf(declared['extensions']) ?? {}) }
}

type Message = Pick<Call, 'id' | 'method' | 'params'>

/** @throws {Refusal} where the header does not say what the body says. */
function requireHeader(request: HttpRequest, name: string, value: string): void {
  const header = request.header(name)
  if (header === value || header === encoded(value)) return
  const shown = header === null ? 'is missing' : `does not match the body: ${header.slice(0, MAX_SHOWN)}`
  throw new Refusal('header', `Header mismatch: ${name} ${shown}`, { status: 400 })
}

/** As a header has what is not plain ASCII. */
function encoded(value: string): string {
  return `=?base64?${toStandardBase64(toBase64Url(new TextEncoder().encode(value)))}?=`
}

function requireSessionVersion(version: string | null): void {
  if (version === null || SESSION_VERSIONS.includes(version)) return
  throw unsupportedVersion(version)
}

function unsupportedVersion(requested: string): Refusal {
  return new Refusal('version', 'Unsupported protocol version', {
    status: 400,
    data: {
      supported: [...STATELESS_VERSIONS, ...SESSION_VERSIONS],
      requested: requested.slice(0, MAX_SHOWN),
    },
  })
}

function elicitationOf(declared: Unread): Pick<Capabilities, 'form' | 'url'> {
  const modes = recordOf(declared['elicitation'])
  if (modes === undefined) return { form: false, url: false }
  // Without any mode it is that of forms.
  return { form: 'form' in modes || !('url' in modes), url: 'url' in modes }
}

/**
 * The id of a session. It has the capabilities that the client has declared, so that every process knows them. It is no
 * secret and no credential: each request is authenticated by its own.
 */
export function sessionFor(declared: Unread): string {
  const { form, url } = elicitationOf(declared)
  return `${randomId()}.${form ? 'f' : ''}${url ? 'u' : ''}`
}

function capabilitiesOf(session: string | undefined): Capabilities {
  const [, flags = ''] = /^[\w-]{36}\.(f?u?)$/.exec(session ?? '') ?? []
  return { form: flags.includes('f'), url: flags.includes('u'), tasks: false }
}
