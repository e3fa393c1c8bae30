/**
 * The gateway as an agent.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { isTerminal } from '../core/lifecycle.js'
import type { Execute, Offer } from '../server/options.js'
import type { Principal } from '../server/caller.js'
import type { Run } from '../server/runs/run.js'
import { hasRetryAfter } from '../wire/errors.js'
import type { A2AGateway } from './gateway.js'
import type { HandleContents } from './turns/handle.js'

/** Under this key of a message's metadata stands the handle of the task: told by us, and taken from clients. */
const HANDLE_KEY = 'taskHandle'
/** When to answer again, where nobody knows better. */
const RETRY_AFTER_MS = 5_000

export interface GatewayRequestHandlerOptions<P extends Principal = Principal> {
  /**
   * Which agent gets the message of a new task. Default is the one that `metadata.agentId` or `agent_id` of the message or the
   * request names, or the request's tenant; with none of them, the one that `findAgentForTask` finds for its text.
   */
  readonly chooseAgent?: ((offer: Offer<P>) => string | undefined) | undefined
  /** Tells clients the handle of each task in its status, for when this process is gone. Default is `false`. */
  readonly announceHandles?: boolean | undefined
}

/**
 * What does the work of an agent that is all agents of a gateway:
 * `createRequestHandler({ card, tasks: gateway.tasks, execute: gatewayRequestHandler(gateway) })`.
 *
 * A task stays with its agent. What services tell streams to the client, canceling the task cancels it there, and a message to a
 * task that waits is its answer. A message with `metadata.taskHandle` follows the task of that handle, if it is the same
 * principal's. A request that no agent takes is refused before there is a task: `AGENT_NOT_FOUND`, `AGENT_BUSY`,
 * `CAPABILITY_MISMATCH`, `RATE_LIMITED`, and `TASK_NOT_FOUND` for a handle that is not the caller's.
 */
export function gatewayRequestHandler<P extends Principal = Principal>(
  gateway: A2AGateway,
  options: GatewayRequestHandlerOptions<P> = {},
): Execute<P> {
  const { chooseAgent = namedAgent, announceHandles = false } = options
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
    // A question has taken the place of what said it before.
    if (announceHandles) await announce(gateway, run.task.id)
  }
  const follow = async (run: Run<P>, handle: string): Promise<void> => {
    const contents = await gateway.openHandle(handle, { owner: run.task.owner ?? null })
    await runOn(run, contents.agentId, contents)
  }
  // To choose is to take turns: of each message once.
  const choices = new WeakMap<object, string>()
  const choose = (offer: Offer<P>): string => {
    const agentId = chooseAgent(offer) ?? selectAgent(gateway, offer.text)
    choices.set(offer.message, agentId)
    return agentId
  }
  const execute = (run: Run<P>): Promise<void> => {
    const { message } = run
    const handle = textAt(message.metadata, HANDLE_KEY)
    const known = message.taskId === undefined ? null : gateway.agentOf(message.taskId)
    const agentOf = (): string => known ?? choices.get(message) ?? choose(toOffer(run))
    const begin = (): Promise<void> =>
      known === null && handle !== undefined ? follow(run, handle) : runOn(run, agentOf())
    return message.taskId === undefined ? begin() : keepWaitingWhenBusy(run, begin)
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

/** Who takes no task now does not end one that waits for its user: it waits on. */
async function keepWaitingWhenBusy(run: Run, work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!A2AError.is(error) || !hasRetryAfter(error)) throw error
    const { retryAfterMs = RETRY_AFTER_MS } = error.data
    const seconds = Math.ceil(retryAfterMs / 1_000)
    // The next message is its answer, and begins another turn.
    run.requireInput(`The agent is busy: send this again in ${seconds} seconds`).catch(() => undefined)
  }
}

/** Of a message that nobody was asked to accept: one to a task of which the gateway knows no agent. */
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

function selectAgent(gateway: A2AGateway, text: string): string {
  const agent = gateway.findAgentForTask(text)
  if (agent !== null) return agent.id
  throw new A2AError(
    'CAPABILITY_MISMATCH',
    'No agent that is online says that it can do this: name one as metadata.agentId',
    { capabilities: [] },
  )
}

function textAt(metadata: Readonly<Record<string, unknown>> | undefined, key: string): string | undefined {
  const value = metadata?.[key]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A status message says it, since nothing else of a task can be added to: the one that there is, with one thing more. */
async function announce(gateway: A2AGateway, taskId: string): Promise<void> {
  const handle = await gateway.handleOf(taskId).catch(() => null)
  const task = gateway.tasks.peekTask(taskId)
  if (handle === null || task === null || isTerminal(task.state)) return
  const { contextId, message: current } = task
  const parts = [{ text: 'An agent works on the task' }]
  const initial = { role: 'agent', parts, taskId, contextId, metadata: {} } as const
  const known = typeof current === 'object' ? current : initial
  if (textAt(known.metadata, HANDLE_KEY) !== undefined) return
  const message = { ...known, metadata: { ...known.metadata, [HANDLE_KEY]: handle } }
  try {
    gateway.tasks.patchTask(taskId, { message })
  } catch {
    // There is no room left in the task for it.
  }
}
