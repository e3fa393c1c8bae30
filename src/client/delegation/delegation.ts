/**
 * Tasks of ours that other agents do.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import type { TaskManager } from '../../core/task-manager.js'
import type { Part, TaskSnapshot } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import { keepAliveClock } from '../../runtime/clock.js'
import { Abortion } from '../../http/abort.js'
import { LocalCopy, TaskReplicator } from './local-copy.js'
import type { MessageContent } from '../message.js'
import { isTerminal } from '../run/remote-task.js'
import type { RunHandle, RunOptions, RunResult, TaskRunner } from '../run/run-types.js'

/** How a client for another agent is made: without the credentials of anybody. */
export interface ClientFactory {
  readonly connect: (url: string) => Promise<TaskRunner>
  readonly of: (card: object) => TaskRunner
}

/** A task of ours that its agent has not ended. */
interface StartedDelegation {
  readonly client: TaskRunner
  readonly handle: RunHandle
  /** The user's latest answer that was sent. */
  readonly sentAnswerId: string | undefined
}

/** The tasks that are being done, whoever delegated them. */
const tasksInProgress = new WeakMap<TaskManager, Set<string>>()

/** The agents that are handed tasks, and how far they are with them. */
export class DelegationManager {
  readonly #manager: TaskManager
  readonly #factory: ClientFactory
  /** By name or URL. */
  readonly #clientsByName: Map<string, Promise<TaskRunner>>
  /** By card. */
  readonly #clientsByCard = new WeakMap<object, TaskRunner>()
  /** By the ids of our tasks. */
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
      !URL.canParse(agent)
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

  /** The caller need not wait for a card. */
  async #awaitClient(
    client: Promise<TaskRunner>,
    { signal, timeoutMs = Infinity }: RunOptions,
  ): Promise<TaskRunner> {
    const abortion = new Abortion(keepAliveClock, signal)
    try {
      abortion.arm(timeoutMs)
      return await abortion.race(() => client)
    } finally {
      abortion.dispose()
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
    const abortion = new AbortController()
    const signals = [this.#manager.signalOf(id), options.signal].filter((signal) => signal !== undefined)
    const abort = (): void => abortion.abort(signals.find(({ aborted }) => aborted)?.reason)
    for (const signal of signals) signal.addEventListener('abort', abort)
    if (signals.some(({ aborted }) => aborted)) abort()
    const runOptions: RunOptions = {
      ...options,
      signal: abortion.signal,
      onUpdate(update) {
        replica.applyEvent(update.event)
        return options.onUpdate?.(update)
      },
    }
    try {
      const result = await startOrResume(client, local, handle, answer, runOptions)
      replica.conclude(result)
      return result
    } catch (error) {
      replica.conclude()
      throw error
    } finally {
      for (const signal of signals) signal.removeEventListener('abort', abort)
    }
  }

  /** Tasks that have ended here, or are gone, are not gone on with. */
  #forgetFinished(): void {
    for (const taskId of this.#started.keys()) {
      const local = this.#manager.peekTask(taskId)
      if (local === null || isTerminal(local)) this.#started.delete(taskId)
    }
  }
}

/** The task of ours, if it can still be done. */
function requireLive(manager: TaskManager, taskId: string): TaskSnapshot {
  const local = manager.peekTask(taskId)
  if (local === null) throw new A2AError('TASK_NOT_FOUND', `Task not found: ${taskId}`, { taskId })
  const { state } = local
  if (!isTerminal(local)) return local
  throw new A2AError('TASK_TERMINAL', `Cannot send task in terminal state: ${state}`, { taskId, state })
}

/** Of this copy of the library, or of another. */
function isClient(agent: object): agent is TaskRunner {
  return 'sendTask' in agent
}

/** What the task is given, as a message; a task without input is its skill. Its metadata is nobody else's business. */
function toContent({ input, skill }: TaskSnapshot): MessageContent {
  return { parts: [partOf(input ?? skill)], metadata: { skill } }
}

/** What the user has said since the agent asked, and was not sent yet. */
function unsentAnswer(
  { state, messages }: TaskSnapshot,
  { handle, sentAnswerId }: StartedDelegation,
): MessageContent | undefined {
  const last = messages.at(-1)
  if (state !== 'input-required' || last?.role !== 'user' || last.messageId === sentAnswerId) return undefined
  const { taskId, contextId } = handle
  return { messageId: last.messageId, parts: structuredClone(last.parts) as Part[], taskId, contextId }
}

/** Goes on with what was begun; what the agent has no trace of was not. */
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
  // A copy: what a snapshot holds is frozen.
  return typeof input === 'string' ? { text: input } : { data: structuredClone(input) as JsonValue }
}
