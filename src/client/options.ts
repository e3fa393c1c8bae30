/**
 * Options of a client and of its calls: defaults and checks.
 *
 * @module
 */
import {
  requireClock,
  requireFunctions,
  requireKnown,
  requireMethods,
  requireObject,
  requirePositive,
  requireStrings,
} from '../runtime/options.js'
import { type Clock, keepAliveClock } from '../runtime/clock.js'
import { type GenerateId, randomId } from '../runtime/ids.js'
import { platformRandom } from '../runtime/crypto.js'
import { platformFetch, type Fetch } from '../runtime/fetch.js'
import { invalidParams } from '../core/errors.js'

import { nonEmptyString, number, object, optional, string, strings } from '../schemas/scalars.js'
import { check } from '../wire/check.js'
import { isRecord } from '../runtime/unread.js'
import type { PushConfig } from '../wire/dialect.js'
import type { Authenticator } from '../http/authenticator.js'
import type { HttpSettings } from '../http/request.js'
import type { Pacing, RetryOptions } from '../http/retry.js'
import type { UrlGuard } from '../http/url-guard.js'
import type { AgentCardCache } from './cards/card-cache.js'
import { requireProtocolSteps } from '../core/lifecycle.js'
import type { ClientTasks } from './delegation/positions.js'
import type { CallOptions } from './message.js'
import type { DelegationOptions, RunOptions, TaskRunner } from './run/run-types.js'
import type { RunHandle } from '../remote/runner.js'

/** Limits on what an agent may send. Exceeding one fails with `LIMIT_EXCEEDED`. */
export interface ClientLimits {
  /** Size of a response, in bytes. Default is 16,777,216 (16 MiB). */
  readonly maxResponseBytes?: number | undefined
  /**
   * Size of one event of a stream, in UTF-16 code units (the `length` of a string). Default is 16,777,216. Checked every
   * 16,384 code units, so an event within that size may exceed a smaller limit.
   */
  readonly maxEventBytes?: number | undefined
  /**
   * Size of one task that a `run` follows, in UTF-16 code units (the `length` of a string). Default is 67,108,864. Counts
   * the JSON of the task's events; events that an update replaces do not count. A task that a poll returns counts as 0:
   * only `maxResponseBytes` limits it.
   */
  readonly maxTaskBytes?: number | undefined
  /** Depth of nested JSON. Default is 100. */
  readonly maxDepth?: number | undefined
}

/** Options of `A2AClient` and `A2AClient.connect`. An unknown option throws a `TypeError`. */
export interface ClientOptions {
  /** Sends the requests. Default is the platform's `fetch`, looked up on each request. */
  readonly fetch?: Fetch | undefined
  /** Credentials, such as `bearerAuth(token)`. They are sent to every interface that the card names, at any origin. */
  readonly auth?: Authenticator | undefined
  /** Headers to send with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** URIs of the protocol extensions that this client supports, sent with every request (A2A 1.0 §4.6). */
  readonly extensions?: readonly string[] | undefined
  /**
   * Time limit of a call, in ms, with its retries, their pauses and other interfaces of the agent; of a stream, until it
   * begins. Default is 60,000, 300,000 for `send`, and 10,000 for the card that `connect` fetches. A call fails with `REQUEST_TIMED_OUT` when the time is up. If it is
   * too short for the pause before a retry, the call fails at once with the error of the last attempt.
   */
  readonly timeoutMs?: number | undefined
  /** Retries of requests that are safe to repeat. */
  readonly retry?: RetryOptions | undefined
  /** Limits on what the agent may send. */
  readonly limits?: ClientLimits | undefined
  /** The A2A versions to use. The order has no effect: the card's decides. Default is `['1.0', '0.3']`. */
  readonly protocolVersions?: readonly string[] | undefined
  /** The protocol bindings to use. The order has no effect. Default is `['JSONRPC', 'HTTP+JSON']`. */
  readonly protocolBindings?: readonly string[] | undefined
  /** Called before every request with its URL. Use `urlGuard()` for cards from untrusted sources. Default is none. */
  readonly urlGuard?: UrlGuard | undefined
  /** Receives a local copy of each of the agent's tasks, kept up to date by what this client receives. */
  readonly taskManager?: ClientTasks | undefined
  /** Agents for `sendTask` by name: their URLs, or clients with their own credentials. */
  readonly agents?: Readonly<Record<string, string | TaskRunner>> | undefined
  /** Measures timeouts and pauses. Default is the platform's clock. */
  readonly clock?: Clock | undefined
  /** Generates the ids of messages and conversations. Default is UUID v4. */
  readonly generateId?: GenerateId | undefined
  /** Returns a number from 0 to 1, for the jitter of pauses. Default is `Math.random`. */
  readonly random?: (() => number) | undefined
}

/** Options of `A2AClient.connect`. */
export interface ConnectOptions extends ClientOptions {
  /** Cache of cards. Default is none: each call fetches the card. */
  readonly cardCache?: AgentCardCache | undefined
  /**
   * Whether the agent is called at the origin where its card was fetched, at the paths of its card, whatever host the card
   * names. For agents behind a proxy, such as that of a development server, and for credentials that must not leave the
   * origin. Default is false.
   */
  readonly sameOrigin?: boolean | undefined
  /** Aborts the fetch of the card. It has no effect on the client afterwards. */
  readonly signal?: AbortSignal | undefined
}

/** Options of the constructor of `A2AClient`. */
export interface A2AClientOptions extends ClientOptions {
  /** The agent's card, of any version of A2A. A client without a card only supports `sendTask`. */
  readonly card?: unknown
}

const CALL_KEYS = ['signal', 'timeoutMs', 'headers']
export const SEND_KEYS = [
  ...CALL_KEYS,
  'taskId',
  'contextId',
  'acceptedOutputModes',
  'historyLength',
  'metadata',
  'pushConfig',
  'lineage',
  'returnImmediately',
]
export const QUERY_KEYS = [
  ...CALL_KEYS,
  'contextId',
  'state',
  'pageSize',
  'pageToken',
  'historyLength',
  'since',
  'includeArtifacts',
]
const RUN_KEYS = [
  ...CALL_KEYS,
  'taskId',
  'contextId',
  'acceptedOutputModes',
  'metadata',
  'pushConfig',
  'lineage',
  'onStart',
  'repeats',
  'onUpdate',
  'keepUpdates',
  'onInputRequired',
  'onQuestions',
  'onAuthRequired',
  'idleTimeoutMs',
  'pollIntervalMs',
  'resend',
]

/** The options of a client with their defaults applied. */
export interface Settings extends HttpSettings {
  readonly extensions: readonly string[]
  readonly timeoutMs: number | undefined
  readonly pacing: Pacing
  readonly maxEventBytes: number
  readonly maxTaskBytes: number
  readonly maxDepth: number
  readonly protocolVersions: readonly string[]
  readonly protocolBindings: readonly string[]
  readonly taskManager: ClientTasks | undefined
  readonly agents: Readonly<Record<string, string | TaskRunner>>
  readonly generateId: GenerateId
}

const KEYS = [
  'fetch',
  'auth',
  'headers',
  'extensions',
  'timeoutMs',
  'retry',
  'limits',
  'protocolVersions',
  'protocolBindings',
  'urlGuard',
  'taskManager',
  'agents',
  'clock',
  'generateId',
  'random',
]

const RETRY = { attempts: 4, baseDelayMs: 250, maxDelayMs: 10_000 }

const LIMITS = {
  maxResponseBytes: 16_777_216,
  maxEventBytes: 16_777_216,
  maxTaskBytes: 67_108_864,
  maxDepth: 100,
}

const LISTS = ['extensions', 'protocolVersions', 'protocolBindings'] as const

/**
 * Checks the argument of the constructor of `A2AClient`: a card or a URL in place of the options is a common mistake.
 *
 * @throws {TypeError}
 */
export function requireClientOptions(options: unknown): void {
  if (typeof options === 'string' || options instanceof URL)
    throw new TypeError('Pass a URL to A2AClient.connect(url)')
  requireObject(undefined, options, 'A2AClient')
  if ('supportedInterfaces' in options) throw new TypeError('Pass a card as new A2AClient({ card })')
  if ('url' in options) throw new TypeError('Pass a URL to A2AClient.connect(url)')
}

/**
 * Checks the options of a client and applies the defaults.
 *
 * @param others - Further options of `where`, which are not among `options`.
 * @throws {TypeError | RangeError} for an invalid option; the message names it.
 */
export function toSettings(options: ClientOptions, where: string, others: readonly string[]): Settings {
  requireKnown(options, [...KEYS, ...others], where)
  requireFunctions(options, ['fetch', 'urlGuard', 'generateId', 'random'])
  requireAuth(options.auth)
  for (const name of LISTS) if (options[name] !== undefined) requireStrings(name, options[name])
  requireHeaders(options.headers)
  const {
    fetch = platformFetch,
    clock = keepAliveClock,
    random = platformRandom,
    headers = {},
    auth,
    urlGuard,
  } = options
  const { extensions = [], timeoutMs, taskManager, agents = {}, generateId = randomId } = options
  const { protocolVersions = ['1.0', '0.3'], protocolBindings = ['JSONRPC', 'HTTP+JSON'] } = options
  requirePositive('timeoutMs', timeoutMs ?? Infinity)
  requireClock(clock)
  requireAgents(agents)
  if (taskManager !== undefined) {
    requireMethods('taskManager', taskManager, ['createTask'], 'be a TaskManager')
    requireProtocolSteps('taskManager', taskManager.lifecycle, 'A client that copies tasks')
  }
  return {
    fetch,
    clock,
    headers,
    auth,
    urlGuard,
    extensions,
    timeoutMs,
    taskManager,
    agents,
    generateId,
    protocolVersions,
    protocolBindings,
    ...complete('limits', options.limits, LIMITS),
    pacing: { clock, random, ...complete('retry', options.retry, RETRY) },
  }
}

/** Checks a group of positive numbers and fills in the defaults. */
function complete<T extends Readonly<Record<string, number>>>(
  name: string,
  given: { readonly [K in keyof T]?: number | undefined } = {},
  byDefault: T,
): T {
  const keys = Object.keys(byDefault)
  requireKnown(given, keys, 'A2AClient', name)
  const entries = keys.map((key) => [key, requirePositive(`${name}.${key}`, given[key] ?? byDefault[key])])
  // The entries have exactly the keys of the defaults.
  return Object.fromEntries(entries) as T
}

function requireAgents(agents: unknown): void {
  requireObject('agents', agents, 'A2AClient', 'an object: { name: url }')
  for (const [name, agent] of Object.entries<unknown>({ ...agents })) {
    if (typeof agent !== 'string')
      requireMethods(`agents.${name}`, agent, ['run'], 'be a URL or an A2AClient')
  }
}

function requireAuth(auth: unknown): void {
  if (auth === undefined) return
  if (typeof auth === 'object' && auth !== null && 'apply' in auth) requireFunctions(auth, ['apply', 'renew'])
  else throw new TypeError('"auth" must have apply(), as bearerAuth(token) has')
}

/** Requires a plain object of texts. A `Headers` object has no own properties, and would be sent as no headers. */
function requireHeaders(headers: unknown): void {
  const isPlain = typeof headers === 'object' && headers !== null && !(Symbol.iterator in headers)
  if (
    headers === undefined ||
    (isPlain && Object.values(headers).every((value) => typeof value === 'string'))
  )
    return
  throw new TypeError('"headers" must be an object of texts: { name: value }')
}

const TIMES = ['timeoutMs', 'idleTimeoutMs', 'pollIntervalMs']

const RequestOptionsSchema = object({
  acceptedOutputModes: optional(strings),
  metadata: optional(object({})),
  historyLength: optional(number),
  pushConfig: optional(object({ url: nonEmptyString })),
})

/**
 * Checks the options of a call.
 *
 * @throws {TypeError | RangeError} for an invalid option; the message names it.
 */
export function requireOptions<T extends object>(options: T, keys: readonly string[], where: string): T {
  requireKnown(options, keys, where)
  requireHeaders(Reflect.get(options, 'headers'))
  const lineage: unknown = Reflect.get(options, 'lineage')
  if (lineage !== undefined)
    requireMethods('lineage', lineage, ['lineageTo'], 'be the run of a request handler')
  for (const name of TIMES) {
    const value: unknown = Reflect.get(options, name)
    if (value !== undefined) requirePositive(name, value)
  }
  // Typed as unknown, because the schema reports options of the wrong type.
  const given: unknown = options
  const { acceptedOutputModes, metadata, historyLength, pushConfig } = isRecord(given) ? given : {}
  check(RequestOptionsSchema, { acceptedOutputModes, metadata, historyLength, pushConfig })
  if (isRecord(pushConfig)) requirePushConfig(pushConfig, where)
  return options
}

/** A misspelt `token` would register a webhook that cannot recognize its notifications. @throws {TypeError} */
export function requirePushConfig(config: object, where: string): void {
  requireKnown(config, ['id', 'url', 'token', 'authentication'], where, 'pushConfig')
  const { authentication = {} } = config as Partial<PushConfig>
  requireKnown(authentication, ['scheme', 'credentials'], where, 'pushConfig.authentication')
}

/** Checks the options that every call has, and `keys`. */
export function requireCallOptions<T extends CallOptions>(
  options: T,
  keys: readonly string[],
  where: string,
): T {
  return requireOptions(options, [...CALL_KEYS, ...keys], where)
}

const DELEGATION_KEYS = RUN_KEYS.filter((key) => key !== 'repeats')

/** Checks the options of calls that send no message of the caller's: `resume` and `sendTask`. */
export function requireDelegationOptions(options: DelegationOptions, where: string): void {
  requireOptions(options, DELEGATION_KEYS, where)
  requireRunOptions(options)
}

/** Checks the options of a run. */
export function requireRunOptions(options: RunOptions): RunOptions {
  requireOptions(options, RUN_KEYS, 'run')
  if (options.repeats !== undefined) check(HandleSchema, options.repeats, 'repeats')
  requireFunctions(options, ['onStart', 'onUpdate', 'onInputRequired', 'onQuestions', 'onAuthRequired'])
  return options
}

/** @throws {A2AError} `INVALID_PARAMS` for anything but a text that is not empty. */
export function requireId(id: string, name = 'id'): string {
  if (typeof id === 'string' && id !== '') return id
  throw invalidParams(name, 'must be a text that is not empty')
}

const HandleSchema = object({ taskId: optional(string), contextId: optional(string) })

/** @throws {A2AError} `INVALID_PARAMS` for a handle with neither a task nor a context. */
export function requireHandle(handle: RunHandle): void {
  const { taskId, contextId } = check(HandleSchema, handle, 'handle')
  if (!taskId && !contextId) throw invalidParams('handle', 'must have a taskId or a contextId')
}
