/**
 * What a handler is made of, checked, with its defaults.
 *
 * @module
 */
import {
  readOptions,
  requireDelay,
  requireFinite,
  requireFunction,
  requireFunctions,
} from '../runtime/options.js'
import type { AgentCardInput } from '../agent-card/build.js'
import { A2AError } from '../core/errors.js'
import { describe } from '../runtime/describe.js'
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
import type { ServedTasks } from './tasks.js'
import type { Principal } from './caller.js'

/**
 * What comes of a run: a text completes the task with it as an artifact, texts one after the other stream into one
 * artifact, nothing completes it as it is, unless it has been settled or waits for the user.
 */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a function that returns nothing is as welcome
export type Outcome = string | AsyncIterable<string> | undefined | void

/** What is known of a message before there is a task. */
export interface Offer<P extends Principal = Principal> extends Pick<
  Run<P>,
  'message' | 'text' | 'metadata' | 'tenant' | 'principal'
> {
  /** To whom the task would belong, and `null` for nobody: what tasks are found by. */
  readonly owner: string | null
}

/** The agent's work on a task, or on one turn of it. */
export interface Execute<P extends Principal = Principal> {
  (run: Run<P>): Outcome | Promise<Outcome>
  /**
   * Is asked of each message that would begin a task. An `A2AError` that it throws, or rejects with, is the answer, and there
   * is no task. It has no effects: the message may still be refused.
   */
  readonly accept?: (offer: Offer<P>) => void | Promise<void>
}

/**
 * What becomes of a message to a task that is being worked on. `'queue'`: it joins the conversation, and is the answer
 * to what the run asks next, or the message of another run when this one returns; only `run.complete()`, `fail()` and
 * `reject()` end a task with messages unanswered. `'steer'`: it joins the conversation, where the run finds it in
 * `run.messages`. `'reject'`: it is refused.
 */
export type FollowUpPolicy = 'queue' | 'steer' | 'reject'

export interface HandlerLimits {
  /** Bytes of a request's body. Default is `4_194_304` (4 MiB). */
  readonly maxBodyBytes?: number | undefined
  /** How deep the JSON of a request may nest, 1000 at most. Default is `100`. */
  readonly maxDepth?: number | undefined
  /** How long a run may work at a stretch, in ms: up to its end or a question. Then its task fails. Default is no limit. */
  readonly runTimeoutMs?: number | undefined
  /** How many runs at a time; more messages are answered with `UNAVAILABLE`. Default is `10_000`. */
  readonly maxRuns?: number | undefined
  /** How many open streams; more are answered with `UNAVAILABLE`. Default is `100_000`. */
  readonly maxStreams?: number | undefined
}

/** Where an error came from. */
export interface ErrorContext {
  /**
   * What was being done: `execute`, `authenticate`, `extendedCard`, `onFollowUp`, `push`, or the operation; of a
   * `LocalTaskManager` `processFn`, `describeError` or `shutdown`.
   */
  readonly during: string
  readonly taskId?: string | undefined
  /** Of the push configuration that it is about: with `taskId` what `redeliver` takes. */
  readonly configId?: string | undefined
}

export interface RequestHandlerOptions<P extends Principal = Principal, M extends ServedTasks = TaskManager> {
  /** The agent's card, complete or in few words: `{ name, url }` is enough. */
  readonly card: AgentCardInput
  /** Does the work of one message. May throw: the task then fails, and what was thrown goes to `onError` only. */
  readonly execute: Execute<P>
  /**
   * Where tasks live: a `TaskManager`, or a `DurableTaskManager`, which other processes may share. Default is a new
   * `TaskManager` that drops ended tasks when it is full.
   */
  readonly tasks?: M | undefined
  /** Who sends this request; `null` and `undefined` are answered with 401. Default is that tasks belong to nobody. */
  readonly authenticate?:
    ((request: Request) => P | null | undefined | Promise<P | null | undefined>) | undefined
  /**
   * Who the principal of this id is, for runs that begin again after their process has died: a manager with
   * `recover: 'restart'` has them. Default is that such runs have no principal.
   */
  readonly principalOf?: ((id: string) => P | Promise<P>) | undefined
  /** The card for those who have authenticated, or what makes it for one of them. Requires `authenticate`. */
  readonly extendedCard?:
    AgentCardInput | ((principal: P) => AgentCardInput | Promise<AgentCardInput>) | undefined
  /** What becomes of a message to a task that is being worked on. Default is `'queue'`. */
  readonly onFollowUp?:
    FollowUpPolicy | ((message: Message, task: TaskSnapshot) => FollowUpPolicy) | undefined
  /** Refuses parts whose media type neither the card nor a skill lists. Default is `false`. */
  readonly checkInputModes?: boolean | undefined
  /** Is told what went wrong inside: no client is. Default is a warning of the process, where the runtime has them. */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined
  readonly limits?: HandlerLimits | undefined
  /**
   * What is spoken: of several that a request may be in, the first speaks. Default is `v1()`, `v0_3()`, `v0_1()`,
   * `kaos()`, `corvid()` and `litellm()` of `a2a-tasks/wire`.
   */
  readonly dialects?: readonly Dialect[] | undefined
  /** The `version` of the dialect that comes before the others: `'kaos'`. Default is the first. */
  readonly defaultDialect?: DialectName | undefined
  /** What no version has yet. Default is none of it. */
  readonly preview?: PreviewOptions | undefined
  /**
   * How clients are told of changes by webhooks, or `false` for not at all. Default is that they are if the card has
   * `capabilities.pushNotifications`; with options they are, and the card says so.
   */
  readonly push?: PushOptions | false | undefined
  /** How often a silent stream says that it is alive, in ms. Default is `15_000` (15 seconds). */
  readonly heartbeatMs?: number | undefined
  /** How long a client of `preview.generation` may wait for a task to change, in ms. Default is `30_000` (30 seconds). */
  readonly longPollMs?: number | undefined
  /** How long clients may keep the card, in seconds. Default is `300`. */
  readonly cardMaxAgeSeconds?: number | undefined
  /** Default is the runtime's clock. */
  readonly clock?: Clock | undefined
  /** Makes the ids of messages and artifacts. Default is UUID v4. */
  readonly generateId?: GenerateId | undefined
}

export type CompleteLimits = { readonly [L in keyof HandlerLimits]-?: number }

/** {@link RequestHandlerOptions}, complete. */
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
  /** Absent where the agent sends no push notifications. */
  readonly push: PushSettings | undefined
}

/** What bindings need of {@link Settings}: they serve other task managers, too. */
export type BindingSettings<P extends Principal = Principal> = Pick<
  Settings<P>,
  'card' | 'authenticate' | 'onError' | 'limits' | 'dialects' | 'heartbeatMs' | 'cardMaxAgeSeconds' | 'clock'
>

const KEYS = [
  ...['card', 'execute', 'tasks', 'authenticate', 'extendedCard', 'onFollowUp', 'onError', 'limits'],
  ...['checkInputModes', 'principalOf'],
  ...[
    'dialects',
    'defaultDialect',
    'preview',
    'heartbeatMs',
    'longPollMs',
    'cardMaxAgeSeconds',
    'clock',
    'generateId',
    'push',
  ],
]
const LIMITS = {
  maxBodyBytes: 4_194_304,
  maxDepth: 100,
  runTimeoutMs: Infinity,
  maxRuns: 10_000,
  maxStreams: 100_000,
}
export const POLICIES: readonly unknown[] = ['queue', 'steer', 'reject']

/** @throws {TypeError | RangeError | A2AError} naming the option that makes no sense. */
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
  const dialects = withPreview(toDialects(given.dialects, given.defaultDialect), given.preview)
  const card = servedCard(given.card, dialects)
  const clock = given.clock ?? systemClock
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
    heartbeatMs: requireDelay('heartbeatMs', given.heartbeatMs ?? 15_000),
    longPollMs: requireDelay('longPollMs', given.longPollMs ?? 30_000),
    cardMaxAgeSeconds: requireFinite('cardMaxAgeSeconds', given.cardMaxAgeSeconds ?? 300),
    clock,
    push,
    generateId: given.generateId ?? randomId,
  }
}

/** Whoever is told of errors makes none. */
export function guarded(onError: NonNullable<RequestHandlerOptions['onError']>): Settings['onError'] {
  const report = (failure: unknown): void => reportError(failure, { during: 'onError' })
  return (...args) => {
    try {
      // It may be async: such a function is one without a result to its type.
      const tell: (...given: typeof args) => unknown = onError
      Promise.resolve(tell(...args)).catch(report)
    } catch (failure) {
      report(failure)
    }
  }
}

/** What the store failed of may end a run, and then be answered to who has sent its message: it is told once. */
function once(onError: Settings['onError']): Settings['onError'] {
  const told = new WeakSet<Error>()
  return (error, context) => {
    if (A2AError.is(error, 'STORE_FAILED')) {
      if (told.has(error)) return
      told.add(error)
    }
    onError(error, context)
  }
}

function withExtendedCard(card: AgentCard): AgentCard {
  return { ...card, capabilities: { ...card.capabilities, extendedAgentCard: true } }
}

export function requireTasks(tasks: object): void {
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
    const require = name === 'runTimeoutMs' ? requireDelay : requireFinite
    complete[name] = require(`limits.${name}`, value)
  }
  if ((complete['maxDepth'] ?? 0) > 1000) throw new RangeError('"limits.maxDepth" must be at most 1000')
  // It has every key of LIMITS.
  return complete as typeof LIMITS
}
