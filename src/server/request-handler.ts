/**
 * `createRequestHandler`: an A2A agent from one function.
 *
 * @module
 */
import type { TaskManager } from '../core/task-manager.js'
import { bind, type BoundAgent } from './binding/bindings.js'
import { Agent } from './operations/operations.js'
import { toSettings, type RequestHandlerOptions } from './options.js'
import type { PushDeliveries } from './push/health.js'
import type { ServedTasks } from './tasks.js'
import type { Principal } from './caller.js'

/** An agent that answers requests over any HTTP layer, or without HTTP. */
export interface RequestHandler<
  P extends Principal = Principal,
  M extends ServedTasks = TaskManager,
> extends BoundAgent<P> {
  /** The manager of the options, or the handler's own. */
  readonly tasks: M
  /** The deliveries to webhooks: their health, the notifications that were given up, and redelivery. */
  readonly push: PushDeliveries
  /**
   * Accepts no more messages and lets runs end within `graceMs` (default 10 s); aborts the others, whose tasks fail, and
   * ends all streams. Runs that wait for the user are aborted at once, and their tasks keep waiting. Pending notifications
   * are delivered to webhooks in the rest of `graceMs`, or in one second if runs have used it up; `onError` receives what
   * could not be delivered. Over a `DurableTaskManager` everything is stored, and other processes continue what waits. The
   * manager is not closed.
   */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>
}

/**
 * Creates an A2A agent from one function: every operation of A2A 1.0 and 0.3, over JSON-RPC and HTTP+JSON.
 *
 * The result of a task is stored whether or not a client is connected. Each task has at most one run at a time, across all
 * processes. Clients see only the fixed text of internal errors, and only their own tasks.
 *
 * @throws {TypeError | RangeError | A2AError} naming the invalid option, or the path in the card.
 * @example
 * const handler = createRequestHandler({
 *   card: { name: 'Echo', url: 'http://localhost:3000' },
 *   execute: (run) => `You said: ${run.text}`,
 * })
 * createServer(toNodeListener(handler.fetch)).listen(3000)
 */
export function createRequestHandler<P extends Principal = Principal, M extends ServedTasks = TaskManager>(
  options: RequestHandlerOptions<P, M>,
): RequestHandler<P, M> {
  const settings = toSettings(options)
  const agent = new Agent(settings)
  // The manager of the options; where there is none, `M` is TaskManager, its default.
  return { ...bind(settings, agent), tasks: settings.tasks as M, push: agent.push }
}
