/**
 * Tasks of ours that other agents do.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { TaskManager } from '../core/task-manager.js'
import type { JsonValue, Part, TaskSnapshot } from '../core/task.js'
import type { A2AClient } from './a2a-client.js'
import { Copy, Mirror } from './mirror.js'
import type { MessageContent } from './options.js'
import { hasEnded } from './remote-task.js'
import type { RunHandle, RunOptions, RunResult } from './run-types.js'

/** How a client for another agent is made: without the credentials of anybody. */
export interface Clients {
  readonly connect: (url: string) => Promise<A2AClient>
  readonly of: (card: object) => A2AClient
}

/** A task of ours that its agent has not ended. */
interface Begun {
  readonly client: A2AClient
  readonly handle: RunHandle
}

/** The agents that are handed tasks, and how far they are with them. */
export class Delegates {
  readonly #manager: TaskManager
  readonly #clients: Clients
  /** By name or URL. */
  readonly #known: Map<string, Promise<A2AClient>>
  /** By the ids of our tasks. */
  readonly #begun = new Map<string, Begun>()
  /** The tasks of ours that are being done. */
  readonly #busy = new Set<string>()

  constructor(manager: TaskManager, clients: Clients, agents: Readonly<Record<string, string | A2AClient>>) {
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
    if (this.#busy.has(taskId)) {
      throw new A2AError('UNSUPPORTED_OPERATION', `Task ${taskId} is with an agent already`, {
        operation: 'sendTask',
      })
    }
    this.#busy.add(taskId)
    try {
      return await this.#send(agent, url, local, options)
    } finally {
      this.#busy.delete(taskId)
    }
  }

  async #send(
    agent: string | object,
    url: string | undefined,
    local: TaskSnapshot,
    options: RunOptions,
  ): Promise<RunResult> {
    const { id: taskId } = local
    let client: A2AClient
    try {
      client = await this.#clientOf(agent, url)
    } catch (error) {
      new Copy(this.#manager, taskId).end('failed', 'The agent cannot be reached')
      throw error
    }
    const begun = this.#begun.get(taskId)
    const result = await this.#follow(
      client,
      local,
      begun?.client === client ? begun.handle : undefined,
      options,
    )
    if ('handle' in result && result.handle.taskId !== undefined)
      this.#begun.set(taskId, { client, handle: result.handle })
    else this.#begun.delete(taskId)
    this.#forget()
    return result
  }

  #clientOf(agent: string | object, url: string | undefined): Promise<A2AClient> {
    if (typeof agent !== 'string') return Promise.resolve(isClient(agent) ? agent : this.#clients.of(agent))
    const known = this.#known.get(agent)
    if (known !== undefined) return known
    const made = this.#clients.connect(url ?? agent)
    this.#known.set(agent, made)
    made.catch(() => this.#known.delete(agent))
    return made
  }

  async #follow(
    client: A2AClient,
    local: TaskSnapshot,
    handle: RunHandle | undefined,
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
      const content = handle === undefined ? toContent(local) : answerIn(local, handle)
      const result =
        content === undefined && handle !== undefined
          ? await client.resume(handle, followed)
          : await client.run(content ?? toContent(local), followed)
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
function isClient(agent: object): agent is A2AClient {
  return 'sendTask' in agent
}

/** What the task is given, as a message; a task without input is its skill. Its metadata is nobody else's business. */
function toContent({ input, skill }: TaskSnapshot): MessageContent {
  return { parts: [partOf(input ?? skill)], metadata: { skill } }
}

/** What the user has said since the agent asked. */
function answerIn(
  { state, messages }: TaskSnapshot,
  { taskId, contextId }: RunHandle,
): MessageContent | undefined {
  const last = messages.at(-1)
  if (state !== 'input-required' || last?.role !== 'user') return undefined
  return { messageId: last.messageId, parts: structuredClone(last.parts) as Part[], taskId, contextId }
}

function partOf(input: NonNullable<TaskSnapshot['input']>): Part {
  // A copy: what a snapshot holds is frozen.
  return typeof input === 'string' ? { text: input } : { data: structuredClone(input) as JsonValue }
}
