/**
 * Options of `createInspector`, and their checks.
 *
 * @module
 */
import type { A2AClient } from '../client/a2a-client.js'
import type { HistoryRecorded, TaskEvent } from '../core/events.js'
import type { Lifecycle } from '../core/lifecycle.js'
import type { TaskChildren } from '../core/lineage/children.js'
import type { MaybePromise } from '../core/managers.js'
import type { OwnerFilter, TaskFilter, TaskPage, TaskQuery } from '../core/queries.js'
import type { SubscribeOptions, TaskSubscription } from '../core/subscription.js'
import type { TaskSnapshot } from '../core/task.js'
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
import type { AgentCard } from '../schemas/agent-card.js'
import type { PushDeliveries } from '../server/push/health.js'
import { readActions, type Authorize, type InspectorAction, type InspectorAudit } from './access.js'

/** What an inspector reads of a task manager: a `TaskManager` and a `DurableTaskManager` have it. */
export interface InspectedTasks {
  readonly lifecycle: Lifecycle<string>
  pageTasks(query?: TaskQuery<string> | null): MaybePromise<TaskPage<string>>
  countTasks(filter?: TaskFilter<string> | null): MaybePromise<number>
  peekTask(taskId: string, filter?: OwnerFilter): MaybePromise<TaskSnapshot<string> | null>
  events(
    taskId: string,
    options?: { readonly after?: number | undefined },
  ): MaybePromise<TaskStreamEvent<string>[]>
  subscribe(taskId: string, options?: SubscribeOptions): TaskSubscription<string>
  cancelTask(taskId: string): MaybePromise<unknown>
  on(event: 'task:event', listener: (event: TaskEvent<string>) => void): unknown
  off(event: 'task:event', listener: (event: TaskEvent<string>) => void): unknown
  history?(taskId: string): MaybePromise<HistoryRecorded[]>
  children?(taskId: string): MaybePromise<TaskChildren>
}

/** What an inspector uses of a request handler: its card, and its operations. */
export interface InspectedHandler {
  readonly card: AgentCard
  readonly dispatch: (
    body: unknown,
    context?: { readonly principal?: { readonly id: string } | null; readonly version?: string },
  ) => Promise<object>
  readonly push?: PushDeliveries
  /** Serves the card, which the page checks for what clients would stumble on. */
  readonly fetch?: (request: Request) => Promise<Response>
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
  /** Decides about each request. */
  readonly authorize: Authorize
  /** The actions that people may take. Default is `false`: they see, and change nothing. */
  readonly actions?: boolean | readonly InspectorAction[]
  /** Called before each action. If it throws, the action is not taken. */
  readonly onAction?: (audit: InspectorAudit) => void | Promise<void>
  /** Receives errors that the page shows only as a fixed text. Default is a warning of the process. */
  readonly onError?: (error: unknown) => void
  /** The time between two looks for changes that other processes make, in ms. Default is `1_000`. */
  readonly pollIntervalMs?: number
  /** Default is the time of the platform. */
  readonly clock?: Clock
}

/** Options that were checked. */
export interface Settings {
  readonly authorize: Authorize
  readonly actions: readonly InspectorAction[]
  readonly onAction: (audit: InspectorAudit) => void | Promise<void>
  readonly onError: (error: unknown) => void
  readonly tasks: InspectedTasks | undefined
  readonly client: A2AClient | undefined
  readonly handler: InspectedHandler | undefined
  readonly push: PushDeliveries | undefined
  readonly pollIntervalMs: number
  readonly clock: Clock
}

const KEYS = [
  ...['tasks', 'client', 'handler', 'push', 'authorize', 'actions', 'onAction', 'onError'],
  ...['pollIntervalMs', 'clock'],
]
const POLL_INTERVAL_MS = 1_000

/** @throws {TypeError | RangeError} naming the invalid option. */
export function toSettings(options: InspectorOptions): Settings {
  const given = readOptions(options, KEYS, 'createInspector')
  const { tasks, client, handler, clock = systemClock, pollIntervalMs = POLL_INTERVAL_MS } = given
  if (typeof given.authorize !== 'function') {
    throw new TypeError(
      '"authorize" must be a function: it decides who sees the tasks. To show all of them to all callers, pass () => ({})',
    )
  }
  requireFunctions(given, ['onAction', 'onError'])
  requireClock(clock)
  requireDelay('pollIntervalMs', pollIntervalMs, 10)
  if ((tasks === undefined) === (client === undefined)) {
    throw new TypeError('createInspector needs either "tasks" or "client"')
  }
  if (tasks !== undefined)
    requireMethods('tasks', tasks, ['pageTasks', 'events', 'subscribe'], 'be a task manager')
  if (client !== undefined) requireMethods('client', client, ['listTasks', 'getTask'], 'be an A2AClient')
  if (handler !== undefined) {
    if (client !== undefined) throw new TypeError('"handler" is for "tasks": a client sends messages itself')
    requireFunction('handler.dispatch', (handler as Partial<InspectedHandler>).dispatch)
  }
  return {
    authorize: given.authorize,
    actions: readActions(given.actions, []),
    onAction: given.onAction ?? (() => undefined),
    onError:
      given.onError ?? ((error) => reportError(error, { during: 'A request to the inspector failed' })),
    tasks,
    client,
    handler,
    push: given.push ?? handler?.push,
    pollIntervalMs,
    clock,
  }
}
