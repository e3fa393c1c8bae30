/**
 * Verification of push notifications: sender, task and content.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound, type AnyA2AError, type ErrorCode } from '../core/errors.js'
import { type Clock, keepAliveClock } from '../runtime/clock.js'
import { sha256 } from '../runtime/crypto.js'
import { compact } from '../runtime/compact.js'
import { readEvent } from '../wire/client/objects.js'
import { isRecord, type Unread } from '../runtime/unread.js'
import type { RemoteEvent } from '../wire/client/dialect.js'
import { AbortScope } from '../http/abort.js'
import { decode } from '../http/request.js'
import { parseJson, tooLarge } from '../http/json.js'
import { requireFunctions, requireKnown, requirePositive } from '../runtime/options.js'

/** A secret, or a function that returns the secret of a task. `undefined` rejects the notification. */
export type ExpectedSecret = string | ((taskId: string) => string | undefined | Promise<string | undefined>)

interface NotificationChecks {
  /**
   * The `token` of the push configuration, compared with the header `X-A2A-Notification-Token`. `false` skips the check,
   * for senders authenticated otherwise: by mutual TLS, or by a JWT that was verified before.
   */
  readonly token?: ExpectedSecret | false | undefined
  /** The expected header `Authorization`: scheme and credentials of the push configuration, as in `Bearer …`. */
  readonly authorization?: ExpectedSecret | undefined
  /** The id of the expected task. */
  readonly taskId?: string | undefined
  /** Returns whether a task is expected, for webhooks of several tasks. */
  readonly isExpected?: ((taskId: string) => boolean | Promise<boolean>) | undefined
  /** Size limit of the body, in bytes. Default is 4,194,304 (4 MiB). */
  readonly maxBytes?: number | undefined
  /** Time limit for reading the body, in ms. Default is 30,000. */
  readonly timeoutMs?: number | undefined
  /** Measures `timeoutMs`. Default is the platform's clock. */
  readonly clock?: Clock | undefined
}

/**
 * Options of {@link verifyNotification}: `token` or `authorization` (or `token: false`), and `taskId`, `isExpected` or a
 * function that looks up secrets by task.
 */
export type VerifyNotificationOptions = NotificationChecks &
  ({ readonly token: ExpectedSecret | false } | { readonly authorization: ExpectedSecret })

/** A verified notification. */
export interface PushNotification {
  /** The event, as in a stream: a task, a status update, an artifact update, or a message. */
  readonly event: RemoteEvent
  readonly taskId: string
  /**
   * The header `X-A2A-Notification-Id`, which agents of this library send. A repeated delivery has the same id; each
   * change and each push configuration has its own. Agents choose it, so that it is unique only together with `taskId`.
   */
  readonly id?: string
  /** The version of A2A: the header `A2A-Version`, or that of the body's form if the header contradicts it. */
  readonly version: '1.0' | '0.3' | (string & {})
}

/** A rejected notification, with the status of the response. Many frameworks use `statusCode` on their own. */
export class NotificationError extends A2AError {
  /** 400, 401, 404, 405, 408, 413 or 415. */
  readonly statusCode: number

  /** Copies code, message, data and cause of `error`. */
  constructor(error: AnyA2AError) {
    super(
      error.code,
      error.message,
      error.data,
      error.cause === undefined ? undefined : { cause: error.cause },
    )
    this.statusCode = STATUSES[error.code] ?? 400
  }
}

const STATUSES: { readonly [C in ErrorCode]?: number } = {
  UNAUTHENTICATED: 401,
  TASK_NOT_FOUND: 404,
  METHOD_NOT_FOUND: 405,
  REQUEST_TIMED_OUT: 408,
  LIMIT_EXCEEDED: 413,
  CONTENT_TYPE_NOT_SUPPORTED: 415,
}

/**
 * Verifies and reads a push notification of A2A 1.x or 0.3 (A2A 1.0 §4.3.3, §13.2): the sender must know the secrets, and
 * the task must be expected.
 *
 * Each secret given is required. Agents made with the official SDKs send either `token` or `authorization`, so expect the
 * one that you registered. Secrets are compared in constant time, before the body is read unless they depend on the task.
 * No error contains them.
 *
 * Respond with 2xx soon, and make the processing idempotent: agents repeat deliveries that were not acknowledged, and A2A
 * has no protection against replay. A repeated delivery has the same `id`, which ends with the generation of the task in
 * notifications of this library: before you append a chunk of an artifact, skip generations that are not greater than the
 * last one. Without an id, or after an outage, fetch the task from the agent: its state is authoritative.
 *
 * @throws {NotificationError} `UNAUTHENTICATED`; `TASK_NOT_FOUND` for a task that is not expected;
 *   `VERSION_NOT_SUPPORTED` for A2A 0.1; `METHOD_NOT_FOUND`, `CONTENT_TYPE_NOT_SUPPORTED`, `LIMIT_EXCEEDED`,
 *   `REQUEST_TIMED_OUT`, `REQUEST_ABORTED`, `PARSE_ERROR` and `INVALID_PARAMS` for requests that are no notification.
 * @throws {TypeError | RangeError} for invalid options, options that check nothing, a body that has been read, or an
 *   object that is not a fetch `Request`.
 * @throws whatever `isExpected` and functions for secrets throw.
 * @example
 * ```ts
 * async function webhook(request: Request): Promise<Response> {
 *   try {
 *     const { event, taskId, id } = await verifyNotification(request, { token, isExpected: (id) => open.has(id) })
 *     if (id === undefined || !seen.has(`${taskId} ${id}`)) await process(event)
 *     return new Response(null, { status: 204 })
 *   } catch (error) {
 *     return new Response(null, { status: error instanceof NotificationError ? error.statusCode : 500 })
 *   }
 * }
 * ```
 */
export async function verifyNotification(
  request: Request,
  options: VerifyNotificationOptions,
): Promise<PushNotification> {
  const settings = toSettings(options)
  requireRequest(request)
  if (request.bodyUsed) {
    throw new TypeError('verifyNotification() reads the body: pass a request whose body was not read before')
  }
  const notification = await asNotificationError(() => receive(request, settings))
  const { taskId } = notification
  for (const { header, expected } of settings.secrets) {
    if (typeof expected === 'string') continue
    const secret = await expected(taskId)
    await asNotificationError(() => requireSame(header, givenSecret(request, header), secret))
  }
  const isTask = options.taskId === undefined || options.taskId === taskId
  const isExpected = isTask && (options.isExpected === undefined || (await options.isExpected(taskId)))
  if (!isExpected) throw new NotificationError(taskNotFound(taskId))
  return notification
}

/** Requests of Node's servers have `headers` without a `get` method. */
function requireRequest(request: unknown): void {
  // Nothing is known of it, so that both properties are optional.
  const given = request as { readonly headers?: { readonly get?: unknown } } | null | undefined
  if (typeof given?.headers?.get === 'function') return
  throw new TypeError(
    "verifyNotification() takes a Request of fetch, not Node's; in Node use toNodeListener of a2a-tasks/server/node",
  )
}

interface Secret {
  readonly header: string
  readonly expected: ExpectedSecret
}

interface Settings {
  readonly secrets: readonly Secret[]
  readonly maxBytes: number
  readonly timeoutMs: number
  readonly clock: Clock
}

const KEYS = ['token', 'authorization', 'taskId', 'isExpected', 'maxBytes', 'timeoutMs', 'clock']

const TOKEN = 'X-A2A-Notification-Token'
const AUTHORIZATION = 'Authorization'

/** Depth of nested JSON: the client's default. */
const MAX_DEPTH = 100

function toSettings(options: VerifyNotificationOptions): Settings {
  // Callers without type checking may pass anything.
  const given: unknown = options
  if (typeof given !== 'object' || given === null) {
    throw new TypeError('verifyNotification() takes options: { token, taskId }, or { token, isExpected }')
  }
  requireKnown(options, KEYS, 'verifyNotification')
  requireFunctions(options, ['isExpected'])
  const { token, authorization, taskId, isExpected } = options
  const { maxBytes = 4_194_304, timeoutMs = 30_000, clock = keepAliveClock } = options
  const secrets = [
    ...toSecret('token', TOKEN, token === false ? undefined : token),
    ...toSecret('authorization', AUTHORIZATION, authorization),
  ]
  if (secrets.length === 0 && token !== false) {
    throw new TypeError(
      'verifyNotification() needs "token" or "authorization", or "token: false" for neither',
    )
  }
  const isByTask = secrets.some(({ expected }) => typeof expected === 'function')
  if (taskId === undefined && isExpected === undefined && !isByTask) {
    throw new TypeError('verifyNotification() needs "taskId" or "isExpected": which tasks are expected')
  }
  requirePositive('maxBytes', maxBytes)
  requirePositive('timeoutMs', timeoutMs)
  return { secrets, maxBytes, timeoutMs, clock }
}

/** Rejects empty secrets: an environment variable that is not set must not disable the check. */
function toSecret(name: string, header: string, expected: ExpectedSecret | undefined): Secret[] {
  if (expected === undefined) return []
  if (typeof expected === 'function' || (typeof expected === 'string' && expected !== '')) {
    return [{ header, expected }]
  }
  throw new TypeError(`"${name}" must be a text that is not empty, or a function`)
}

/** Turns errors about the notification into {@link NotificationError}. Other errors are not for the sender. */
async function asNotificationError<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw A2AError.is(error) ? new NotificationError(error) : error
  }
}

async function receive(request: Request, settings: Settings): Promise<PushNotification> {
  const { method, headers } = request
  if (method !== 'POST') {
    throw new A2AError('METHOD_NOT_FOUND', `A notification must be a POST, got ${method}`, { method })
  }
  requireMediaType(headers.get('content-type'))
  for (const { header, expected } of settings.secrets) {
    const given = givenSecret(request, header)
    // Functions need the task, which the body names: they are called afterwards.
    if (typeof expected === 'string') await requireSame(header, given, expected)
  }
  const named = versionIn(headers)
  requireReadable(named)
  const json = await readJson(request, settings)
  const notification = isRecord(json) ? json : {}
  const isOld = notification['kind'] != null || isOf0(named)
  const event = readEvent(json, 'notification', isOld)
  const taskId = taskIdOf(event, notification)
  requireSameTask(event, notification, taskId)
  return compact({
    event,
    taskId,
    id: headers.get('x-a2a-notification-id') || undefined,
    // The form of the body decides where the header contradicts it.
    version: named !== '' && isOf0(named) === isOld ? named : isOld ? '0.3' : '1.0',
  })
}

/** The version in the headers, without its patch number (A2A 1.0 §3.6). Empty if there is none. */
function versionIn(headers: Headers): string {
  return /^\d{1,5}\.\d{1,5}/.exec(headers.get('a2a-version') ?? '')?.[0] ?? ''
}

function isOf0(version: string): boolean {
  return version.startsWith('0.')
}

/**
 * Rejects A2A 0.1 by name: errors about its content would be misleading, because it has neither the kinds of 0.3 nor
 * the names of 1.0.
 */
function requireReadable(version: string): void {
  if (version !== '0.1') return
  const supported = ['1.0', '0.3']
  const text = `A2A ${version} is not read here; register the webhook in ${supported.join(' or ')}`
  throw new A2AError('VERSION_NOT_SUPPORTED', text, { version, supported })
}

const MEDIA_TYPES = ['application/a2a+json', 'application/json']

/** Accepts JSON types only: HTML forms of other sites can send the other types without a CORS preflight. */
function requireMediaType(header: string | null): void {
  const mediaType = header?.split(';', 1)[0]?.trim().toLowerCase() || 'none'
  if (MEDIA_TYPES.includes(mediaType)) return
  const shown = mediaType.slice(0, 80)
  throw new A2AError(
    'CONTENT_TYPE_NOT_SUPPORTED',
    `Content-Type must be ${MEDIA_TYPES.join(' or ')}, got ${shown}`,
    { mediaType: shown },
  )
}

function givenSecret({ headers }: Request, header: string): string {
  const given = headers.get(header)
  if (given) return given
  throw new A2AError('UNAUTHENTICATED', `${header} is missing`, {})
}

/** Compares a header with a secret. Without a secret, nothing matches: `given` is never empty. */
async function requireSame(header: string, given: string, expected: unknown): Promise<void> {
  const secret = typeof expected === 'string' ? expected : ''
  if (await equals(withPlainScheme(header, given), withPlainScheme(header, secret))) return
  throw new A2AError('UNAUTHENTICATED', `${header} has the wrong value`, {})
}

/** Case does not matter in the name of an authentication scheme (RFC 9110 §11.1). */
function withPlainScheme(header: string, value: string): string {
  return header === AUTHORIZATION ? value.replace(/^\S+(?= |$)/, (scheme) => scheme.toLowerCase()) : value
}

/** Compares in a time that depends neither on where the texts differ nor on the length of the expected one. */
async function equals(given: string, expected: string): Promise<boolean> {
  const [left, right] = await Promise.all([sha256(given), sha256(expected)])
  return left.reduce((difference, byte, at) => difference | (byte ^ (right[at] ?? 0)), 0) === 0
}

function taskIdOf(event: RemoteEvent, notification: Unread): string {
  if (event.type === 'task') return event.task.id
  const { taskId } = event.type === 'message' ? event.message : event
  if (taskId !== undefined) return taskId
  const path = notification['message'] == null ? 'notification' : 'notification.message'
  throw invalidParams(`${path}.taskId`, 'is missing')
}

const MEMBERS = ['task', 'message', 'msg', 'statusUpdate', 'artifactUpdate']

/** Rejects notifications that name several tasks: another reader might use another of the ids. */
function requireSameTask(event: RemoteEvent, notification: Unread, taskId: string): void {
  const members = MEMBERS.map((name) => notification[name]).filter(isRecord)
  const own = notification['kind'] == null ? [] : [notification]
  const names = ['taskId', 'task_id', ...(event.type === 'message' ? [] : ['id'])]
  for (const object of [...own, ...members]) {
    for (const name of names) requireSameId(`notification.${name}`, object[name], taskId)
  }
  if (event.type === 'artifact' || event.type === 'message') return
  const { message, contextId } = event.type === 'task' ? event.task : event
  const messages = [...(message ? [message] : []), ...(event.type === 'task' ? event.task.messages : [])]
  for (const each of messages) {
    requireSameId('message.taskId', each.taskId, taskId)
    if (contextId !== undefined) requireSameId('message.contextId', each.contextId, contextId)
  }
}

function requireSameId(path: string, given: unknown, expected: string): void {
  if (given === expected || typeof given !== 'string' || given === '') return
  throw invalidParams(path, 'must not name another one than the rest of the notification')
}

async function readJson({ body, headers }: Request, settings: Settings): Promise<unknown> {
  try {
    const text = body === null ? '' : await readText(body, headers.get('content-length'), settings)
    return parseJson(text, MAX_DEPTH)
  } catch (cause) {
    if (A2AError.is(cause, 'LIMIT_EXCEEDED')) {
      const { limit, max } = cause.data
      throw new A2AError('LIMIT_EXCEEDED', `The notification exceeds ${limit} (${max})`, cause.data)
    }
    if (!A2AError.is(cause, 'INVALID_AGENT_RESPONSE')) throw cause
    const reason = 'The body is not JSON in UTF-8'
    throw new A2AError('PARSE_ERROR', reason, { reason }, { cause: cause.cause })
  }
}

/** Stops reading at `maxBytes` without canceling the body, which would close the connection before the response. */
async function readText(
  body: ReadableStream<Uint8Array>,
  declared: string | null,
  { maxBytes, timeoutMs, clock }: Settings,
): Promise<string> {
  if (Number(declared) > maxBytes) throw tooLarge('maxBytes', maxBytes, Number(declared))
  const scope = new AbortScope(clock, undefined)
  scope.arm(timeoutMs, 'No whole notification')
  const reader = body.getReader()
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let bytes = 0
  let text = ''
  try {
    for (;;) {
      const { value } = await scope.race(() => reader.read())
      if (value === undefined) return text + decode(decoder)
      bytes += value.byteLength
      if (bytes > maxBytes) throw tooLarge('maxBytes', maxBytes, bytes)
      text += decode(decoder, value)
    }
  } catch (cause) {
    throw A2AError.is(cause)
      ? cause
      : new A2AError('REQUEST_ABORTED', 'The notification ended before its body was complete', {}, { cause })
  } finally {
    scope.dispose()
    reader.releaseLock()
  }
}
