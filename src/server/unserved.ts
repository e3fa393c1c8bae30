/**
 * Hints for requests in a dialect of `a2a-tasks/compat` that the handler does not serve.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { isRecord } from '../runtime/unread.js'
import type { Dialect } from '../wire/dialect.js'

/** By `version`: whose dialect it is, and the function that makes it. */
const DIALECTS: Readonly<Record<string, readonly [owner: string, factory: string]>> = {
  '0.1': ['A2A 0.1', 'v0_1()'],
  kaos: ['KAOS', 'kaos()'],
  corvid: ['corvid-agent', 'corvid()'],
  litellm: ['LiteLLM-RS', 'litellm()'],
}

/** The methods that neither 1.0 nor 0.3 has, except `tasks/send`, which 0.1 shares with KAOS. */
const METHODS: ReadonlyMap<string, string> = new Map([
  ['tasks/sendSubscribe', '0.1'],
  ['tasks/pushNotification/set', '0.1'],
  ['tasks/pushNotification/get', '0.1'],
  ['task_send', 'litellm'],
  ['task_send_subscribe', 'litellm'],
  ['task_get', 'litellm'],
  ['task_cancel', 'litellm'],
  ['agent_capabilities', 'litellm'],
])

/** The ends of the paths that clients post to. */
const PATHS: readonly (readonly [path: string, version: string])[] = [
  ['/a2a/tasks/send', 'corvid'],
  ['/v1/chat/completions', 'kaos'],
]

/** The hint for a version that a client names. */
export function hintForVersion(dialects: readonly Dialect[], version: string): string {
  return hint(dialects, version)
}

/** The hint for a method of JSON-RPC. In 0.1 the client chooses the task's id. */
export function hintForMethod(dialects: readonly Dialect[], method: string, params: unknown): string {
  if (method !== 'tasks/send') return hint(dialects, METHODS.get(method))
  const isOf01 = isRecord(params) && params['id'] !== undefined
  return hint(dialects, isOf01 ? '0.1' : 'kaos')
}

/** The hint for a request at a path. */
export function hintForPath(dialects: readonly Dialect[], method: string, path: string): string {
  if (method !== 'POST') return ''
  return hint(dialects, PATHS.find(([end]) => path.endsWith(end))?.[1])
}

/** The error, with a hint in its text if it refuses the parameters of a method that 1.0 has, too. */
export function withHint(
  error: A2AError,
  dialects: readonly Dialect[],
  method: string,
  params: unknown,
): A2AError {
  if (method !== 'SendMessage' || !A2AError.is(error, 'INVALID_PARAMS')) return error
  const hintText = isKaosSend(params) ? hint(dialects, 'kaos') : ''
  if (hintText === '') return error
  return new A2AError('INVALID_PARAMS', `${error.message}${hintText}`, error.data, { cause: error })
}

/**
 * Whether parameters of `SendMessage` are those of KAOS. A message of 1.0 has an id, and has no text of its own. In 0.1 the task
 * has an id.
 */
export function isKaosSend(params: unknown): boolean {
  if (!isRecord(params)) return false
  const { id, message } = params
  if (id !== undefined || !isRecord(message)) return false
  const { messageId, parts, text } = message
  if (messageId !== undefined) return false
  const isTyped = Array.isArray(parts) && parts.some((part) => isRecord(part) && 'type' in part)
  return isTyped || typeof text === 'string'
}

/** Empty where the dialect is served, or unknown. It fits what `describeError` leaves of a text. */
function hint(dialects: readonly Dialect[], version: string | undefined): string {
  if (version === undefined || !Object.hasOwn(DIALECTS, version)) return ''
  const known = DIALECTS[version]
  if (known === undefined || dialects.some((dialect) => dialect.version === version)) return ''
  const [owner, factory] = known
  return `. This is ${owner}: serve it with dialects: [v1(), v0_3(), ${factory}], of a2a-tasks/compat`
}
