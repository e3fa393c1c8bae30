/**
 * Delegations of tasks in a store that other processes may share.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import type { JsonValue } from '../../core/json-types.js'
import type { LeasedTasks, SharedTasks } from '../../core/managers.js'
import type { Clock } from '../../runtime/clock.js'
import { SENT_TASK } from '../../runtime/document-kinds.js'
import { RunAbandoned } from '../run/run-errors.js'
import { inNote, leaseAs, letGo } from '../../remote/leases.js'
import {
  inProgress,
  type AgentReference,
  type DelegatedTask,
  type Delegations,
  type Position,
} from './positions.js'
import { StoredDocument } from '../../remote/stored-document.js'
import { isTaskEnd } from '../../core/errors.js'

/** Two workers on one task would overwrite each other's changes. */
const IN_USE =
  'in use by a run of a request handler, or by another replica. In a run, delegate a new task: sendTask(agent, await tasks.createTask({ skill, input }))'

/** Goes on with a task whose process has died. Its lease is held here. */
type Recover = (taskId: string, agent: AgentReference | undefined) => void

/**
 * One worker for each agent with a name, so that only processes that know the name recover its tasks, and one for all
 * others. The position of a task is a document beside it: it outlives the lease while the task waits for an answer.
 */
export class SharedDelegations implements Delegations {
  readonly #tasks: SharedTasks
  readonly #clock: Clock
  readonly #recover: Recover
  readonly #workers = new Map<string, LeasedTasks>()

  constructor(tasks: SharedTasks, names: readonly string[], clock: Clock, recover: Recover) {
    this.#tasks = tasks
    this.#clock = clock
    this.#recover = recover
    for (const name of names) this.#workers.set(name, this.#leaseAs(`delegation/${name}`))
    this.#workers.set('', this.#leaseAs('delegation'))
  }

  async begin(taskId: string, agent: AgentReference): Promise<DelegatedTask> {
    const leased = this.#leasesFor(agent)
    const acquired = await leased.acquire(taskId, { agent })
    if (acquired.type === 'elsewhere') throw inProgress(taskId, IN_USE)
    try {
      const { documents } = this.#tasks
      const document = await StoredDocument.open<Position>(documents, acquired.task, SENT_TASK)
      return new LeasedDelegation(taskId, leased, this.#clock, document)
    } catch (error) {
      await letGo(leased, taskId, this.#clock)
      throw error
    }
  }

  /** Releases a task that this process cannot continue with. */
  async letGo(taskId: string, agent: AgentReference): Promise<void> {
    await letGo(this.#leasesFor(agent), taskId, this.#clock)
  }

  #leasesFor(agent: AgentReference): LeasedTasks {
    const named = typeof agent === 'string' ? this.#workers.get(agent) : undefined
    return named ?? this.#workers.get('') ?? this.#leaseAs('delegation')
  }

  #leaseAs(worker: string): LeasedTasks {
    return leaseAs(this.#tasks, worker, ({ id }, note) => this.#recover(id, agentIn(note)))
  }
}

class LeasedDelegation implements DelegatedTask {
  readonly id: string
  readonly tasks: LeasedTasks
  readonly signal: AbortSignal
  readonly #clock: Clock
  readonly #document: StoredDocument<Position>

  constructor(id: string, leased: LeasedTasks, clock: Clock, document: StoredDocument<Position>) {
    this.#clock = clock
    this.#document = document
    this.id = id
    this.tasks = leased
    this.signal = abandonedSignal(leased.signalOf(id))
  }

  get position(): Position | undefined {
    return this.#document.value
  }

  save(position: Position): Promise<void> {
    return this.#document.update(() => position)
  }

  forget(): Promise<void> {
    return this.#document.delete()
  }

  async release(): Promise<void> {
    await this.#document.settled()
    await letGo(this.tasks, this.id, this.#clock)
  }
}

/** The agent that {@link SharedDelegations.begin} has noted. */
function agentIn(note: JsonValue | undefined): AgentReference | undefined {
  // All notes of these workers are made by `begin`.
  return inNote(note, 'agent') as AgentReference | undefined
}

/** A signal that aborts with a `RunAbandoned` when this process no longer has the task. */
function abandonedSignal(signal: AbortSignal): AbortSignal {
  const controller = new AbortController()
  onAbort(signal, () => {
    const { reason } = signal as { readonly reason: unknown }
    controller.abort(isTaskEnd(reason) ? reason : new RunAbandoned(reason))
  })
  return controller.signal
}
