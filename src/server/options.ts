/**
 * Options of `createRequestHandler`, with their checks and defaults.
 *
 * @module
 */
import {
  readOptions,
  requireBoolean,
  requireClock,
  requireDelay,
  requireFinite,
  requireFunction,
  requireFunctions,
  requireWhole,
} from '../runtime/options.js'
import type { AgentCardInput } from '../agent-card/build.js'
import { A2AError } from '../core/errors.js'
import { describe, quote } from '../runtime/describe.js'
import { randomId, type GenerateId } from '../runtime/ids.js'
import { systemClock, type Clock } from '../runtime/clock.js'
import { reportError } from '../runtime/report.js'
import { TaskManager } from '../core/task-manager.js'
import type { Message, TaskSnapshot } from '../core/task.js'
import type { AgentCard } from '../schemas/agent-card.js'
import type { Dialect } from '../wire/dialect.js'
import { servedCard, toDialects, type DialectName } from './dialects.js'
import { withPreview, type PreviewOptions } from './preview.js'
import { toPushSettings, withPush, type PushOptions, type PushSettings } from './push/options.js'
import type { Run } from './runs/run.js'
import { HEARTBEAT_MS } from './streams/sse.js'
import type { ServedTasks } from './tasks.js'
import type { Principal } from './caller.js'

/**
 * The result of a run. A string completes the task with the string as an artifact; an async iterable streams its strings
 * into one artifact and then completes the task; `undefined` completes the task as it is, unless the run has ended it
 * already, or the task waits for the user.
 */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a function may return nothing
export type Outcome = string | AsyncIterable<string> | undefined | void

/** A message that would begin a task. */
export interface Offer<P extends Principal = Principal> extends Pick<
  Run<P>,
  'message' | 'text' | 'metadata' | 'tenant' | 'principal'
> {
  /** The owner of the task that would be created, as tasks are filtered by; `null` for no owner. */
  readonly owner: string | null
}

/** The agent's code: does the work of one message. */
export interface Execute<P extends Principal = Principal> {
  (run: Run<P>): Outcome | Promise<Outcome>
  /**
   * Called with each message that would begin a task, before the task is created. If it throws or rejects with an
   * `A2AError`, the client receives that error and no task is created. It must have no side effects, as the message may
   * still be refused.
   */
  readonly accept?: (offer: Offer<P>) => void | Promise<void>
}

/**
 * How to handle a message to a task that has a run at work.
 *
 * - `'queue'`: adds the message to the conversation. It answers the next question of the run, or starts another run when
 *   this one returns; only `run.complete()`, `run.fail()` and `run.reject()` end a task with unanswered messages.
 * - `'steer'`: adds the message to the conversation, where the run finds it in `run.messages`.
 * - `'reject'`: refuses the message.
 */
export type FollowUpPolicy = 'queue' | 'steer' | 'reject'

export interface HandlerLimits {
  /** The largest body of a request, in bytes. Default is `4_194_304` (4 MiB). */
  readonly maxBodyBytes?: number | undefined
  /** The deepest nesting of JSON in a request, at most 1000. Default is `100`. */
  readonly maxDepth?: number | undefined
  /** How long a run may work until it ends or asks a question, in ms; after that its task fails. Default is no limit. */
  readonly runTimeoutMs?: number | undefined
  /** How many runs may work at a time. Further messages are refused with `UNAVAILABLE`. Default is `10_000`. */
  readonly maxRuns?: number | undefined
  /** How many streams may be open at a time. Further ones are refused with `UNAVAILABLE`. Default is `100_000`. */
  readonly maxStreams?: number | undefined
}

/** The circumstances of an error. */
export interface ErrorContext {
  /**
   * The step that failed: `execute`, `authenticate`, `extendedCard`, `onFollowUp`, `push`, or the name of the operation.
   * From a `LocalTaskManager`: `processFn`, `describeError` or `shutdown`.
   */
  readonly during: string
  readonly taskId?: string | undefined
  /** The id of the push configuration, if one is concerned. With `taskId` it is what `push.redeliver` takes. */
  readonly configId?: string | undefined
}

/** Options of {@link createRequestHandler}. */
export interface RequestHandlerOptions<P extends Principal = Principal, M extends ServedTasks = TaskManager> {
  /** The agent's card. `{ name, url }` is enough; the rest has defaults. */
  readonly card: AgentCardInput
  /** Does the work of one message. If it throws, the task fails, and only `onError` receives the error. */
  readonly execute: Execute<P>
  /**
   * The manager of the tasks: a `TaskManager`, or a `DurableTaskManager`, whose tasks other processes may share. Default
   * is a new `TaskManager` that removes ended tasks when it is full.
   */
  readonly tasks?: M | undefined
  /**
   * Returns the principal that sends a request. `null` and `undefined` are answered with the HTTP status 401. Default is
   * no authentication: tasks have no owner.
   */
  readonly authenticate?:
    ((request: Request) => P | null | undefined | Promise<P | null | undefined>) | undefined
  /**
   * Returns the principal with this id, for runs that restart after their process has died (`recover: 'restart'` of the
   * manager). Default is that such runs have no principal.
   */
  readonly principalOf?: ((id: string) => P | Promise<P>) | undefined
  /** The card for authenticated clients, or a function that returns it for one of them. Requires `authenticate`. */
  readonly extendedCard?:
    AgentCardInput | ((principal: P) => AgentCardInput | Promise<AgentCardInput>) | undefined
  /** How to handle a message to a task that has a run at work. Default is `'queue'`. */
  readonly onFollowUp?:
    FollowUpPolicy | ((message: Message, task: TaskSnapshot) => FollowUpPolicy) | undefined
  /** Whether to refuse parts whose media type neither the card nor a skill lists. Default is `false`. */
  readonly checkInputModes?: boolean | undefined
  /** Receives internal errors, which no client sees. Default is a process warning, where the runtime supports them. */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined
  /** Limits on requests, runs and streams. */
  readonly limits?: HandlerLimits | undefined
  /**
   * The dialects to serve, in order of preference: when a request fits several, the first one answers. Default is `v1()`,
   * `v0_3()`, `v0_1()`, `kaos()`, `corvid()` and `litellm()` of `a2a-tasks/wire`.
   */
  readonly dialects?: readonly Dialect[] | undefined
  /** The `version` of the dialect to prefer, such as `'kaos'`. Default is the first one. */
  readonly defaultDialect?: DialectName | undefined
  /** Drafts of the protocol to serve. Default is none. */
  readonly preview?: PreviewOptions | undefined
  /**
   * Options of push notifications, which the card then declares; `false` turns them off. Default is on with default
   * options if the card has `capabilities.pushNotifications`, otherwise off.
   */
  readonly push?: PushOptions | false | undefined
  /** The time between heartbeats of a stream without events, in ms. Default is `15_000` (15 seconds). */
  readonly heartbeatMs?: number | undefined
  /** How long a `GetTask` of A2A 1.1 may wait for a change, in ms; see `preview`. Default is `30_000` (30 seconds). */
  readonly longPollMs?: number | undefined
  /** How long clients may cache the card, in seconds. Default is `300`. */
  readonly cardMaxAgeSeconds?: number | undefined
  /** The source of time and timers. Default is the platform's clock. */
  readonly clock?: Clock | undefined
  /** Returns ids for messages and artifacts. Default is UUID v4. */
  readonly generateId?: GenerateId | undefined
}

export type CompleteLimits = { readonly [L in keyof HandlerLimits]-?: number }

/** {@link RequestHandlerOptions} with defaults. */
export interface Settings<P extends Principal = Principal> {
  readonly card: AgentCard
  readonly execute: Execute<P>
  readonly tasks: ServedTasks
  readonly authenticate:
    ((request: Request) => P | null | undefined | Promise<P | null | undefined>) | undefined
  readonly principalOf: ((id: string) => P | Promise<P>) | undefined
  readonly extendedCard: ((principal: P) => AgentCardInput | Promise<AgentCardInput>) | undefined
  readonly onFollowUp: (message: Message, task: TaskSnapshot) => FollowUpPolicy
  readonly checkInputModes: boolean
  readonly onError: (error: unknown, context: ErrorContext) => void
  readonly limits: CompleteLimits
  readonly dialects: readonly [Dialect, ...Dialect[]]
  readonly heartbeatMs: number
  readonly longPollMs: number
  readonly cardMaxAgeSeconds: number
  readonly clock: Clock
  readonly generateId: GenerateId
  /** `undefined` where the agent sends no push notifications. */
  readonly push: PushSettings | undefined
}

/** The part of {@link Settings} that bindings need; KAOS' task managers are served with it, too. */
export type BindingSettings<P extends Principal = Principal> = Pick<
  Settings<P>,
  'card' | 'authenticate' | 'onError' | 'limits' | 'dialects' | 'heartbeatMs' | 'cardMaxAgeSeconds' | 'clock'
>

const KEYS = [
  'card',
  'execute',
  'tasks',
  'authenticate',
  'extendedCard',
  'onFollowUp',
  'onError',
  'limits',
  'checkInputModes',
  'principalOf',
  'dialects',
  'defaultDialect',
  'preview',
  'heartbeatMs',
  'longPollMs',
  'cardMaxAgeSeconds',
  'clock',
  'generateId',
  'push',
]
const LIMITS = {
  maxBodyBytes: 4_194_304,
  maxDepth: 100,
  runTimeoutMs: Infinity,
  maxRuns: 10_000,
  maxStreams: 100_000,
}
/** The other limits are positive numbers. */
const CHECKS: Readonly<Record<string, (option: string, value: unknown) => number>> = {
  maxDepth: requireWhole,
  runTimeoutMs: requireDelay,
  maxRuns: requireWhole,
  maxStreams: requireWhole,
}
export const POLICIES: readonly unknown[] = ['queue', 'steer', 'reject']

/** @throws {TypeError | RangeError | A2AError} naming the invalid option. */
export function toSettings<P extends Principal>(options: RequestHandlerOptions<P, ServedTasks>): Settings<P> {
  const given = readOptions(options, KEYS, 'createRequestHandler')
  const { onFollowUp = 'queue', extendedCard, authenticate, principalOf } = given
  requireFunction('execute', given.execute)
  requireFunctions(given, ['authenticate', 'principalOf', 'onError', 'generateId'])
  if (typeof onFollowUp !== 'function' && !POLICIES.includes(onFollowUp)) {
    throw new TypeError(
      `"onFollowUp" must be 'queue', 'steer', 'reject' or a function, got ${describe(onFollowUp)}`,
    )
  }
  if (given.tasks !== undefined) requireTasks(given.tasks)
  if (given.checkInputModes !== undefined) requireBoolean('checkInputModes', given.checkInputModes)
  const dialects = withPreview(toDialects(given.dialects, given.defaultDialect), given.preview)
  const card = servedCard(given.card, dialects)
  const clock = given.clock ?? systemClock
  requireClock(clock)
  const push = toPushSettings(given.push, card, clock)
  if (extendedCard !== undefined && authenticate === undefined) {
    throw new TypeError('"extendedCard" requires "authenticate": it is for those who are known only')
  }
  return {
    card: withPush(extendedCard === undefined ? card : withExtendedCard(card), push),
    execute: given.execute,
    tasks: given.tasks ?? new TaskManager({ whenFull: 'evict-terminal', eventLogSize: 10_000 }),
    authenticate,
    principalOf,
    extendedCard: typeof extendedCard === 'object' ? () => extendedCard : extendedCard,
    onFollowUp: typeof onFollowUp === 'function' ? onFollowUp : () => onFollowUp,
    checkInputModes: given.checkInputModes ?? false,
    onError: once(given.onError === undefined ? reportError : guarded(given.onError)),
    limits: toLimits(given.limits, 'createRequestHandler'),
    dialects,
    heartbeatMs: requireDelay('heartbeatMs', given.heartbeatMs ?? HEARTBEAT_MS),
    longPollMs: requireDelay('longPollMs', given.longPollMs ?? 30_000),
    cardMaxAgeSeconds: requireFinite('cardMaxAgeSeconds', given.cardMaxAgeSeconds ?? 300),
    clock,
    push,
    generateId: given.generateId ?? randomId,
  }
}

/** Wraps `onError` so that it cannot fail: what it throws, or rejects with, becomes a warning. */
export function guarded(onError: NonNullable<RequestHandlerOptions['onError']>): Settings['onError'] {
  const report = (failure: unknown): void => reportError(failure, { during: 'onError' })
  return (...args) => {
    try {
      // Its type has no result, but async functions are assignable to it.
      const call: (...given: typeof args) => unknown = onError
      Promise.resolve(call(...args)).catch(report)
    } catch (failure) {
      report(failure)
    }
  }
}

/** Reports each error of the store once: it may end a run, and then be the answer to the message of that run. */
function once(onError: Settings['onError']): Settings['onError'] {
  const reported = new WeakSet<Error>()
  return (error, context) => {
    if (A2AError.is(error, 'STORE_FAILED')) {
      if (reported.has(error)) return
      reported.add(error)
    }
    onError(error, context)
  }
}

function withExtendedCard(card: AgentCard): AgentCard {
  return { ...card, capabilities: { ...card.capabilities, extendedAgentCard: true } }
}

export function requireTasks(tasks: unknown): void {
  if (typeof tasks !== 'object' || tasks === null)
    throw new TypeError(`"tasks" must be a TaskManager, got ${quote(tasks)}`)
  if ('createTask' in tasks) return
  throw new TypeError(`"tasks" must be a TaskManager${tasksHint(tasks)}`)
}

function tasksHint(tasks: object): string {
  if (tasks instanceof Promise) return ', got a promise: await it'
  if ('acquire' in tasks && 'commit' in tasks) return ', got a store: new DurableTaskManager({ store })'
  return ': new TaskManager({ … })'
}

export function toLimits(
  limits: HandlerLimits = {},
  where: string,
  known: readonly string[] = Object.keys(LIMITS),
): CompleteLimits {
  const given = readOptions(limits, known, where, 'limits', 'an object: { maxBodyBytes: 1_000_000 }')
  const complete: Record<string, number> = { ...LIMITS }
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue
    const require = CHECKS[name] ?? requireFinite
    complete[name] = require(`limits.${name}`, value)
  }
  if ((complete['maxDepth'] ?? 0) > 1000) throw new RangeError('"limits.maxDepth" must be at most 1000')
  // It started as a copy of LIMITS.
  return complete as typeof LIMITS
}
