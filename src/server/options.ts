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
} from '../runtime/options.js'
import { buildAgentCard, type AgentCardInput } from '../agent-card/build.js'
import { A2AError } from '../core/errors.js'
import { describe } from '../runtime/describe.js'
import { randomId, type GenerateId } from '../runtime/ids.js'
import { systemClock, type Clock } from '../runtime/clock.js'
import { RateLimiter, type RateLimitOptions } from '../runtime/rate-limit.js'
import { reportError } from '../runtime/report.js'
import type { SharedTasks } from '../core/managers.js'
import { TaskManager } from '../core/task-manager.js'
import type { Message, TaskSnapshot } from '../core/task.js'
import type { AgentCard } from '../schemas/agent-card.js'
import type { Dialect } from '../wire/dialect.js'
import { servedCard, toDialects, type DialectName } from './dialects.js'
import { toIdempotencySettings, type IdempotencyOptions, type IdempotencySettings } from './idempotency.js'
import {
  CODE_LIMITS,
  givenLimit,
  requireHeldByWorkers,
  toLimits,
  type CompleteLimits,
  type HandlerLimits,
} from './limits.js'
import { withPreview, type PreviewOptions } from './preview.js'
import { toPushSettings, withPush, type PushOptions, type PushSettings } from './push/options.js'
import { requireDispatch, TurnDispatcher, type Dispatch, type PriorityOf } from './dispatch.js'
import type { OnBudget } from './run/budget.js'
import { BudgetWindows } from './run/budget-windows.js'
import type { Execute, Outcome } from './execute.js'
import { toRetrySettings, type RetryOptions, type RetrySettings } from './retry.js'
import { requireSchema, type InputOf, type StandardSchema } from './standard-schema.js'
import { HEARTBEAT_MS } from './streams/sse.js'
import { isShared, requireTasks, type AnyTasks, type ServedTasks } from './tasks.js'
import type { Principal } from './caller.js'
import type { Nothing } from './nothing.js'

/**
 * How to handle a message to a task that has a run at work.
 *
 * - `'queue'`: adds the message to the conversation. It answers the next question of the run, or starts another run when
 *   this one returns. Only `run.complete()`, `fail()`, `reject()` and `cancel()`, or a run that
 *   throws, end the task before that.
 * - `'steer'`: adds the message to the conversation, where the run finds it in `run.messages`.
 * - `'reject'`: refuses the message.
 */
export type FollowUpPolicy = 'queue' | 'steer' | 'reject'

/** The circumstances of an error. */
export interface ErrorContext {
  /**
   * The step that failed: `execute`, `dispatch`, `authenticate`, `extendedCard`, `onFollowUp`, `onBudget`, `budget` (what was
   * spent is to be written to the store), `push`, `waitingTasks` (tasks that wait for the user are to be canceled), `schedule`, or
   * the name of the operation.
   * From a `LocalTaskManager`: `processFn`, `describeError` or `shutdown`.
   */
  readonly during: string
  readonly taskId?: string | undefined
  /** The id of the push configuration, if one is concerned. With `taskId` it is what `push.redeliver` takes. */
  readonly configId?: string | undefined
}

/** Options of {@link createRequestHandler}. */
export interface RequestHandlerOptions<
  P extends Principal = Principal,
  M extends AnyTasks = TaskManager,
  R = Outcome,
> {
  /** The agent's card. `{ name, url }` is enough; the rest has defaults. */
  readonly card: AgentCardInput
  /** Does the work of one message. If it throws, the task fails, and only `onError` receives the error. */
  readonly execute: Execute<P, R>
  /** A schema for the result: see {@link StructuredHandlerOptions}. */
  readonly output?: undefined
  /**
   * The manager of the tasks: a `TaskManager`, or a `DurableTaskManager`, whose tasks other processes may share. Default
   * is a new `TaskManager` that holds 1,000 tasks, with 10,000 events each, and removes ended tasks when it is full.
   */
  readonly tasks?: M | undefined
  /**
   * Returns the principal that sends a request; `null` or `undefined` refuses it with the HTTP status 401. Clients receive
   * an `A2AError` that it throws, such as `PERMISSION_DENIED` (403). Called for every request except that of the card, and
   * those whose principal is passed to `fetch`. Default is no authentication: tasks have no owner, and every client can
   * read and change a task whose id it knows, and list the tasks of a context whose id it knows.
   */
  readonly authenticate?:
    ((request: Request) => P | null | undefined | Promise<P | null | undefined>) | undefined
  /**
   * With `'shared'`, clients without a principal can list all tasks that have no owner. Default is that they must name a
   * `contextId`, and get `INVALID_PARAMS` otherwise.
   */
  readonly anonymous?: 'shared' | undefined
  /**
   * Returns the principal with this id, for runs that restart after their process has died (`recover: 'resume'` of the
   * manager). Default is that such runs have no principal. An inspector sends messages to a task as the one of its owner.
   */
  readonly principalOf?: ((id: string) => P | Promise<P>) | undefined
  /** The card for authenticated clients, or a function that returns it for one of them. Others get 401. */
  readonly extendedCard?:
    AgentCardInput | ((principal: P) => AgentCardInput | Promise<AgentCardInput>) | undefined
  /**
   * Calls `execute` again when it throws: steps that are done return what they returned, questions that were answered their
   * answers, and a failed step whose error `execute` threw is done again. `onError` receives the error of each attempt. The
   * attempts are counted in the journal of the task, so they survive the process. Default is one attempt.
   */
  readonly retry?: RetryOptions | undefined
  /** How to handle a message to a task that has a run at work. Default is `'queue'`. */
  readonly onFollowUp?:
    FollowUpPolicy | ((message: Message, task: TaskSnapshot) => FollowUpPolicy) | undefined
  /**
   * How a message that names no task and has the `messageId` of an earlier one, from the same principal and tenant, is
   * recognized: it gets the task or reply of the earlier one instead of new work, and is refused if its content differs.
   * `false` turns this off. Default is on for callers with a principal. The ids of their tasks derive from their messages.
   * Messages to a task are recognized in any case. `false` also accepts another message with an id that the task has: the id
   * gets a number after it.
   */
  readonly idempotency?: IdempotencyOptions | false | undefined
  /**
   * Whether a message that names a `contextId` and no task answers the one task of this context, principal and tenant that
   * waits for input, for clients that do not keep the `taskId`. If none or several wait, it begins a task. Unsafe where a user
   * begins several tasks in one context: a new request is then taken for the answer. Default is `false`.
   */
  readonly answerByContext?: boolean | undefined
  /**
   * Whether the journal keeps the stacks of errors, at most 4,000 characters of each. Clients do not receive them. An inspector
   * shows them to people whose access has `stacks`. Default is `false`.
   */
  readonly recordStacks?: boolean | undefined
  /** Whether to refuse parts whose media type neither the card nor a skill lists. Default is `false`. */
  readonly checkInputModes?: boolean | undefined
  /** Receives internal errors, which no client sees. Default is a process warning, where the runtime supports them. */
  readonly onError?: ((error: unknown, context: ErrorContext) => void) | undefined
  /** Limits on requests, runs, streams, and tasks that wait for the user. */
  readonly limits?: HandlerLimits | undefined
  /**
   * Decides about a task that has spent more than `limits.budget`, or with others more than `limits.ownerBudget` or
   * `limits.agentBudget`, before anything else of it begins: returns what to add to this budget, at least what was spent beyond
   * it. Otherwise, and when it throws or rejects, the task fails with `BUDGET_EXCEEDED`. What was added is kept with the task, or
   * for the window, so a replay does not ask again; a process that dies before may.
   * What is left of the budget of another agent, whose task has delegated this one, cannot be added to. Default is to fail.
   */
  readonly onBudget?: OnBudget | undefined
  /**
   * The rate limit of the requests of each principal, in all tenants together. Requests beyond it get `RATE_LIMITED` (429) with
   * the time to wait. All callers without a principal share one. The card is not limited. Each process counts its own requests.
   * Default is no limit.
   */
  readonly rateLimit?: RateLimitOptions | undefined
  /**
   * The dialects to serve, in order of preference: when a request fits several, the first is used. Default is `v1()` and
   * `v0_3()` of `a2a-tasks/wire`. Those of A2A 0.1, KAOS, corvid-agent and LiteLLM-RS are in `a2a-tasks/compat`.
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

/** Options of {@link createRequestHandler} with a schema for the result. */
export interface StructuredHandlerOptions<
  P extends Principal = Principal,
  M extends AnyTasks = TaskManager,
  S extends StandardSchema = StandardSchema,
> extends Omit<RequestHandlerOptions<P, M, InputOf<S> | Nothing>, 'output'> {
  /**
   * A Standard Schema for the result, such as one of zod. What `execute` returns is then always the result, whatever it looks
   * like: the schema checks it, and the value that the schema gives becomes a data part, or a text part if it is a string. A
   * result that it refuses fails the task, with a `TypeError` at `onError` that names each path; so does nothing, unless the
   * run has ended the task, asked the user or replied. A task completes with a checked result only: `run.complete()`, a reply
   * of a task, streams and generators are refused with a `TypeError`. Artifacts of `run.artifact()` are not checked.
   */
  readonly output: S
}

/** Options of {@link createRequestHandler} for a handler that runs nothing: workers do, see `createWorker`. */
export interface DispatchingHandlerOptions<
  P extends Principal = Principal,
  M extends SharedTasks = SharedTasks,
> extends Omit<RequestHandlerOptions<P, M>, (typeof CODE_OPTIONS)[number] | 'tasks' | 'limits'> {
  /** Those of requests. Those of the code are for the workers. */
  readonly limits?: Omit<HandlerLimits, (typeof CODE_LIMITS)[number]> | undefined
  /** Who does the turns of the tasks: `'store'`, or a function that puts them into a queue. */
  readonly dispatch: Dispatch
  /** Which turns come first. Default is those that have waited longest. */
  readonly priorityOf?: PriorityOf | undefined
  /** The manager of the tasks, over a store that the workers share. */
  readonly tasks: M
}

/** The options of a handler of any kind, over any manager. */
export type AnyHandlerOptions<P extends Principal> =
  RequestHandlerOptions<P, AnyTasks> | StructuredHandlerOptions<P, AnyTasks> | DispatchingHandlerOptions<P>

/** {@link RequestHandlerOptions} with defaults. */
export interface Settings<P extends Principal = Principal> {
  readonly card: AgentCard
  readonly execute: Execute<P, unknown>
  /** `undefined` where this process runs the code itself. */
  readonly dispatcher?: TurnDispatcher | undefined
  /** `undefined` where the turns that have waited longest come first. */
  readonly priorityOf?: PriorityOf | undefined
  /** Whether this process looks for turns that no other one does. Default is that every process does. */
  readonly takesDue?: (() => boolean) | undefined
  readonly output: StandardSchema | undefined
  readonly tasks: ServedTasks
  readonly authenticate:
    ((request: Request) => P | null | undefined | Promise<P | null | undefined>) | undefined
  readonly anonymous: 'shared' | undefined
  readonly principalOf: ((id: string) => P | Promise<P>) | undefined
  readonly extendedCard: ((principal: P) => AgentCardInput | Promise<AgentCardInput>) | undefined
  readonly onFollowUp: (message: Message, task: TaskSnapshot) => FollowUpPolicy
  readonly retry?: RetrySettings | undefined
  /** `undefined` where no message is recognized. */
  readonly idempotency: IdempotencySettings | undefined
  readonly answerByContext: boolean
  readonly recordStacks: boolean
  readonly checkInputModes: boolean
  readonly onError: (error: unknown, context: ErrorContext) => void
  readonly limits: CompleteLimits
  readonly onBudget: OnBudget | undefined
  /** `undefined` where there is no budget over a window. */
  readonly windows?: BudgetWindows | undefined
  /** By the id of the principal. `undefined` where requests have no rate limit. */
  readonly rateLimiter?: RateLimiter | undefined
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
  | 'card'
  | 'authenticate'
  | 'onError'
  | 'limits'
  | 'rateLimiter'
  | 'dialects'
  | 'heartbeatMs'
  | 'cardMaxAgeSeconds'
  | 'clock'
>

const KEYS = [
  'card',
  'execute',
  'dispatch',
  'priorityOf',
  'output',
  'tasks',
  'authenticate',
  'anonymous',
  'extendedCard',
  'onFollowUp',
  'retry',
  'onError',
  'limits',
  'onBudget',
  'rateLimit',
  'idempotency',
  'answerByContext',
  'recordStacks',
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
export const POLICIES: readonly unknown[] = ['queue', 'steer', 'reject']

function toPolicy(onFollowUp: RequestHandlerOptions['onFollowUp'] = 'queue'): Settings['onFollowUp'] {
  if (typeof onFollowUp === 'function') return onFollowUp
  if (POLICIES.includes(onFollowUp)) return () => onFollowUp
  throw new TypeError(
    `"onFollowUp" must be 'queue', 'steer', 'reject' or a function, got ${describe(onFollowUp)}`,
  )
}

type Switches = Pick<Settings, 'answerByContext' | 'checkInputModes' | 'recordStacks'>

/** @throws {TypeError} */
function toSwitches(given: { readonly [Name in keyof Switches]?: boolean | undefined }): Switches {
  const { answerByContext = false, checkInputModes = false, recordStacks = false } = given
  requireBoolean('answerByContext', answerByContext)
  requireBoolean('checkInputModes', checkInputModes)
  requireBoolean('recordStacks', recordStacks)
  return { answerByContext, checkInputModes, recordStacks }
}

/** What a handler that runs nothing would ignore. */
const CODE_OPTIONS = ['execute', 'output', 'retry', 'onBudget', 'recordStacks'] as const

type Given<P extends Principal> = Omit<RequestHandlerOptions<P, AnyTasks>, 'execute' | 'output'> & {
  readonly execute?: Execute<P, unknown> | undefined
  readonly output?: StandardSchema | undefined
  readonly dispatch?: Dispatch | undefined
  readonly priorityOf?: PriorityOf | undefined
}

/**
 * The code of the agent, which a handler with `dispatch` does not have.
 *
 * @throws {TypeError} also when the options have code that the handler would not run, or no store to share.
 */
function toCode<P extends Principal>(
  { dispatch, tasks, ...given }: Given<P>,
  where: string,
): Execute<P, unknown> {
  if (dispatch === undefined) {
    requireFunction('execute', given.execute)
    if (given.priorityOf !== undefined && where !== 'createWorker')
      throw new TypeError('"priorityOf" needs "dispatch": without it, each turn begins at once')
    // A function, as just checked.
    return given.execute as Execute<P, unknown>
  }
  requireDispatch(dispatch)
  requireHeldByWorkers(given.limits)
  const name =
    CODE_OPTIONS.find((option) => given[option] !== undefined) ?? givenLimit(given.limits, CODE_LIMITS)
  if (name !== undefined)
    throw new TypeError(
      `A handler with "dispatch" runs nothing: pass "${name}" to createWorker, not to createRequestHandler`,
    )
  if (tasks === undefined || !isShared(requireTasks(tasks)))
    throw new TypeError('"dispatch" needs "tasks" that workers can share: a DurableTaskManager')
  return () => undefined
}

/** @throws {TypeError | RangeError | A2AError} naming the invalid option. */
export function toSettings<P extends Principal>(
  options: AnyHandlerOptions<P>,
  where = 'createRequestHandler',
): Settings<P> {
  const given: Given<P> = readOptions(options, KEYS, where)
  const { extendedCard, authenticate, anonymous, principalOf, dispatch, priorityOf } = given
  requireExtendedCard(extendedCard)
  const execute = toCode(given, where)
  requireFunctions(given, ['authenticate', 'principalOf', 'priorityOf', 'onError', 'onBudget', 'generateId'])
  const policy = toPolicy(given.onFollowUp)
  if (given.output !== undefined) requireSchema(given.output)
  const switches = toSwitches(given)
  const dialects = withPreview(toDialects(given.dialects, given.defaultDialect), given.preview)
  const card = servedCard(given.card, dialects)
  const tasks =
    given.tasks === undefined
      ? new TaskManager({ whenFull: 'evict', eventLogSize: 10_000 })
      : requireTasks(given.tasks)
  const clock = given.clock ?? systemClock
  requireClock(clock)
  const push = toPushSettings(given.push, card, clock)
  if (![undefined, 'shared'].includes(anonymous)) {
    throw new TypeError(`"anonymous" must be 'shared', got ${describe(anonymous)}`)
  }
  const limits = toLimits(given.limits, where, undefined, isShared(tasks))
  requireBudget(limits, given.onBudget, tasks)
  const onError = once(given.onError === undefined ? reportError : guarded(given.onError))
  return {
    card: withPush(extendedCard === undefined ? card : withExtendedCard(card), push),
    execute,
    priorityOf,
    dispatcher: dispatch && new TurnDispatcher(dispatch, onError),
    output: given.output,
    tasks,
    authenticate,
    anonymous,
    principalOf,
    extendedCard: typeof extendedCard === 'object' ? () => extendedCard : extendedCard,
    retry: toRetrySettings(given.retry, where),
    onFollowUp: policy,
    idempotency: toIdempotencySettings(given.idempotency),
    ...switches,
    onError,
    limits,
    onBudget: given.onBudget,
    windows: toWindows(limits, { clock, tasks, onError }),
    rateLimiter: given.rateLimit && new RateLimiter(given.rateLimit, where, clock),
    dialects,
    heartbeatMs: requireDelay('heartbeatMs', given.heartbeatMs ?? HEARTBEAT_MS),
    longPollMs: requireDelay('longPollMs', given.longPollMs ?? 30_000),
    cardMaxAgeSeconds: requireFinite('cardMaxAgeSeconds', given.cardMaxAgeSeconds ?? 300),
    clock,
    push,
    generateId: given.generateId ?? randomId,
  }
}

/** @throws {TypeError} for a budget that nothing would hold, or that is not there. */
function requireBudget(limits: CompleteLimits, onBudget: OnBudget | undefined, tasks: ServedTasks): void {
  const [option] = (['budget', 'ownerBudget', 'agentBudget'] as const).filter(
    (name) => limits[name] !== undefined,
  )
  if (onBudget !== undefined && option === undefined)
    throw new TypeError('"onBudget" needs "limits.budget", "limits.ownerBudget" or "limits.agentBudget"')
  if (option !== undefined && !isShared(tasks) && tasks.recordJournal === undefined)
    throw new TypeError(
      `"limits.${option}" needs a manager that keeps journals: a TaskManager or a DurableTaskManager`,
    )
}

function toWindows(
  { ownerBudget, agentBudget }: CompleteLimits,
  { clock, tasks, onError }: Pick<Settings, 'clock' | 'tasks' | 'onError'>,
): BudgetWindows | undefined {
  if (ownerBudget === undefined && agentBudget === undefined) return undefined
  const documents = isShared(tasks) ? tasks.documents : undefined
  return new BudgetWindows(
    { ownerBudget, agentBudget },
    { clock, documents, onError: (error) => onError(error, { during: 'budget' }) },
  )
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

function requireExtendedCard(given: AnyHandlerOptions<never>['extendedCard']): void {
  // What a function returns is checked for each client.
  if (typeof given === 'object') toExtendedCard(given)
}

/** @throws {TypeError} for an invalid card, which is an error of the integrator, not of the client. */
export function toExtendedCard(input: AgentCardInput): AgentCard {
  try {
    return buildAgentCard(input)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new TypeError(`"extendedCard" is not a card: ${reason}`, { cause })
  }
}

function withExtendedCard(card: AgentCard): AgentCard {
  return { ...card, capabilities: { ...card.capabilities, extendedAgentCard: true } }
}
