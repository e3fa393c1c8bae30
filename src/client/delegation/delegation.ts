/**
 * Delegation of local tasks to remote agents.
 *
 * @module
 */
import { A2AError, invalidParams, type AnyA2AError } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { JsonObject } from '../../core/json-types.js'
import type { TaskSnapshot } from '../../core/task.js'
import { keepAliveClock, systemClock, type Clock } from '../../runtime/clock.js'
import { randomId } from '../../runtime/ids.js'
import { sleep } from '../../runtime/timers.js'
import { parseUrl } from '../../runtime/url.js'
import { AbortScope } from '../../http/abort.js'
import { isInconclusive, isUnreadable } from '../run/patience.js'
import type { RunOptions, RunResult, TaskRunner } from '../run/run-types.js'
import { cancelAbandoned } from './cancellations.js'
import { isShared } from '../../remote/leases.js'
import { LocalCopy } from './local-copy.js'
import {
  inProgress,
  LocalDelegations,
  type AgentReference,
  type ClientTasks,
  type DelegatedTask,
  type Delegations,
  type Position,
} from './positions.js'
import { SharedDelegations } from './shared-delegations.js'
import { runTurn } from './turn.js'

/** Makes clients for agents that are given by URL or card: without credentials. */
export interface ClientFactory {
  readonly connect: (url: string) => Promise<TaskRunner>
  readonly of: (card: object) => TaskRunner
}

/** Agents by name: their URLs, or clients. */
type Agents = Readonly<Record<string, string | TaskRunner>>

export interface DelegationSettings {
  readonly agents?: Agents | undefined
  readonly clock?: Clock | undefined
}

const UNREACHABLE = 'The agent cannot be reached'
/** Attempts to continue with the task of a process that has died, and the pause between them, in ms. */
const MAX_ATTEMPTS = 10
const ATTEMPT_PAUSE_MS = 30_000

/** Ids of the tasks that an agent works on, by manager: several clients may delegate tasks of one manager. */
const tasksInProgress = new WeakMap<ClientTasks, Set<string>>()

/** Delegates tasks of one manager, and resumes those that their agents have not finished. */
export class DelegationManager {
  readonly #manager: ClientTasks
  readonly #factory: ClientFactory
  readonly #agents: Agents
  readonly #clock: Clock
  readonly #delegations: Delegations
  readonly #inProgress: Set<string>
  /** By name or URL. */
  readonly #clientsByName = new Map<string, Promise<TaskRunner>>()
  /** By card. */
  readonly #clientsByCard = new WeakMap<object, TaskRunner>()
  readonly #clientIds = new WeakMap<TaskRunner, string>()

  constructor(
    manager: ClientTasks,
    factory: ClientFactory,
    // Work that no caller waits for does not keep the process alive.
    { agents = {}, clock = systemClock }: DelegationSettings,
  ) {
    this.#manager = manager
    this.#factory = factory
    this.#agents = agents
    this.#clock = clock
    this.#inProgress = tasksInProgress.get(manager) ?? new Set()
    tasksInProgress.set(manager, this.#inProgress)
    for (const [name, agent] of Object.entries(agents)) {
      if (typeof agent !== 'string') this.#clientsByName.set(name, Promise.resolve(agent))
    }
    if (isShared(manager)) {
      const shared = new SharedDelegations(manager, Object.keys(agents), clock, (taskId, agent) => {
        // Otherwise a call of `sendTask` waits for the task, and continues with it.
        if (!this.#inProgress.has(taskId)) void this.#recover(shared, taskId, agent)
      })
      this.#delegations = shared
      cancelAbandoned(manager, this, clock)
    } else this.#delegations = new LocalDelegations(manager)
  }

  /** Runs the local task `taskId` at `agent`. */
  async send(agent: string | object, taskId: string, options: RunOptions): Promise<RunResult> {
    requireLive(await this.#manager.peekTask(taskId), taskId)
    if (typeof agent === 'string' && !Object.hasOwn(this.#agents, agent) && parseUrl(agent) === undefined) {
      throw invalidParams('agent', `${JSON.stringify(agent)} is neither a URL nor a name in "agents"`)
    }
    const reference = this.#referenceOf(agent)
    return await this.#exclusively(taskId, reference, async (delegated) => {
      let client: TaskRunner
      try {
        client = await this.#awaitClient(this.#clientOf(agent), options)
      } catch (error) {
        const isCallerAbort = A2AError.is(error, 'REQUEST_ABORTED') || A2AError.is(error, 'REQUEST_TIMED_OUT')
        if (!isCallerAbort) new LocalCopy(delegated.tasks, taskId).finish('failed', UNREACHABLE)
        throw error
      }
      const task = requireLive(delegated.tasks.peekTask(taskId), taskId)
      return await runTurn(delegated, task, client, reference, options)
    })
  }

  /** Cancels the task of `position` at its agent. Never rejects. Resolves to whether it has ended there. */
  async cancel({ agent, handle }: Position): Promise<boolean> {
    const known = toAgent(agent)
    if (known === undefined) return false
    try {
      const client = await this.#clientOf(known)
      const result = await client.resume(handle, { signal: AbortSignal.abort() })
      return result.task !== undefined && isTerminal(result.task.state)
    } catch {
      return false
    }
  }

  /**
   * Goes on with the task of a process that has died. No caller waits for it, so it fails if the agent cannot be reached, and at
   * once if the agent refuses.
   */
  async #recover(
    shared: SharedDelegations,
    taskId: string,
    agent: AgentReference | undefined,
  ): Promise<void> {
    const known = agent && toAgent(agent)
    if (agent === undefined || known === undefined) {
      await shared.letGo(taskId, agent ?? '')
      return
    }
    await this.#exclusively(taskId, agent, async (delegated) => {
      const { tasks, signal } = delegated
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        const task = tasks.peekTask(taskId)
        if (task === null || isTerminal(task.state)) return
        const reason = await this.#failureOf(delegated, task, known, agent)
        if (reason === undefined) return
        if (isFinal(reason)) {
          new LocalCopy(tasks, taskId).finish('failed', reason.message)
          return
        }
        await sleep(ATTEMPT_PAUSE_MS, signal, this.#clock)
      }
      new LocalCopy(tasks, taskId).finish('failed', UNREACHABLE)
    }).catch(() => undefined)
  }

  /** Runs a turn. Resolves to why it could not, if so. Never rejects. */
  async #failureOf(
    delegated: DelegatedTask,
    task: TaskSnapshot,
    known: string | object,
    agent: AgentReference,
  ): Promise<unknown> {
    try {
      const result = await runTurn(delegated, task, await this.#clientOf(known), agent, {})
      return result.type === 'error' ? result.error : undefined
    } catch (error) {
      return error
    }
  }

  /** Runs `work` while this process has the task for itself. */
  async #exclusively<T>(
    taskId: string,
    agent: AgentReference,
    work: (delegated: DelegatedTask) => Promise<T>,
  ): Promise<T> {
    if (this.#inProgress.has(taskId)) throw inProgress(taskId)
    this.#inProgress.add(taskId)
    try {
      const delegated = await this.#delegations.begin(taskId, agent)
      try {
        return await work(delegated)
      } finally {
        await delegated.release()
      }
    } finally {
      this.#inProgress.delete(taskId)
    }
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

  #clientOf(agent: string | object): Promise<TaskRunner> {
    if (typeof agent !== 'string') return Promise.resolve(isClient(agent) ? agent : this.#clientBy(agent))
    const known = this.#clientsByName.get(agent)
    if (known !== undefined) return known
    const named = Object.hasOwn(this.#agents, agent) ? this.#agents[agent] : undefined
    const connecting = this.#factory.connect(typeof named === 'string' ? named : agent)
    this.#clientsByName.set(agent, connecting)
    connecting.catch(() => this.#clientsByName.delete(agent))
    return connecting
  }

  #clientBy(card: object): TaskRunner {
    const client = this.#clientsByCard.get(card) ?? this.#factory.of(card)
    this.#clientsByCard.set(card, client)
    return client
  }

  /** How other processes find the agent. A client that has no name is known by that of its card, and here by itself. */
  #referenceOf(agent: string | object): AgentReference {
    if (typeof agent === 'string') return agent
    // A card is JSON.
    if (!isClient(agent)) return { card: JSON.parse(JSON.stringify(agent)) as JsonObject }
    const name = Object.keys(this.#agents).find((each) => this.#agents[each] === agent)
    if (name !== undefined) return name
    if (isShared(this.#manager)) return { client: agent.card.name }
    const client = this.#clientIds.get(agent) ?? randomId()
    this.#clientIds.set(agent, client)
    return { client }
  }
}

/** The local task, if it is not terminal. */
function requireLive(local: TaskSnapshot | null, taskId: string): TaskSnapshot {
  if (local === null) throw new A2AError('TASK_NOT_FOUND', `Task not found: ${taskId}`, { taskId })
  const { state } = local
  if (!isTerminal(local.state)) return local
  throw new A2AError('TASK_TERMINAL', `Cannot send task in terminal state: ${state}`, { taskId, state })
}

/** Whether a later attempt leads to the same: the agent refuses, or must not be asked. */
function isFinal(error: unknown): error is AnyA2AError {
  if (!A2AError.is(error) || error.code === 'INTERNAL' || error.code === 'STORE_FAILED') return false
  return !isInconclusive(error) && !isUnreadable(error)
}

/** Recognises clients by shape: they may come from another copy of the library. */
function isClient(agent: object): agent is TaskRunner {
  return 'sendTask' in agent
}

/** The agent of a reference, unless it was a client without a name. */
function toAgent(agent: AgentReference): string | object | undefined {
  if (typeof agent === 'string') return agent
  return 'card' in agent ? agent.card : undefined
}
