/**
 * Turns of tasks in a store: each begins where an earlier process has stopped, and stores how far it has come.
 *
 * @module
 */
import { letGo } from '../../remote/leases.js'
import type { StoredDocument } from '../../remote/stored-document.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { LeasedTasks } from '../../core/managers.js'
import type { TaskSnapshot } from '../../core/task.js'
import { randomId } from '../../runtime/ids.js'
import type { AgentWithProvider } from '../admission/agent-selection.js'
import type { Settings } from '../options.js'
import type { ProviderTask, TaskRef, TaskUpdate } from '../provider.js'
import { providerError } from '../providers/shared/service.js'
import type { RegisteredAgent } from '../registry/agent.js'
import { applyUpdate } from '../turns/apply-update.js'
import { toProviderTask } from '../turns/input.js'
import { isAtWork } from '../turns/tasks.js'
import { CANNOT_FOLLOW, type Turn, type TurnStart } from '../turns/turn.js'
import type { TurnPlace, Turns } from '../turns/turns.js'
import { isAt, refAt, type Position, type Positions } from './positions.js'

/** A task whose lease this process holds. */
export interface HeldTask {
  readonly task: TaskSnapshot
  readonly leased: LeasedTasks
  /** Whether the lease is the gateway's, which releases it after the turn. Otherwise it is a request handler's. */
  readonly isOwn: boolean
  /** Aborts when the caller no longer wants the task. */
  readonly signal?: AbortSignal | undefined
}

/** A turn to begin. */
export interface NewSharedTurn extends AgentWithProvider {
  readonly held: HeldTask
  /** Identifies the message over the life of several processes. */
  readonly messageId: string
  /** Absent when there is none, or an earlier process did not store it. */
  readonly message: TaskSnapshot['messages'][number] | undefined
  /** Follows this task of the service instead of sending the message. */
  readonly follow?: { readonly ref: TaskRef; readonly known?: TaskUpdate } | undefined
  /** Whether no earlier task has the context. */
  readonly isNewContext?: boolean | undefined
  readonly release: () => void
  readonly onLocated?: ((taskId: string) => void) | undefined
}

interface Located {
  readonly agent: RegisteredAgent
  readonly ref: TaskRef | undefined
}

export class SharedTurns {
  readonly #settings: Settings
  readonly #positions: Positions
  readonly #turns: Turns
  /** Where the tasks are that turns of this process follow. */
  readonly #located = new Map<string, Located>()
  /** The tasks whose leases the gateway holds. */
  readonly #held = new Set<string>()

  constructor(settings: Settings, positions: Positions, turns: Turns) {
    this.#settings = settings
    this.#positions = positions
    this.#turns = turns
  }

  located(taskId: string): Located | undefined {
    return this.#located.get(taskId)
  }

  /** Whether the gateway holds the lease for work that has begun. */
  holds(taskId: string): boolean {
    return this.#held.has(taskId)
  }

  /** From now on the gateway works on the task, until {@link letGo} is called or its turn is over. */
  hold(taskId: string): void {
    this.#held.add(taskId)
  }

  /** Releases a task. Closing the gateway hands unfinished tasks over instead. Never rejects. */
  async letGo(taskId: string, leased: LeasedTasks): Promise<void> {
    const state = leased.stateOf(taskId)
    const isUnfinished = state !== null && isAtWork(state)
    if (state !== null && !(isUnfinished && this.#turns.isClosed))
      await letGo(leased, taskId, this.#settings.backgroundClock)
    this.#held.delete(taskId)
  }

  /**
   * Sends the message, unless an earlier process has sent it: then follows the task at its service. If the service has not
   * responded to that process, its provider finds out whether it has the message. Where all this is impossible, fails the
   * task and resolves to `undefined`: no message is sent twice.
   */
  async begin(given: NewSharedTurn): Promise<Turn | undefined> {
    const { agent, messageId, message, follow, held } = given
    const document = await this.#positions.open(held.task)
    const { value: position } = document
    const ref = refAt(agent, position)
    const isSent = position?.messageId === messageId
    const known = follow?.known !== undefined || position === undefined ? follow : undefined
    const continued = isSent && known === undefined ? toContinue(given, position) : undefined
    if (continued !== undefined) return this.#begin(given, document, continued)
    if (known === undefined && (isSent || message === undefined)) {
      await this.#fail(given, document)
      return undefined
    }
    const start = known === undefined ? await this.#toSend(given, ref) : toFollow(known.ref, known.known)
    this.#turns.requireOpen()
    await document.update(() => ({
      ...toPosition(agent, messageId, known?.ref ?? ref),
      ...(start.mode !== 'follow' && { sending: toSending(start.task) }),
    }))
    return this.#begin(given, document, start)
  }

  async #toSend(
    { agent, message, held: { task }, isNewContext = false }: NewSharedTurn,
    ref: TaskRef | undefined,
  ): Promise<TurnStart> {
    if (message === undefined) throw new TypeError('There is no message to send')
    const isContinued = ref === undefined && !isNewContext
    const previous = isContinued ? await this.#positions.previousOf(task, agent) : undefined
    return { mode: 'stream', task: toProviderTask(task, message, ref, previous, randomId()) }
  }

  #begin(given: NewSharedTurn, document: StoredDocument<Position>, start: TurnStart): Turn {
    const { agent, provider, messageId, held, release, onLocated } = given
    const { task, leased, signal } = held
    const taskId = task.id
    this.#located.set(taskId, { agent, ref: start.mode === 'follow' ? start.ref : start.task.ref })
    const place: TurnPlace = {
      tasks: leased,
      signals: [leased.signalOf(taskId), ...(signal === undefined ? [] : [signal])],
      locate: (ref) => {
        if (leased.stateOf(taskId) === null) return false
        this.#located.set(taskId, { agent, ref })
        const next = toPosition(agent, messageId, ref)
        // A process that recovers the task finds the earlier position.
        if (!isSame(document.value, next))
          document.update(() => next).catch((error: unknown) => this.#report(error, given))
        return true
      },
      leave: (turn) => this.#leave(given, document, turn),
    }
    return this.#turns.begin({ agent, provider, taskId, place, start, release, onLocated })
  }

  /** Stores how far the turn has come, and releases the task. */
  async #leave(given: NewSharedTurn, document: StoredDocument<Position>, turn: Turn): Promise<void> {
    const { task, leased, isOwn } = given.held
    try {
      await document.settled()
      await leased.stored(task.id)
      const isOver = (await turn.canceling) ?? true
      const state = leased.stateOf(task.id)
      // A task that may still be at work at its service keeps its position: a search finds it, and cancels it again.
      if (state !== null && isTerminal(state) && isOver) await this.#positions.end(task, document)
      if (state !== null && isInterrupted(state))
        await document.update((value) => ({
          ...toPosition(turn.agent, given.messageId),
          ...value,
          isWaiting: true,
        }))
    } catch (error) {
      // A task that was lost is another process's.
      if (leased.stateOf(task.id) !== null) this.#report(error, given)
    }
    this.#located.delete(task.id)
    if (isOwn) await this.letGo(task.id, leased)
  }

  async #fail(given: NewSharedTurn, document: StoredDocument<Position>): Promise<void> {
    const { agent, held, release } = given
    const { task, leased, isOwn } = held
    release()
    this.#settings.statistics.begin(agent.id)('failed')
    const reason =
      'the process that sent the message has died, and the service has not said where it keeps the task'
    this.#report(providerError(agent.provider, agent, reason), given)
    const failure = { code: 'PROVIDER_ERROR', retryable: false }
    applyUpdate(leased, task.id, { state: 'failed', message: CANNOT_FOLLOW, failure })
    await leased.stored(task.id)
    await document.delete()
    if (isOwn) await this.letGo(task.id, leased)
  }

  #report(error: unknown, { agent, held }: NewSharedTurn): void {
    this.#settings.onError(error, { during: 'recover', taskId: held.task.id, agentId: agent.id })
  }
}

function toPosition({ id, provider }: RegisteredAgent, messageId: string, ref?: TaskRef): Position {
  return { agentId: id, provider, messageId, ...(ref !== undefined && { ref }) }
}

function toSending({ sendId = '', previous }: ProviderTask): Position['sending'] {
  return { sendId, ...(previous !== undefined && { previous }) }
}

/** How to go on with a message that an earlier process has sent, or was about to send. */
function toContinue(
  { agent, provider, message, held }: NewSharedTurn,
  position: Position,
): TurnStart | undefined {
  const ref = refAt(agent, position)
  const { sending } = isAt(agent, position) ? position : {}
  if (sending === undefined || message === undefined || provider.repeatTask === undefined)
    return ref && toFollow(ref)
  const { sendId, previous } = sending
  const task = toProviderTask(held.task, message, ref, previous, sendId)
  return { mode: 'repeat', task, repeatTask: provider.repeatTask.bind(provider) }
}

function toFollow(ref: TaskRef, known?: TaskUpdate): TurnStart {
  return { mode: 'follow', ref, ...(known !== undefined && { known }) }
}

function isSame(one: Position | undefined, other: Position): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
