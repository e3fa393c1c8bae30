/**
 * Executor that serves all agents of a gateway as one agent.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { requireBoolean, requireFunctions, requireKnown } from '../runtime/options.js'
import { isTerminal } from '../core/lifecycle.js'
import type { Execute, Offer } from '../server/execute.js'
import type { Principal } from '../server/caller.js'
import type { Run } from '../server/run/run.js'
import { hasRetryAfter } from '../wire/errors.js'
import type { A2AGateway } from './gateway.js'
import type { HandleContents } from './turns/handle.js'
import { tasksFor, type GatewayTasks } from './turns/tasks.js'

/** Key in a message's metadata for the handle of its task, in both directions. */
const HANDLE_KEY = 'taskHandle'
/** Retry delay, in ms, for errors that have none. */
const RETRY_AFTER_MS = 5_000

/** Options of {@link gatewayRequestHandler}. */
export interface GatewayRequestHandlerOptions<P extends Principal = Principal> {
  /**
   * Selects the agent for the message of a new task. Default is the agent named by `metadata.agentId` or `agent_id` of
   * the message or the request, or by the request's tenant; without a name, the result of `findAgentForTask` for the
   * text.
   */
  readonly chooseAgent?: ((offer: Offer<P>) => string | undefined) | undefined
  /**
   * Adds the task's handle to its status message, so that clients can find the task in another process. Default is
   * `false`.
   */
  readonly announceHandles?: boolean | undefined
}

/**
 * Returns an executor for {@link createRequestHandler} that serves all agents of a gateway as one agent.
 *
 * - A task stays with its agent. Updates of the service stream to the client. Canceling the task cancels it at the service.
 *   A message to an interrupted task answers it.
 * - A message with `metadata.taskHandle` follows the task of that handle, if the task belongs to the same principal.
 * - Refused before a task is created: `AGENT_NOT_FOUND`, `AGENT_BUSY`, `CAPABILITY_MISMATCH`, `RATE_LIMITED`, and
 *   `TASK_NOT_FOUND` for a handle of another principal.
 *
 * @throws {TypeError} for an option that is unknown or of the wrong type.
 * @example
 * createRequestHandler({ card, tasks: gateway.tasks, execute: gatewayRequestHandler(gateway) })
 */
export function gatewayRequestHandler<P extends Principal = Principal>(
  gateway: A2AGateway<GatewayTasks>,
  options: GatewayRequestHandlerOptions<P> = {},
): Execute<P> {
  requireKnown(options, ['chooseAgent', 'announceHandles'], 'gatewayRequestHandler')
  requireFunctions(options, ['chooseAgent'])
  const { chooseAgent = namedAgent, announceHandles = false } = options
  requireBoolean('announceHandles', announceHandles)
  const runOn = async (run: Run<P>, agentId: string, handle?: HandleContents): Promise<void> => {
    await gateway.workOn(agentId, run.message, {
      open: () => {
        run.start()
        return run.task.id
      },
      owner: run.principal?.id,
      signal: run.signal,
      handle,
      onPlaced: announceHandles ? (taskId) => void announce(gateway, taskId) : undefined,
    })
    // A question replaces the status message that had the handle.
    if (announceHandles) await announce(gateway, run.task.id)
  }
  const follow = async (run: Run<P>, handle: string): Promise<void> => {
    const contents = await gateway.openHandle(handle, { owner: run.task.owner ?? null })
    await runOn(run, contents.agentId, contents)
  }
  // Selecting an agent moves it to the end of the rotation, so each message is selected for only once.
  const choices = new WeakMap<object, string>()
  const choose = (offer: Offer<P>): string => {
    const agentId = chooseAgent(offer) ?? selectAgent(gateway, offer.text)
    choices.set(offer.message, agentId)
    return agentId
  }
  const execute = async (run: Run<P>): Promise<void> => {
    const { message } = run
    const handle = textAt(message.metadata, HANDLE_KEY)
    const known = message.taskId === undefined ? null : await gateway.readAgentOf(message.taskId)
    const agentOf = (): string => known ?? choices.get(message) ?? choose(toOffer(run))
    const begin = (): Promise<void> =>
      known === null && handle !== undefined ? follow(run, handle) : runOn(run, agentOf())
    await (message.taskId === undefined ? begin() : keepWaitingWhenBusy(run, begin))
  }
  const accept = async (offer: Offer<P>, handle: string): Promise<void> => {
    const { agentId } = await gateway.openHandle(handle, { owner: offer.owner })
    gateway.requireRoom(agentId, offer.principal?.id)
  }
  return Object.assign(execute, {
    accept(offer: Offer<P>): void | Promise<void> {
      const handle = textAt(offer.message.metadata, HANDLE_KEY)
      if (handle !== undefined) return accept(offer, handle)
      gateway.requireRoom(choose(offer), offer.principal?.id)
    },
  })
}

/** Keeps an interrupted task interrupted when its agent is busy: a refusal would end it. */
async function keepWaitingWhenBusy(run: Run, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!A2AError.is(error) || !hasRetryAfter(error)) throw error
    const { retryAfterMs = RETRY_AFTER_MS } = error.data
    const seconds = Math.ceil(retryAfterMs / 1_000)
    // The promise is not awaited: the next message begins its own turn.
    run.requireInput(`The agent is busy: send this again in ${seconds} seconds`).catch(() => undefined)
  }
}

/** Builds the offer of a message that was not offered before: one to a task whose agent the gateway does not know. */
function toOffer<P extends Principal>(run: Run<P>): Offer<P> {
  const { message, text, metadata, tenant, principal, task } = run
  return { message, text, metadata, tenant, principal, owner: task.owner ?? null }
}

function namedAgent({ message, metadata, tenant }: Offer): string | undefined {
  for (const given of [message.metadata, metadata]) {
    const named = textAt(given, 'agentId') ?? textAt(given, 'agent_id')
    if (named !== undefined) return named
  }
  return tenant || undefined
}

function selectAgent(gateway: A2AGateway<GatewayTasks>, text: string): string {
  const agent = gateway.findAgentForTask(text)
  if (agent !== null) return agent.id
  throw new A2AError(
    'CAPABILITY_MISMATCH',
    'No online agent has a capability for this message: name an agent in metadata.agentId',
    { capabilities: [] },
  )
}

function textAt(metadata: Readonly<Record<string, unknown>> | undefined, key: string): string | undefined {
  const value = metadata?.[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Adds the handle to the task's status message. Handles of a terminal task are not announced. */
async function announce(gateway: A2AGateway<GatewayTasks>, taskId: string): Promise<void> {
  const handle = await gateway.handleOf(taskId).catch(() => null)
  const tasks = tasksFor(gateway, taskId)
  const task = tasks?.peekTask(taskId) ?? null
  if (handle === null || task === null || isTerminal(task.state)) return
  const { contextId, message: current } = task
  const parts = [{ text: 'An agent works on the task' }]
  const initial = { role: 'agent', parts, taskId, contextId, metadata: {} } as const
  const known = typeof current === 'object' ? current : initial
  if (textAt(known.metadata, HANDLE_KEY) !== undefined) return
  const message = { ...known, metadata: { ...known.metadata, [HANDLE_KEY]: handle } }
  try {
    tasks?.patchTask(taskId, { message })
  } catch {
    // The task has reached its size limit.
  }
}
