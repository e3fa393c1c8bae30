/**
 * Tasks of ours that other agents do.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import type { TaskManager } from '../../core/task-manager.js'
import type { JsonValue, Part, TaskSnapshot } from '../../core/task.js'
import { Abortion } from '../../http/abort.js'
import { Copy, Mirror } from './local-copy.js'
import type { MessageContent } from '../message.js'
import { clientClock } from '../platform.js'
import { hasEnded } from '../run/remote-task.js'
import type { RunHandle, RunOptions, RunResult, TaskRunner } from '../run/run-types.js'

/** How a client for another agent is made: without the credentials of anybody. */
export interface Clients {
  readonly connect: (url: string) => Promise<TaskRunner>
  readonly of: (card: object) => TaskRunner
}

/** A task of ours that its agent has not ended. */
interface Begun {
  readonly client: TaskRunner
  readonly handle: RunHandle
  /** The user's latest answer that was sent. */
  readonly answered: string | undefined
}

/** The tasks that are being done, whoever delegated them. */
const busy = new WeakMap<TaskManager, Set<string>>()

/** The agents that are handed tasks, and how far they are with them. */
export class Delegates {
  readonly #manager: TaskManager
  readonly #clients: Clients
  /** By name or URL. */
  readonly #known: Map<string, Promise<TaskRunner>>
  /** By card. */
  readonly #made = new WeakMap<object, TaskRunner>()
  /** By the ids of our tasks. */
  readonly #begun = new Map<string, Begun>()

  constructor(manager: TaskManager, clients: Clients, agents: Readonly<Record<string, string | TaskRunner>>) {
    this.#manager = manager
    this.#clients = clients
    this.#known = new Map()
    for (const [name, agent] of Object.entries(agents)) {
      if (typeof agent !== 'string') this.#known.set(name, Promise.resolve(agent))
    }
  }

  async send(
    agent: string | object,
    url: string | undefined,
    taskId: string,
    options: RunOptions,
  ): Promise<RunResult> {
    const local = requireLive(this.#manager, taskId)
    if (typeof agent === 'string' && url === undefined && !this.#known.has(agent) && !URL.canParse(agent)) {
      throw invalidParams('agent', `${JSON.stringify(agent)} is neither a URL nor a name in "agents"`)
    }
    const current = busy.get(this.#manager) ?? new Set()
    busy.set(this.#manager, current)
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
      client = await this.#found(this.#clientOf(agent, url), options)
    } catch (error) {
      const isOurs = A2AError.is(error, 'REQUEST_ABORTED') || A2AError.is(error, 'REQUEST_TIMED_OUT')
      if (!isOurs) new Copy(this.#manager, taskId).end('failed', 'The agent cannot be reached')
      throw error
    }
    const last = this.#begun.get(taskId)
    const begun = last?.client === client ? last : undefined
    const answer = begun && answerIn(local, begun)
    const result = await this.#follow(client, local, begun?.handle, answer, options)
    const answered = answer?.messageId ?? begun?.answered
    if ('handle' in result) this.#begun.set(taskId, { client, handle: result.handle, answered })
    else this.#begun.delete(taskId)
    this.#forget()
    return result
  }

  /** The caller need not wait for a card. */
  async #found(
    client: Promise<TaskRunner>,
    { signal, timeoutMs = Infinity }: RunOptions,
  ): Promise<TaskRunner> {
    const abortion = new Abortion(clientClock, signal)
    try {
      abortion.arm(timeoutMs)
      return await abortion.race(() => client)
    } finally {
      abortion.dispose()
    }
  }

  #clientOf(agent: string | object, url: string | undefined): Promise<TaskRunner> {
    if (typeof agent !== 'string') return Promise.resolve(isClient(agent) ? agent : this.#clientBy(agent))
    const known = this.#known.get(agent)
    if (known !== undefined) return known
    const made = this.#clients.connect(url ?? agent)
    this.#known.set(agent, made)
    made.catch(() => this.#known.delete(agent))
    return made
  }

  #clientBy(card: object): TaskRunner {
    const client = this.#made.get(card) ?? this.#clients.of(card)
    this.#made.set(card, client)
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
    const follower = new Mirror(this.#manager, client.card.name).follow(undefined, { localId: id })
    const abortion = new AbortController()
    const signals = [this.#manager.signalOf(id), options.signal].filter((signal) => signal !== undefined)
    const abort = (): void => abortion.abort(signals.find(({ aborted }) => aborted)?.reason)
    for (const signal of signals) signal.addEventListener('abort', abort)
    if (signals.some(({ aborted }) => aborted)) abort()
    const followed: RunOptions = {
      ...options,
      signal: abortion.signal,
      onUpdate(update) {
        follower.heard(update.event)
        return options.onUpdate?.(update)
      },
    }
    try {
      const result = await proceed(client, local, handle, answer, followed)
      follower.conclude(result)
      return result
    } catch (error) {
      follower.conclude()
      throw error
    } finally {
      for (const signal of signals) signal.removeEventListener('abort', abort)
    }
  }

  /** Tasks that have ended here, or are gone, are not gone on with. */
  #forget(): void {
    for (const taskId of this.#begun.keys()) {
      const local = this.#manager.peekTask(taskId)
      if (local === null || hasEnded(local)) this.#begun.delete(taskId)
    }
  }
}

/** The task of ours, if it can still be done. */
function requireLive(manager: TaskManager, taskId: string): TaskSnapshot {
  const local = manager.peekTask(taskId)
  if (local === null) throw new A2AError('TASK_NOT_FOUND', `Task not found: ${taskId}`, { taskId })
  const { state } = local
  if (!hasEnded(local)) return local
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
function answerIn(
  { state, messages }: TaskSnapshot,
  { handle, answered }: Begun,
): MessageContent | undefined {
  const last = messages.at(-1)
  if (state !== 'input-required' || last?.role !== 'user' || last.messageId === answered) return undefined
  const { taskId, contextId } = handle
  return { messageId: last.messageId, parts: structuredClone(last.parts) as Part[], taskId, contextId }
}

/** Goes on with what was begun; what the agent has no trace of was not. */
async function proceed(
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
  const isNowhere = resumed.type === 'error' && resumed.error.code === 'TASK_NOT_FOUND'
  return isNowhere && handle.taskId === undefined ? await client.run(toContent(local), options) : resumed
}

function partOf(input: NonNullable<TaskSnapshot['input']>): Part {
  // A copy: what a snapshot holds is frozen.
  return typeof input === 'string' ? { text: input } : { data: structuredClone(input) as JsonValue }
}
