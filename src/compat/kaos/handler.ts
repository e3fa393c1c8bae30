/**
 * HTTP handler over a KAOS task manager.
 *
 * @module
 */
import { readOptions, requireClock, requireFinite, requireFunctions } from '../../runtime/options.js'
import type { AgentCardInput } from '../../agent-card/build.js'
import { systemClock, type Clock } from '../../runtime/clock.js'
import type { JsonObject } from '../../core/json-types.js'
import { RateLimiter } from '../../runtime/rate-limit.js'
import { reportError } from '../../runtime/report.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import { kaos } from './dialect.js'
import type { Dialect } from '../../wire/dialect.js'
import { bind, type BoundAgent } from '../../server/binding/bindings.js'
import { servedCard, toDialects } from '../../server/dialects.js'
import { SessionOperations } from './operations.js'
import type { Dialects } from '../../server/negotiation.js'
import { toLimits, type HandlerLimits } from '../../server/limits.js'
import { guarded, type BindingSettings, type RequestHandlerOptions } from '../../server/options.js'
import type { SessionTaskManager } from './session-task-manager.js'
import { HEARTBEAT_MS } from '../../server/streams/sse.js'
import type { Principal } from '../../server/caller.js'

/** Options of {@link createTaskManagerHandler}. */
export interface TaskManagerHandlerOptions<P extends Principal = Principal> {
  /**
   * The agent's card: `{ name, url }` is enough. As in KAOS, `capabilities.streaming` is `true`, because the chat streams, unless
   * a dialect of the handler would stream tasks, which this handler does not.
   */
  readonly card: AgentCardInput
  /** Works on the messages and stores their tasks. Closing the handler shuts it down. */
  readonly taskManager: SessionTaskManager
  /** Returns the principal of a request. `null` and `undefined` are answered with 401. Default: tasks have no owner. */
  readonly authenticate?: RequestHandlerOptions<P>['authenticate']
  /** Receives internal errors, which clients do not see. Default is a process warning, where the runtime has them. */
  readonly onError?: RequestHandlerOptions['onError']
  /** Limits on requests. Defaults are those of `createRequestHandler`. */
  readonly limits?:
    | Pick<
        HandlerLimits,
        | 'maxBodyBytes'
        | 'bodyTimeoutMs'
        | 'maxBodyBytesInFlight'
        | 'maxNodes'
        | 'maxDepth'
        | 'maxPendingBytes'
        | 'stalledTimeoutMs'
      >
    | undefined
  /** The rate limit of the requests of each principal, as of `createRequestHandler`. Default is no limit. */
  readonly rateLimit?: RequestHandlerOptions['rateLimit']
  /**
   * The dialects to serve, the preferred one first. Default is `kaos()`. `v0_1()`, `corvid()` and `litellm()` are refused:
   * their clients choose ids and time limits, or expect an answer at once.
   */
  readonly dialects?: readonly Dialect[] | undefined
  /** How long clients may cache the card, in seconds. Default is `300`. */
  readonly cardMaxAgeSeconds?: number | undefined
  /** Default is the runtime's clock. */
  readonly clock?: Clock | undefined
}

/** The handler that {@link createTaskManagerHandler} returns. */
export interface TaskManagerHandler<P extends Principal = Principal> extends BoundAgent<P> {
  /** The manager of the options. */
  readonly taskManager: SessionTaskManager
}

const KEYS = [
  'card',
  'taskManager',
  'authenticate',
  'onError',
  'limits',
  'rateLimit',
  'dialects',
  'cardMaxAgeSeconds',
  'clock',
]
const LIMIT_KEYS = [
  'maxBodyBytes',
  'bodyTimeoutMs',
  'maxBodyBytesInFlight',
  'maxNodes',
  'maxDepth',
  'maxPendingBytes',
  'stalledTimeoutMs',
]
/** Dialects whose cards have `stateTransitionHistory`. */
const WITH_HISTORY = ['0.3', 'kaos']
/** Dialects whose clients choose ids and time limits, or expect an answer at once. The port supports none of it. */
const UNSUPPORTED = ['0.1', 'corvid', 'litellm']

/**
 * Serves a task manager as KAOS does: SendMessage returns the ended task when the work on its text is done. GetTask and
 * CancelTask find the task by its id. No task streams, and none accepts a second message. Beside A2A there are
 * `POST /v1/chat/completions`, which streams where the client asks for it, `GET /health` and `GET /ready`.
 *
 * With `authenticate`, clients see only their own tasks.
 *
 * @throws {TypeError | RangeError | A2AError} naming the option, or the path in the card, that is wrong.
 * @example
 * const handler = createTaskManagerHandler({
 *   card: { name: 'my-agent', url: 'http://localhost:8000' },
 *   taskManager: new LocalTaskManager((text) => `You said: ${text}`),
 * })
 * createServer(toNodeListener(handler.fetch)).listen(8000)
 */
export function createTaskManagerHandler<P extends Principal = Principal>(
  options: TaskManagerHandlerOptions<P>,
): TaskManagerHandler<P> {
  const { taskManager, ...given } = readOptions(options, KEYS, 'createTaskManagerHandler')
  requireTaskManager(taskManager)
  const settings = toSettings(given, taskManager)
  return { ...bind(settings, new SessionOperations(taskManager, settings.clock)), taskManager }
}

function toSettings<P extends Principal>(
  given: Omit<TaskManagerHandlerOptions<P>, 'taskManager'>,
  { keepsTasks }: SessionTaskManager,
): BindingSettings<P> {
  const { authenticate, onError, limits = {}, clock = systemClock } = given
  requireFunctions(given, ['authenticate', 'onError'])
  requireClock(clock)
  const dialects = toDialects(given.dialects ?? [kaos()], undefined)
  for (const { version } of dialects) requireServed(version)
  const [first, ...others] = dialects
  return {
    card: toCard(given.card, dialects),
    authenticate,
    onError: onError === undefined ? reportError : guarded(onError),
    limits: toLimits(limits, 'createTaskManagerHandler', LIMIT_KEYS),
    rateLimiter: given.rateLimit && new RateLimiter(given.rateLimit, 'createTaskManagerHandler', clock),
    dialects: [withHistory(first, keepsTasks), ...others.map((dialect) => withHistory(dialect, keepsTasks))],
    heartbeatMs: HEARTBEAT_MS,
    cardMaxAgeSeconds: requireFinite('cardMaxAgeSeconds', given.cardMaxAgeSeconds ?? 300),
    clock,
  }
}

/** Completes the card. Refuses capabilities that this handler does not have. */
function toCard(input: AgentCardInput, dialects: Dialects): AgentCard {
  const streaming = dialects.some(streamsChat) && !dialects.some(canStream)
  const capabilities = { streaming, pushNotifications: false, ...input.capabilities }
  const card = servedCard({ ...input, capabilities }, dialects)
  if (card.capabilities.pushNotifications) {
    throw new TypeError('"card.capabilities.pushNotifications" must not be true: this handler sends none')
  }
  if (card.capabilities.streaming && dialects.some(canStream)) {
    throw new TypeError('"card.capabilities.streaming" must not be true: no task of this handler streams')
  }
  return card
}

function requireServed(version: string): void {
  if (!UNSUPPORTED.includes(version)) return
  throw new TypeError(
    `"dialects" must be kaos(), v1(), v0_3() or your own, got that of ${version}: createRequestHandler() speaks it`,
  )
}

function streamsChat({ routes }: Dialect): boolean {
  return routes.some(({ stream }) => stream !== undefined)
}

function canStream({ methods }: Dialect): boolean {
  return [...methods.values()].includes('SendStreamingMessage')
}

/** The dialect with `stateTransitionHistory` in its cards, where they have it. */
function withHistory(dialect: Dialect, keepsTasks: boolean): Dialect {
  if (!WITH_HISTORY.includes(dialect.version)) return dialect
  return {
    ...dialect,
    encodeCard(card): JsonObject {
      const encoded = dialect.encodeCard(card)
      const { capabilities } = encoded
      const known = typeof capabilities === 'object' && !Array.isArray(capabilities) ? capabilities : {}
      return { ...encoded, capabilities: { ...known, stateTransitionHistory: keepsTasks } }
    },
  }
}

function requireTaskManager(manager: SessionTaskManager): void {
  const given = manager as Partial<SessionTaskManager> | null | undefined
  if (typeof given?.sendMessage === 'function' && typeof given.keepsTasks === 'boolean') return
  if (typeof given === 'object' && given !== null && 'createTask' in given) {
    throw new TypeError('"taskManager" must be a LocalTaskManager: pass new LocalTaskManager(fn, { tasks })')
  }
  throw new TypeError(
    '"taskManager" must be a LocalTaskManager, a NullTaskManager or an object with their methods',
  )
}
