/**
 * Options of `createInspector`, and their checks.
 *
 * @module
 */
import type { A2AClient } from '../client/a2a-client.js'
import type { JournalRecorded, TaskEvent } from '../core/events.js'
import type { Lifecycle } from '../core/lifecycle.js'
import type { Backlog, MaybePromise, TaskDocuments } from '../core/managers.js'
import type { OwnerFilter, TaskFilter, TaskPage, TaskQuery } from '../core/queries.js'
import type { SubscribeOptions, TaskSubscription } from '../core/subscription.js'
import type { Task, TaskSnapshot } from '../core/task.js'
import type { TaskStreamEvent } from '../core/events.js'
import { systemClock, type Clock } from '../runtime/clock.js'
import {
  readOptions,
  requireClock,
  requireDelay,
  requireFunction,
  requireFunctions,
  requireMethods,
} from '../runtime/options.js'
import { reportError } from '../runtime/report.js'
import type { GatewayStats } from '../gateway/admission/statistics.js'
import type { AgentRegistry } from '../gateway/registry/registry.js'
import type { AgentCard } from '../schemas/agent-card.js'
import type { Principal } from '../server/caller.js'
import type { CompleteLimits } from '../server/limits.js'
import type { PushDeliveries } from '../server/push/health.js'
import type { Authorize, InspectorAction, InspectorAudit } from './access.js'
import { toActions } from './actions.js'
import { toHosts } from './hosts.js'

/** What an inspector reads of a task manager: a `TaskManager` and a `DurableTaskManager` have it. */
export interface InspectedTasks {
  readonly lifecycle: Lifecycle<string>
  readonly taskTimeoutMs?: number
  pageTasks(query?: TaskQuery<string> | null): MaybePromise<TaskPage<string>>
  countTasks(filter?: TaskFilter<string> | null): MaybePromise<number>
  getTask(taskId: string): MaybePromise<Task<string> | null>
  peekTask(taskId: string, filter?: OwnerFilter): MaybePromise<TaskSnapshot<string> | null>
  events(
    taskId: string,
    options?: { readonly after?: number | undefined },
  ): MaybePromise<TaskStreamEvent<string>[]>
  subscribe(taskId: string, options?: SubscribeOptions): TaskSubscription<string>
  cancelTask(taskId: string): MaybePromise<unknown>
  on(event: 'task:event', listener: (event: TaskEvent<string>) => void): unknown
  off(event: 'task:event', listener: (event: TaskEvent<string>) => void): unknown
  journal?(taskId: string): MaybePromise<JournalRecorded[]>
  deleteTask?(taskId: string): MaybePromise<unknown>
  /** Over a store only. */
  readonly documents?: TaskDocuments
  backlog?(): Promise<Backlog>
}

/** What an inspector uses of a request handler: its card, and its operations. */
export interface InspectedHandler {
  readonly card: AgentCard
  /** A method, so that handlers with any type of principal have it. Called without `this`. */
  dispatch(
    body: unknown,
    context?: { readonly principal?: Principal | null | undefined; readonly version?: string | undefined },
  ): Promise<object>
  /** Returns the principal with an id, in whose name the page sends messages to a task. Default is `{ id }`. */
  readonly principalOf?: ((id: string) => MaybePromise<Principal>) | undefined
  readonly push?: PushDeliveries
  /** The manager of its tasks, which must be the one that is shown. */
  readonly tasks?: object
  /** The limits of its turns and of its messages. */
  readonly limits?: Pick<CompleteLimits, 'maxSteps' | 'maxJournalBytes'> & {
    /** What each task may spend. */
    readonly budget?: CompleteLimits['budget']
    /** The largest message that the page sends, its files included. */
    readonly maxBodyBytes?: number
  }
  /** Serves the card, which the page checks for what clients would stumble on. */
  readonly fetch?: (request: Request) => Promise<Response>
}

/** What an inspector reads of a gateway: an `A2AGateway` has it. */
export interface InspectedGateway {
  readonly registry: Pick<AgentRegistry, 'list' | 'updateStatus' | 'checkHealth'>
  /** The manager of its tasks, which must be the one that is shown. */
  readonly tasks: object
  loadOf(agentId: string): number
  stats(agentId: string): Pick<GatewayStats, 'tasks' | 'completed' | 'failed' | 'durationMs' | 'spent'> | null
  waitMsOf(agentId: string): number
  readAgentOf(taskId: string): Promise<string | null>
}

/** What an inspector uses of schedules: those of `createSchedules` have it. */
export interface InspectedSchedules {
  list(): Promise<
    readonly {
      readonly name: string
      readonly next?: Date | undefined
      readonly isPaused: boolean
      readonly missed: 'skip' | 'last' | 'all'
    }[]
  >
  pause(name: string): Promise<void>
  resume(name: string): Promise<void>
}

/** Options of {@link createInspector}. */
export interface InspectorOptions {
  /** The manager whose tasks are shown: a `TaskManager`, or a `DurableTaskManager` over any store. Or pass `client`. */
  readonly tasks?: InspectedTasks
  /** Shows the tasks of a remote agent, as far as it shows them to this client. */
  readonly client?: A2AClient
  /** The handler that serves the tasks. Messages and cancellations go through it. */
  readonly handler?: InspectedHandler
  /** The deliveries to webhooks. Default is those of `handler`. */
  readonly push?: PushDeliveries
  /** The gateway whose tasks are shown: its agents have a page, for people who see the tasks of all owners. */
  readonly gateway?: InspectedGateway
  /** The schedules that begin tasks of this manager: they have a page, for people who see the tasks of all owners. */
  readonly schedules?: InspectedSchedules
  /**
   * The address of the trace of a task, such as a search for its id in the attribute `a2a.task.id`: see
   * `instrumentTasks`. `undefined` for none. Addresses that are not of `http:` or `https:` are reported to `onError`, and not
   * shown.
   */
  readonly traceUrl?: (task: TaskSnapshot<string>) => string | undefined
  /** Decides about each request. */
  readonly authorize: Authorize
  /**
   * The hosts at which people open the page, such as `'agent.example'`: those that its requests have as `Host`. `*.agent.example`
   * stands for all names below `agent.example`. A port matters only where browsers send no `Sec-Fetch-Site`: over plain http to
   * another machine, behind a proxy that leaves the port out of `Host`. Names of loopback are always among them, such as
   * `localhost`. Requests to any other host are refused: another site may let its name lead here.
   */
  readonly hosts?: readonly string[]
  /**
   * The actions that people may take. `true` allows all that the other options make possible. With `tasks` it needs
   * `handler`. Default is `false`: people see tasks, and change nothing.
   */
  readonly actions?: boolean | readonly InspectorAction[]
  /** Called before each action. If it throws, the action is not taken. */
  readonly onAction?: (audit: InspectorAudit) => void | Promise<void>
  /** Receives errors that the page shows only as a fixed text. Default is a warning of the process. */
  readonly onError?: (error: unknown) => void
  /** The time between two looks for changes that other processes make, in ms. Default is `1_000`. */
  readonly pollIntervalMs?: number
  /** Default is the platform's clock. */
  readonly clock?: Clock
}

/** Options that were checked. */
export interface Settings {
  readonly authorize: Authorize
  readonly hosts: readonly string[]
  readonly actions: readonly InspectorAction[]
  readonly onAction: (audit: InspectorAudit) => void | Promise<void>
  readonly onError: (error: unknown) => void
  readonly tasks: InspectedTasks | undefined
  readonly client: A2AClient | undefined
  readonly handler: InspectedHandler | undefined
  readonly push: PushDeliveries | undefined
  readonly gateway: InspectedGateway | undefined
  readonly schedules: InspectedSchedules | undefined
  readonly traceUrl: (task: TaskSnapshot<string>) => string | undefined
  readonly pollIntervalMs: number
  readonly clock: Clock
}

const KEYS = [
  ...['tasks', 'client', 'handler', 'push', 'authorize', 'actions', 'onAction', 'onError'],
  ...['gateway', 'schedules', 'traceUrl', 'pollIntervalMs', 'clock', 'hosts'],
]
const POLL_INTERVAL_MS = 1_000

/** @throws {TypeError | RangeError} naming the invalid option. */
export function toSettings(options: InspectorOptions): Settings {
  const given = readOptions(options, KEYS, 'createInspector')
  const { tasks, client, handler, gateway, schedules } = given
  const { clock = systemClock, pollIntervalMs = POLL_INTERVAL_MS } = given
  if (typeof given.authorize !== 'function') {
    throw new TypeError(
      '"authorize" must be a function: it decides who sees the tasks. To show all of them to all callers, pass () => ({})',
    )
  }
  requireFunctions(given, ['onAction', 'onError', 'traceUrl'])
  requireClock(clock)
  requireDelay('pollIntervalMs', pollIntervalMs, 10)
  requireSource(given)
  if (handler !== undefined) requireHandler(handler, given)
  if (gateway !== undefined) requireGateway(gateway, tasks)
  if (schedules !== undefined) requireSchedules(schedules, tasks)
  return {
    authorize: given.authorize,
    hosts: toHosts(given.hosts),
    actions: toActions(given),
    onAction: given.onAction ?? (() => undefined),
    onError:
      given.onError ?? ((error) => reportError(error, { during: 'A request to the inspector failed' })),
    tasks,
    client,
    handler,
    push: given.push ?? handler?.push,
    gateway,
    schedules,
    traceUrl: given.traceUrl ?? (() => undefined),
    pollIntervalMs,
    clock,
  }
}

type SourceOptions = Pick<InspectorOptions, 'tasks' | 'client'>

/** @throws {TypeError} */
function requireSource({ tasks, client }: SourceOptions): void {
  if ((tasks === undefined) === (client === undefined)) {
    throw new TypeError('createInspector needs either "tasks" or "client"')
  }
  if (tasks !== undefined)
    requireMethods('tasks', tasks, ['pageTasks', 'events', 'subscribe'], 'be a task manager')
  if (client !== undefined) requireMethods('client', client, ['listTasks', 'getTask'], 'be an A2AClient')
}

/** @throws {TypeError} */
function requireHandler(handler: InspectedHandler, { tasks, client }: SourceOptions): void {
  if (client !== undefined)
    throw new TypeError('"handler" cannot be used with "client", which sends messages itself')
  requireFunction('handler.dispatch', (handler as Partial<InspectedHandler>).dispatch)
  if (handler.tasks !== undefined && handler.tasks !== tasks) {
    throw new TypeError('"handler" and "tasks" have different managers: pass tasks: handler.tasks')
  }
}

/** @throws {TypeError} */
function requireGateway(gateway: InspectedGateway, tasks: InspectedTasks | undefined): void {
  requireMethods('gateway', gateway, ['loadOf', 'stats', 'waitMsOf', 'readAgentOf'], 'be an A2AGateway')
  if (gateway.tasks !== tasks) {
    throw new TypeError('"gateway" and "tasks" have different managers: pass tasks: gateway.tasks')
  }
}

/** @throws {TypeError} */
function requireSchedules(schedules: InspectedSchedules, tasks: InspectedTasks | undefined): void {
  requireMethods('schedules', schedules, ['list', 'pause', 'resume'], 'be those of createSchedules')
  if (tasks === undefined)
    throw new TypeError('"schedules" cannot be used with "client", whose tasks begin elsewhere')
}
