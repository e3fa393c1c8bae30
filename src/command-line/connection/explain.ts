/**
 * Error messages of commands: what was wrong, and what to do.
 *
 * @module
 */
import { A2AError, type AnyA2AError, type ErrorCode } from 'a2a-tasks'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { CommandFailure } from '../failure.js'

/** The message, the hint and the exit code for anything that a command throws. */
export function explain(error: unknown, url?: string): CommandFailure {
  if (error instanceof CommandFailure) return error
  if (!A2AError.is(error)) {
    // The options of the library are checked by it, and named in its message.
    const message = error instanceof Error ? error.message : String(error)
    return new CommandFailure(message, EXIT.usage, { cause: error })
  }
  const hint = hintOf(error, url)
  return new CommandFailure(messageOf(error), exitCodeOf(error), {
    cause: error,
    ...(hint !== undefined && { hint }),
  })
}

/** Whether an error is a fault of this program, or of what it uses: neither the agent, nor the user, nor the system has caused it. */
export function isFault(error: unknown): boolean {
  const isExpected = [CommandFailure, TypeError, RangeError].some((type) => error instanceof type)
  return error instanceof Error && !isExpected && !A2AError.is(error) && !('code' in error)
}

/** Without the name of the service, and without what OpenSSL says. */
function messageOf({ message }: Error): string {
  return message
    .replace(/^A2A: /, '')
    .replace(
      /cannot be reached: [0-9A-F]+:error:[^]*/,
      'cannot be reached: the server does not speak TLS there',
    )
}

const UNREACHABLE: readonly ErrorCode[] = [
  'EXTERNAL_SERVICE_ERROR',
  'INVALID_AGENT_RESPONSE',
  'VALIDATION_ERROR',
  'UNAVAILABLE',
  'STORE_FAILED',
  'LIMIT_EXCEEDED',
]

function exitCodeOf(error: AnyA2AError): ExitCode {
  const { code } = error
  if (A2AError.is(error, 'EXTERNAL_SERVICE_ERROR') && [401, 403].includes(error.data.status ?? 0))
    return EXIT.refused
  // Without a cause, the client itself has found the fault: in the card, or in what it was passed.
  if (A2AError.is(error, 'INVALID_PARAMS') && error.cause === undefined) {
    return error.data.path.startsWith('card') ? EXIT.unreachable : EXIT.usage
  }
  if (code === 'REQUEST_TIMED_OUT') return EXIT.timedOut
  if (code === 'URL_BLOCKED') return EXIT.usage
  return UNREACHABLE.includes(code) ? EXIT.unreachable : EXIT.refused
}

function hintOf(error: AnyA2AError, url: string | undefined): string | undefined {
  if (A2AError.is(error, 'EXTERNAL_SERVICE_ERROR')) {
    const { status } = error.data
    if (error.message.includes('names this address')) {
      return 'The card is wrong: its URL must be the one that clients use. See: a2a-tasks card URL'
    }
    return status === undefined ? networkHint(error, url) : statusHint(status, url)
  }
  return isListRefused(error) ? LIST_REFUSED : HINTS[error.code]
}

/** Whether an agent without users refuses to list its tasks. */
export function isListRefused(error: unknown): boolean {
  return A2AError.is(error, 'INVALID_PARAMS') && error.data.path === 'contextId' && error.cause !== undefined
}

/** What its author can do. */
export const OWN_AGENT =
  "If the agent is yours, `authenticate` or `anonymous: 'shared'` of createRequestHandler lets it list all tasks"
const LIST_REFUSED = `Pass --context ID to list the tasks of one conversation, such as the one that you gave to send. ${OWN_AGENT}`

const CREDENTIALS = 'Pass a token by A2A_BEARER, --bearer, --header or --profile'

const HINTS: Partial<Record<ErrorCode, string>> = {
  UNAUTHENTICATED: `${CREDENTIALS}. If you did, the agent does not accept it`,
  PERMISSION_DENIED: 'The agent knows you and refuses this. Use the credentials of another user',
  TASK_NOT_FOUND:
    'Check the id. Agents show a task to its own user only, and forget old ones: those in memory at each restart',
  TASK_NOT_CANCELABLE: 'The task has ended. See its state with: a2a-tasks get URL TASK',
  TASK_TERMINAL: 'The task has ended. Send a new message, with --context to stay in the conversation',
  INVALID_AGENT_RESPONSE: 'Is the URL that of an A2A agent? Try the URL of its card, which ends in .json',
  VALIDATION_ERROR: 'The card is incomplete. See: a2a-tasks card URL',
  VERSION_NOT_SUPPORTED:
    'This client speaks JSON-RPC and HTTP+JSON of A2A 1.0 and 0.3. See: a2a-tasks card URL',
  UNSUPPORTED_OPERATION:
    'If the task has ended, send a new message without --task. See what the agent offers with: a2a-tasks card URL',
  REQUEST_TIMED_OUT: 'Try again, or wait for longer with --timeout SECONDS',
  UNAVAILABLE: 'The agent is overloaded. Try again later',
  RATE_LIMITED: 'Wait for a moment, and try again',
}

function statusHint(status: number, url: string | undefined): string | undefined {
  if (status === 401 || status === 403) return CREDENTIALS
  if (status === 404) {
    return `There is no agent at this path. Is the URL complete? Agents are often below a path, such as ${shortOf(url)}/agent`
  }
  // The message names the URL to use.
  if (status >= 300 && status < 400) return undefined
  if (status === 405) return 'The server does not accept this request. Is the URL that of an A2A agent?'
  if (status >= 500) return 'The server failed. Try again later, and look at its log'
  return 'Is the URL that of an A2A agent?'
}

function networkHint(error: unknown, url: string | undefined): string {
  const codes = codesOf(error).join(' ')
  const host = url !== undefined && URL.canParse(url) ? new URL(url) : undefined
  if (/ECONNREFUSED/.test(codes)) return 'Nothing listens there. Is the agent running, and is the port right?'
  if (/ENOTFOUND|EAI_AGAIN/.test(codes)) return 'No host has this name. Check the spelling of the URL'
  const isOfTls = /ERR_SSL|EPROTO|SSL/.test(codes)
  if (isOfTls && host?.protocol === 'https:')
    return `Does the server speak http? Try http://${host.host}${pathOf(host)}`
  if (/CERT|SIGNATURE|DEPTH_ZERO|UNABLE_TO/.test(codes)) {
    return 'The certificate is not trusted. For one of your own, set NODE_EXTRA_CA_CERTS to its file'
  }
  if (/TIMEOUT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/.test(codes)) return 'Check the network, and the address'
  if (/HPE_INVALID|ECONNRESET|UND_ERR_SOCKET/.test(codes) && host?.protocol === 'http:') {
    return `The server does not speak http there. Try https://${host.host}${pathOf(host)}`
  }
  return 'Check the URL, and that the agent is running'
}

function pathOf({ pathname }: URL): string {
  return pathname === '/' ? '' : pathname
}

function shortOf(url: string | undefined): string {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : 'https://agent.example'
}

/** Codes of an error and of its causes. */
function codesOf(error: unknown, depth = 0): string[] {
  if (typeof error !== 'object' || error === null || depth > 8) return []
  const { code, cause, errors } = error as { code?: unknown; cause?: unknown; errors?: unknown }
  const inner: unknown[] = Array.isArray(errors) ? errors : []
  const others = [cause, ...inner.slice(0, 8)].flatMap((each) => codesOf(each, depth + 1))
  return typeof code === 'string' ? [code, ...others] : others
}
