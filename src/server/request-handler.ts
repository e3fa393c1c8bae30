/**
 * An agent as one function from a request to a response.
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

export interface RequestHandler<
  P extends Principal = Principal,
  M extends ServedTasks = TaskManager,
> extends BoundAgent<P> {
  readonly tasks: M
  /** The deliveries to webhooks: their health, the notifications that were given up, and redelivery. */
  readonly push: PushDeliveries
  /**
   * Takes no new work, lets runs end within `graceMs` (default 10 s), aborts the rest, whose tasks fail, and ends all
   * streams. Runs that wait for the user are aborted at once; their tasks go on waiting. Webhooks are told of all that
   * has happened within what is left of `graceMs`, or a second where runs have used it up; `onError` hears of what
   * could not be delivered. Over a `DurableTaskManager` all is stored, and other processes go on with what waits; the
   * manager is left as it is.
   */
  readonly close: (options?: { readonly graceMs?: number }) => Promise<void>
}

/**
 * Makes an A2A agent of one function: every operation of A2A 1.0 and 0.3, over JSON-RPC and HTTP+JSON.
 *
 * A task's result is stored whether or not anybody listens. Each task has one run at a time, in whichever process.
 * Clients see no more of an error than its fixed text, and no task but their own.
 *
 * @throws {TypeError | RangeError | A2AError} naming the option that makes no sense, or the path in the card.
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
