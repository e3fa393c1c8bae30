/**
 * `createRequestHandler`: an A2A agent from one function.
 *
 * @module
 */
import type { SharedTasks } from '../core/managers.js'
import type { TaskManager } from '../core/task-manager.js'
import { bind, type BoundAgent } from './binding/bindings.js'
import { Agent } from './operations/operations.js'
import {
  toSettings,
  type AnyHandlerOptions,
  type DispatchingHandlerOptions,
  type RequestHandlerOptions,
  type StructuredHandlerOptions,
} from './options.js'
import type { CompleteLimits } from './limits.js'
import type { PushDeliveries } from './push/health.js'
import type { TaskId } from './binding/removed-tasks.js'
import type { StandardSchema } from './standard-schema.js'
import type { HandlerStats } from './stats.js'
import { lastSeen, type AnyTasks } from './tasks.js'
import type { Principal } from './caller.js'

/** An agent that answers requests over any HTTP layer, or without HTTP. */
export interface RequestHandler<
  P extends Principal = Principal,
  M extends AnyTasks = TaskManager,
> extends BoundAgent<P> {
  /** The manager of the options, or the handler's own. */
  readonly tasks: M
  /** The deliveries to webhooks: their health, the notifications that failed, and redelivery. */
  readonly push: PushDeliveries
  /** The limits of the options, with their defaults. */
  readonly limits: CompleteLimits
  /** That of the options. */
  readonly principalOf: ((id: string) => P | Promise<P>) | undefined
  /** What this handler is doing now. O(runs and webhooks), without a request to a store. */
  readonly stats: () => HandlerStats
  /**
   * Shuts the handler down. It accepts no more messages, lets runs end within `graceMs` (default 10,000 ms), aborts the
   * others, whose tasks fail, and ends all streams. Runs that wait for the user are aborted at once, and their tasks keep
   * waiting.
   *
   * In the rest of `graceMs`, or in one second if the runs have used it up, streams write their last events and pending
   * notifications are sent to webhooks; `onError` receives those that could not be delivered. Resolves when each reader has
   * its last event or has left, and waits no longer than this for a reader that stalls. After that, you can close all
   * connections at once: with `toNodeListener(handler.fetch)` the operating system has all bytes, and over Fetch the server
   * has read each body to its end.
   *
   * Over a `DurableTaskManager` all changes are stored, and other processes continue the waiting tasks and notifications;
   * with `recover: 'resume'` also the tasks of aborted runs, which do not fail. The manager is not closed.
   */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>
}

/** Creates an A2A agent whose results a schema checks, the option `output`. `execute` returns what the schema accepts. */
export function createRequestHandler<
  P extends Principal = Principal,
  M extends AnyTasks = TaskManager,
  S extends StandardSchema = StandardSchema,
>(options: StructuredHandlerOptions<P, M, S>): RequestHandler<P, M>
/**
 * Creates an A2A agent from one function: every operation of A2A 1.0 and 0.3, over JSON-RPC and HTTP+JSON.
 *
 * The result of a task is stored whether or not a client is connected. Each task has at most one run at a time, across all
 * processes. Clients see only the fixed text of internal errors. With `authenticate` they see only their own tasks; without
 * it, clients share the tasks whose id or context they know.
 *
 * @throws {TypeError | RangeError | A2AError} naming the invalid option, or the path in the card.
 * @example
 * const handler = createRequestHandler({
 *   card: { name: 'Echo', url: 'http://localhost:3000' },
 *   execute: (run) => `You said: ${run.text}`,
 * })
 * createServer(toNodeListener(handler.fetch)).listen(3000)
 */
export function createRequestHandler<P extends Principal = Principal, M extends AnyTasks = TaskManager>(
  options: RequestHandlerOptions<P, M>,
): RequestHandler<P, M>
/**
 * Creates an A2A agent that accepts, stores, streams and answers, and runs nothing: workers do its turns, with the option
 * `dispatch`. See `createWorker`.
 */
export function createRequestHandler<P extends Principal = Principal, M extends SharedTasks = SharedTasks>(
  options: DispatchingHandlerOptions<P, M>,
): RequestHandler<P, M>
/** For programs that pass the type of the principal, and not that of the manager. */
export function createRequestHandler<P extends Principal>(
  options: RequestHandlerOptions<P, AnyTasks>,
): RequestHandler<P, AnyTasks>
export function createRequestHandler<P extends Principal, M extends AnyTasks>(
  options: AnyHandlerOptions<P>,
): RequestHandler<P, M> {
  const settings = toSettings(options)
  const agent = new Agent(settings)
  const isInMemory = (task: TaskId): boolean => {
    const seen = lastSeen(settings.tasks, task.taskId)
    return seen !== undefined && (task.createdAt ?? seen.createdAt) === seen.createdAt
  }
  // The manager of the options; where there is none, `M` is TaskManager, its default.
  return {
    ...bind(settings, agent, isInMemory),
    tasks: settings.tasks as AnyTasks as M,
    push: agent.push,
    limits: settings.limits,
    principalOf: settings.principalOf,
    stats: () => agent.stats(),
  }
}
