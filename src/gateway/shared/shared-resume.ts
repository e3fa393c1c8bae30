/**
 * Resumption of tasks in a store: by handle, by polling their service, and after the death of the process that followed them.
 *
 * @module
 */
import { A2AError, taskNotFound } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { JsonValue } from '../../core/json-types.js'
import type { LeasedTasks, SharedTasks } from '../../core/managers.js'
import type { TaskSnapshot } from '../../core/task.js'
import { inNote } from '../../remote/leases.js'
import type { AgentSelector, AgentWithProvider } from '../admission/agent-selection.js'
import type { Settings } from '../options.js'
import type { RegisteredAgent } from '../registry/agent.js'
import type { TaskRef, TaskUpdate } from '../provider.js'
import { applyUpdate } from '../turns/apply-update.js'
import type { HandleContents } from '../turns/handle.js'
import { fetchUpdate, isTerminalUpdate, resolveTarget } from '../turns/resume.js'
import { SharedAttempts } from '../turns/shared-attempts.js'
import { cancelAt, SERVICE_FAILED } from '../turns/turn.js'
import type { Turns } from '../turns/turns.js'
import { refAt, type Positions } from './positions.js'
import type { SharedTurns } from './shared-turns.js'
import type { Workers } from './workers.js'

/** In place of the id of the message of a task that was resumed by its handle. */
const RESUMED = ''

/** What the resumer works with. */
export interface SharedParts {
  readonly settings: Settings
  readonly tasks: SharedTasks
  readonly selector: AgentSelector
  readonly turns: Turns
  readonly positions: Positions
  readonly sharedTurns: SharedTurns
  readonly workers: Workers
}

export class SharedResumer {
  readonly #parts: SharedParts
  readonly #attempts = new SharedAttempts()

  constructor(parts: SharedParts) {
    this.#parts = parts
  }

  /** See `TaskResumer.resume`. */
  async resume(contents: HandleContents): Promise<string> {
    const { taskId } = contents
    await this.#attempts.run(taskId, () => this.#resume(contents))
    // Handles of several owners may have the same task id, and their calls share the attempt.
    const task = await this.#parts.tasks.peekTask(taskId)
    if (task === null || task.owner !== contents.owner) throw taskNotFound(taskId)
    return taskId
  }

  /** See `TaskResumer.refresh`. */
  async refresh(taskId: string): Promise<void> {
    const { settings, tasks, turns, selector } = this.#parts
    // A running turn follows the task already; a closed gateway follows none.
    if (turns.has(taskId) || turns.isClosed) return
    const before = await tasks.peekTask(taskId)
    if (before === null || isTerminal(before.state)) return
    const waiting = await this.#waitingAt(before)
    if (waiting === undefined) return
    const { agent, ref, messageId } = waiting
    try {
      const target = { agent, provider: selector.providerOf(agent) }
      const update = await fetchUpdate(settings, target, taskId, ref)
      if (update.state === undefined || update.state === before.state) return
      await this.#follow(before, target, messageId, ref, update)
    } catch (error) {
      if (A2AError.is(error, 'UNSUPPORTED_OPERATION')) return
      settings.onError(error, { during: 'getTask', taskId, agentId: agent.id })
    }
  }

  /** Where the task waits for input. Where it does not wait, another process follows it. */
  async #waitingAt(
    task: TaskSnapshot,
  ): Promise<{ agent: RegisteredAgent; ref: TaskRef; messageId: string } | undefined> {
    const { settings, positions } = this.#parts
    const position = await positions.read(task)
    const agent = settings.registry.get(position?.agentId ?? '')
    const ref = agent === null ? undefined : refAt(agent, position)
    if (agent === null || ref === undefined || position?.isWaiting !== true) return undefined
    return { agent, ref, messageId: position.messageId }
  }

  /** Goes on with a task whose process has died. Its lease is held here. Never rejects. */
  async recover(agentId: string, task: TaskSnapshot, note: JsonValue | undefined): Promise<void> {
    const { sharedTurns, selector, workers, settings, turns } = this.#parts
    const leased = workers.of(agentId)
    sharedTurns.hold(task.id)
    let release = (): void => undefined
    try {
      const target = selector.resume(agentId)
      release = target.release
      const messageId = messageIdIn(note)
      const message = task.messages.find((each) => each.messageId === messageId && each.role === 'user')
      await sharedTurns.begin({ ...target, held: { task, leased, isOwn: true }, messageId, message })
    } catch (error) {
      release()
      settings.onError(error, { during: 'recover', taskId: task.id, agentId })
      // Closing hands the task over.
      if (!turns.isClosed) await this.#giveUp(task.id, leased)
    }
  }

  async #giveUp(taskId: string, leased: LeasedTasks): Promise<void> {
    try {
      applyUpdate(leased, taskId, { state: 'failed', message: SERVICE_FAILED })
    } catch {
      // The task is lost, or has ended.
    }
    await this.#parts.sharedTurns.letGo(taskId, leased)
  }

  async #resume({ taskId, contextId, agentId, provider, ref, owner }: HandleContents): Promise<void> {
    const { settings, tasks, turns, positions, selector, sharedTurns, workers } = this.#parts
    const known = await tasks.peekTask(taskId)
    if (known !== null) {
      if (known.owner !== owner) throw taskNotFound(taskId)
      if (isTerminal(known.state) || (await positions.read(known)) !== undefined) return
    }
    turns.requireOpen()
    const target = resolveTarget(settings.registry, selector.providerOf, taskId, agentId, provider)
    const update = await fetchUpdate(settings, target, taskId, ref)
    // The gateway may have been closed during the request.
    turns.requireOpen()
    if (known !== null) {
      await this.#follow(known, target, RESUMED, ref, update)
      return
    }
    const leased = workers.of(agentId)
    try {
      leased.createTask({ skill: agentId, id: taskId, contextId, owner }, toNote(RESUMED))
      sharedTurns.hold(taskId)
      await leased.stored(taskId)
    } catch (error) {
      await sharedTurns.letGo(taskId, leased)
      // Another process has resumed the task at the same time.
      if (A2AError.is(error, 'INVALID_PARAMS') && error.data.path === 'id') return
      throw error
    }
    await this.#begin(leased, taskId, target, RESUMED, ref, update)
  }

  /** Applies the service's answer, and follows the task if it continues and no other process works on it. */
  async #follow(
    before: TaskSnapshot,
    target: AgentWithProvider,
    messageId: string,
    ref: TaskRef,
    known: TaskUpdate,
  ): Promise<void> {
    const { sharedTurns, workers, turns, settings } = this.#parts
    const { id: taskId } = before
    const leased = workers.of(target.agent.id)
    const acquired = await leased.acquire(taskId, toNote(messageId)).catch((error: unknown) => {
      if (A2AError.is(error, 'TASK_TERMINAL')) return undefined
      throw error
    })
    if (acquired === undefined) {
      // The task ended here during the request.
      if (!isTerminalUpdate(known)) await cancelAt(settings, target.agent, target.provider, taskId, ref)
      return
    }
    if (acquired.type === 'elsewhere' || turns.has(taskId) || sharedTurns.holds(taskId)) return
    if (acquired.task.generation !== before.generation) {
      await sharedTurns.letGo(taskId, leased)
      return
    }
    sharedTurns.hold(taskId)
    await this.#begin(leased, taskId, target, messageId, ref, known)
  }

  async #begin(
    leased: LeasedTasks,
    taskId: string,
    target: AgentWithProvider,
    messageId: string,
    ref: TaskRef,
    known: TaskUpdate,
  ): Promise<void> {
    const { sharedTurns } = this.#parts
    try {
      const task = leased.peekTask(taskId)
      if (task === null) throw taskNotFound(taskId)
      const held = { task, leased, isOwn: true }
      const release = (): void => undefined
      await sharedTurns.begin({
        ...target,
        held,
        messageId,
        message: undefined,
        follow: { ref, known },
        release,
      })
    } catch (error) {
      await this.#giveUp(taskId, leased)
      throw error
    }
  }
}

/** The note on the lease of a task: which message its turn is about. */
export function toNote(messageId: string): JsonValue {
  return { messageId }
}

function messageIdIn(note: JsonValue | undefined): string {
  const messageId = inNote(note, 'messageId')
  return typeof messageId === 'string' ? messageId : RESUMED
}
