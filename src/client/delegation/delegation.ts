/**
 * Delegation of local tasks to remote agents.
 *
 * @module
 */
import { isTerminal } from '../../core/lifecycle.js'
import { A2AError, invalidParams } from '../../core/errors.js'
import type { TaskManager } from '../../core/task-manager.js'
import type { Part, TaskSnapshot } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import { keepAliveClock } from '../../runtime/clock.js'
import { AbortScope } from '../../http/abort.js'
import { LocalCopy, replicateRun, TaskReplicator } from './local-copy.js'
import type { MessageContent } from '../message.js'
import type { RunHandle, RunOptions, RunResult, TaskRunner } from '../run/run-types.js'
import { parseUrl } from '../../runtime/url.js'

/** Makes clients for agents that are given by URL or card: without credentials. */
export interface ClientFactory {
  readonly connect: (url: string) => Promise<TaskRunner>
  readonly of: (card: object) => TaskRunner
}

/** A delegated task that its agent has not finished. */
interface StartedDelegation {
  readonly client: TaskRunner
  readonly handle: RunHandle
  /** The id of the last answer of the user that was sent. */
  readonly sentAnswerId: string | undefined
}

/** Ids of the tasks that an agent works on, by manager: several clients may delegate tasks of one manager. */
const tasksInProgress = new WeakMap<TaskManager, Set<string>>()

/** Delegates tasks of one manager, and resumes those that their agents have not finished. */
export class DelegationManager {
  readonly #manager: TaskManager
  readonly #factory: ClientFactory
  /** By name or URL. */
  readonly #clientsByName: Map<string, Promise<TaskRunner>>
  /** By card. */
  readonly #clientsByCard = new WeakMap<object, TaskRunner>()
  /** By the id of the local task. */
  readonly #started = new Map<string, StartedDelegation>()

  constructor(
    manager: TaskManager,
    factory: ClientFactory,
    agents: Readonly<Record<string, string | TaskRunner>>,
  ) {
    this.#manager = manager
    this.#factory = factory
    this.#clientsByName = new Map()
    for (const [name, agent] of Object.entries(agents)) {
      if (typeof agent !== 'string') this.#clientsByName.set(name, Promise.resolve(agent))
    }
  }

  /** Runs the local task `taskId` at `agent`. `url` is the URL of an agent that is given by name. */
  async send(
    agent: string | object,
    url: string | undefined,
    taskId: string,
    options: RunOptions,
  ): Promise<RunResult> {
    const local = requireLive(this.#manager, taskId)
    if (
      typeof agent === 'string' &&
      url === undefined &&
      !this.#clientsByName.has(agent) &&
      parseUrl(agent) === undefined
    ) {
      throw invalidParams('agent', `${JSON.stringify(agent)} is neither a URL nor a name in "agents"`)
    }
    const current = tasksInProgress.get(this.#manager) ?? new Set()
    tasksInProgress.set(this.#manager, current)
    if (current.has(taskId)) {
      throw new A2AError('UNSUPPORTED_OPERATION', `Task ${taskId} is with an agent already`, {
        operation: 'sendTask',
      })
    }
    current.add(taskId)
    try {
      return await this.#send(agent, url, local, options)
    } finally {
      current.delete(taskId)
    }
  }

  async #send(
    agent: string | object,
    url: string | undefined,
    local: TaskSnapshot,
    options: RunOptions,
  ): Promise<RunResult> {
    const { id: taskId } = local
    let client: TaskRunner
    try {
      client = await this.#awaitClient(this.#clientOf(agent, url), options)
    } catch (error) {
      const isCallerAbort = A2AError.is(error, 'REQUEST_ABORTED') || A2AError.is(error, 'REQUEST_TIMED_OUT')
      if (!isCallerAbort) new LocalCopy(this.#manager, taskId).finish('failed', 'The agent cannot be reached')
      throw error
    }
    const last = this.#started.get(taskId)
    const started = last?.client === client ? last : undefined
    const answer = started && unsentAnswer(local, started)
    const result = await this.#follow(client, local, started?.handle, answer, options)
    const sentAnswerId = answer?.messageId ?? started?.sentAnswerId
    if ('handle' in result) this.#started.set(taskId, { client, handle: result.handle, sentAnswerId })
    else this.#started.delete(taskId)
    this.#forgetFinished()
    return result
  }

  /** Waits for a client within the limits of the caller. Others may wait for the same client. */
  async #awaitClient(
    client: Promise<TaskRunner>,
    { signal, timeoutMs = Infinity }: RunOptions,
  ): Promise<TaskRunner> {
    const scope = new AbortScope(keepAliveClock, signal)
    try {
      scope.arm(timeoutMs)
      return await scope.race(() => client)
    } finally {
      scope.dispose()
    }
  }

  #clientOf(agent: string | object, url: string | undefined): Promise<TaskRunner> {
    if (typeof agent !== 'string') return Promise.resolve(isClient(agent) ? agent : this.#clientBy(agent))
    const known = this.#clientsByName.get(agent)
    if (known !== undefined) return known
    const connecting = this.#factory.connect(url ?? agent)
    this.#clientsByName.set(agent, connecting)
    connecting.catch(() => this.#clientsByName.delete(agent))
    return connecting
  }

  #clientBy(card: object): TaskRunner {
    const client = this.#clientsByCard.get(card) ?? this.#factory.of(card)
    this.#clientsByCard.set(card, client)
    return client
  }

  async #follow(
    client: TaskRunner,
    local: TaskSnapshot,
    handle: RunHandle | undefined,
    answer: MessageContent | undefined,
    options: RunOptions,
  ): Promise<RunResult> {
    const { id } = local
    const replica = new TaskReplicator(this.#manager, client.card.name).startCall(undefined, { localId: id })
    const controller = new AbortController()
    const signals = [this.#manager.signalOf(id), options.signal].filter((signal) => signal !== undefined)
    const abort = (): void => controller.abort(signals.find(({ aborted }) => aborted)?.reason)
    for (const signal of signals) signal.addEventListener('abort', abort)
    if (signals.some(({ aborted }) => aborted)) abort()
    try {
      return await replicateRun(replica, { ...options, signal: controller.signal }, (runOptions) =>
        startOrResume(client, local, handle, answer, runOptions),
      )
    } finally {
      for (const signal of signals) signal.removeEventListener('abort', abort)
    }
  }

  /** Forgets tasks that have ended locally or were deleted. */
  #forgetFinished(): void {
    for (const taskId of this.#started.keys()) {
      const local = this.#manager.peekTask(taskId)
      if (local === null || isTerminal(local.state)) this.#started.delete(taskId)
    }
  }
}

/** The local task, if it is not terminal. */
function requireLive(manager: TaskManager, taskId: string): TaskSnapshot {
  const local = manager.peekTask(taskId)
  if (local === null) throw new A2AError('TASK_NOT_FOUND', `Task not found: ${taskId}`, { taskId })
  const { state } = local
  if (!isTerminal(local.state)) return local
  throw new A2AError('TASK_TERMINAL', `Cannot send task in terminal state: ${state}`, { taskId, state })
}

/** Recognises clients by shape: they may come from another copy of the library. */
function isClient(agent: object): agent is TaskRunner {
  return 'sendTask' in agent
}

/** The message that starts the remote task: the local input, else the skill. The local metadata is not sent. */
function toContent({ input, skill }: TaskSnapshot): MessageContent {
  return { parts: [partOf(input ?? skill)], metadata: { skill } }
}

/** The user's answer to the agent's question, unless it was sent already. */
function unsentAnswer(
  { state, messages }: TaskSnapshot,
  { handle, sentAnswerId }: StartedDelegation,
): MessageContent | undefined {
  const last = messages.at(-1)
  if (state !== 'input-required' || last?.role !== 'user' || last.messageId === sentAnswerId) return undefined
  const { taskId, contextId } = handle
  return { messageId: last.messageId, parts: structuredClone(last.parts) as Part[], taskId, contextId }
}

/** Sends the user's answer, resumes the earlier run, or starts one: also where the agent has no trace of an earlier one. */
async function startOrResume(
  client: TaskRunner,
  local: TaskSnapshot,
  handle: RunHandle | undefined,
  answer: MessageContent | undefined,
  options: RunOptions,
): Promise<RunResult> {
  if (answer !== undefined) return await client.run(answer, options)
  const isResumable = handle !== undefined && (handle.taskId ?? handle.contextId) !== undefined
  if (!isResumable) return await client.run(toContent(local), options)
  const resumed = await client.resume(handle, options)
  const isUnknownToAgent = resumed.type === 'error' && resumed.error.code === 'TASK_NOT_FOUND'
  return isUnknownToAgent && handle.taskId === undefined
    ? await client.run(toContent(local), options)
    : resumed
}

function partOf(input: NonNullable<TaskSnapshot['input']>): Part {
  // Copied, because snapshots are frozen.
  return typeof input === 'string' ? { text: input } : { data: structuredClone(input) as JsonValue }
}
