/**
 * Work on tasks in a store that other processes may share.
 *
 * @module
 */
import { cancelEnded } from '../../remote/ended-tasks.js'
import { taskNotFound } from '../../core/errors.js'
import { isTerminal, type TaskState } from '../../core/lifecycle.js'
import type { SharedTasks, TaskDocument } from '../../core/managers.js'
import type { MessageInput } from '../../core/params.js'
import type { TaskSnapshot } from '../../core/task.js'
import { GATEWAY_TASK } from '../../runtime/document-kinds.js'
import { randomId } from '../../runtime/ids.js'
import { settleWithin } from '../../runtime/shutdown.js'
import type { AdmittedAgent, AgentSelector } from '../admission/agent-selection.js'
import { closed } from '../admission/refusals.js'
import type { Settings } from '../options.js'
import type { HandleContents } from '../turns/handle.js'
import {
  requireInterrupted,
  requireTask,
  takesNoMessage,
  type SendTaskOptions,
  type WorkOptions,
} from '../turns/input.js'
import { requireAgent } from '../turns/local-work.js'
import { cancelAt, type Turn } from '../turns/turn.js'
import { Turns } from '../turns/turns.js'
import type { BegunTurn, LocatedTask, Work } from '../turns/work.js'
import { positionIn, Positions, refAt, type Position } from './positions.js'
import { SharedResumer, toNote } from './shared-resume.js'
import { SharedTurns } from './shared-turns.js'
import { Workers } from './workers.js'

/** How long closing waits for the store, in ms. */
const STORING_MS = 5_000

/**
 * A task is worked on by one process at a time, which holds its lease. Callers of the gateway work under its own leases;
 * executors work under those of their request handler.
 */
export class SharedWork implements Work {
  readonly turns: Turns
  readonly #settings: Settings
  readonly #tasks: SharedTasks
  readonly #selector: AgentSelector
  readonly #positions: Positions
  readonly #sharedTurns: SharedTurns
  readonly #workers: Workers
  readonly #resumer: SharedResumer
  readonly #stopSearch: () => void

  constructor(settings: Settings, tasks: SharedTasks, selector: AgentSelector) {
    this.#settings = settings
    this.#tasks = tasks
    this.#selector = selector
    this.#positions = new Positions(tasks)
    this.turns = new Turns(settings, (taskId, state) => this.#cancelWaiting(taskId, state))
    this.#sharedTurns = new SharedTurns(settings, this.#positions, this.turns)
    this.#workers = new Workers(tasks, settings.registry, {
      hasRoom: (agentId) => !this.turns.isClosed && selector.canResume(agentId),
      onOrphan: (agentId, task, note) => void this.#resumer.recover(agentId, task, note),
      onEnded: (taskId) => this.turns.stop(taskId),
    })
    const { turns } = this
    this.#resumer = new SharedResumer({
      settings,
      tasks,
      selector,
      turns,
      positions: this.#positions,
      sharedTurns: this.#sharedTurns,
      workers: this.#workers,
    })
    const cancel = (document: TaskDocument): Promise<boolean> => this.#cancelEnded(document)
    this.#stopSearch = cancelEnded(tasks, GATEWAY_TASK, settings.backgroundClock, cancel)
  }

  begin(agentId: string, message: MessageInput, options: SendTaskOptions): Promise<BegunTurn> {
    const identified = { ...message, messageId: message.messageId ?? randomId() }
    return message.taskId === undefined
      ? this.#create(agentId, identified, options)
      : this.#answer(agentId, { ...identified, taskId: message.taskId }, options)
  }

  async stored(taskId: string): Promise<void> {
    // A task that was lost is another process's, which stores its changes.
    await this.#tasks
      .leasesOf(taskId)
      ?.stored(taskId)
      .catch(() => undefined)
  }

  async workOn(
    agentId: string,
    message: TaskSnapshot['messages'][number],
    { open, owner, handle, onPlaced, signal }: WorkOptions,
  ): Promise<void> {
    // Turns of a task run one after the other, and another caller may have sent one.
    if (message.taskId !== undefined) await this.turns.whenIdle(message.taskId)
    this.turns.requireOpen()
    const admitted = await this.#admit(agentId, message, owner)
    const { release } = admitted
    let taskId: string
    try {
      taskId = open()
      const leased = this.#tasks.leasesOf(taskId)
      const task = requireTask(leased, taskId)
      if (leased === undefined || isTerminal(task.state)) {
        release()
        return
      }
      await leased.stored(taskId)
      const held = { task, leased, isOwn: false, signal }
      const { messageId, contextId } = message
      const isNewContext = contextId === undefined
      const turn = { ...admitted, held, message, messageId, isNewContext, onLocated: onPlaced }
      await this.#sharedTurns.begin({ ...turn, follow: handle })
    } catch (error) {
      release()
      signal.throwIfAborted()
      throw error
    }
    await this.turns.whenOver(taskId, () => this.#tasks.leasesOf(taskId)?.stateOf(taskId), signal)
  }

  async cancelLive(taskId: string): Promise<void> {
    try {
      await this.#tasks.cancelTask(taskId)
    } catch {
      // The task has ended.
    }
  }

  resume(contents: HandleContents): Promise<string> {
    return this.#resumer.resume(contents)
  }

  refresh(taskId: string): Promise<void> {
    return this.#resumer.refresh(taskId)
  }

  async locate(task: TaskSnapshot): Promise<LocatedTask | undefined> {
    const located = this.#sharedTurns.located(task.id)
    if (located?.ref !== undefined) return { agent: located.agent, ref: located.ref }
    const position = await this.#positions.read(task)
    const agent = this.#settings.registry.get(position?.agentId ?? '')
    const ref = agent === null ? undefined : refAt(agent, position)
    return agent === null || ref === undefined ? undefined : { agent, ref }
  }

  agentOf(taskId: string): string | undefined {
    return this.#sharedTurns.located(taskId)?.agent.id
  }

  async readAgentOf(taskId: string): Promise<string | undefined> {
    return this.agentOf(taskId) ?? (await this.#readPosition(taskId))?.agentId
  }

  async close(graceMs: number): Promise<void> {
    this.#stopSearch()
    await this.turns.close(graceMs, closed())
    const { clock } = this.#settings
    await settleWithin(clock, STORING_MS, [this.turns.whenLeft()])
    await settleWithin(clock, STORING_MS, [this.#workers.close()])
  }

  async #create(
    agentId: string,
    message: MessageInput & { readonly messageId: string },
    { id, owner, signal }: SendTaskOptions,
  ): Promise<BegunTurn> {
    this.turns.requireOpen()
    const admitted = this.#selector.admit(agentId, owner)
    const { agent } = admitted
    const { messageId, contextId, referenceTaskIds } = message
    const leased = this.#workers.of(agentId)
    let taskId: string | undefined
    try {
      const params = { skill: agentId, id, owner, contextId, referenceTaskIds }
      const task = leased.createTask(params, toNote(messageId))
      taskId = task.id
      this.#sharedTurns.hold(taskId)
      const added = leased.addMessage(taskId, toAdded(message, task, agent))
      if (signal?.aborted) leased.patchTask(taskId, { state: 'canceled' })
      await leased.stored(taskId)
      const held = { task: requireTask(leased, taskId), leased, isOwn: true }
      const isNewContext = contextId === undefined
      const turn = { ...admitted, held, message: added.message, messageId, isNewContext }
      return toBegun(taskId, await this.#sharedTurns.begin(turn))
    } catch (error) {
      admitted.release()
      if (taskId !== undefined) {
        // The caller never receives this task's id, so the task has to end here.
        if (leased.can(taskId, 'rejected')) leased.patchTask(taskId, { state: 'rejected' })
        await this.#sharedTurns.letGo(taskId, leased)
      }
      throw error
    }
  }

  async #answer(
    agentId: string,
    message: MessageInput & { readonly messageId: string; readonly taskId: string },
    { owner, signal }: SendTaskOptions,
  ): Promise<BegunTurn> {
    const { taskId, messageId } = message
    await this.turns.whenIdle(taskId)
    this.turns.requireOpen()
    const filter = owner === undefined ? {} : { owner }
    requireInterrupted(await this.#tasks.peekTask(taskId, filter), taskId)
    requireAgent(agentId, await this.readAgentOf(taskId))
    const admitted = this.#selector.admit(agentId, owner)
    const leased = this.#workers.of(agentId)
    let isHeld = false
    try {
      const acquired = await leased.acquire(taskId, toNote(messageId))
      // Another process works on the task, or another call of this one.
      if (acquired.type === 'elsewhere' || this.#sharedTurns.holds(taskId)) throw takesNoMessage()
      this.#sharedTurns.hold(taskId)
      isHeld = true
      const task = requireInterrupted(acquired.task, taskId)
      leased.setNote(taskId, toNote(messageId))
      const added = leased.addMessage(taskId, toAdded(message, task, admitted.agent))
      // The answer ends the interruption.
      leased.patchTask(taskId, { state: signal?.aborted ? 'canceled' : 'working', message: null })
      await leased.stored(taskId)
      const held = { task: requireTask(leased, taskId), leased, isOwn: true }
      const turn = { ...admitted, held, message: added.message, messageId }
      return toBegun(taskId, await this.#sharedTurns.begin(turn))
    } catch (error) {
      admitted.release()
      if (isHeld) await this.#sharedTurns.letGo(taskId, leased)
      throw error
    }
  }

  /** A message that an earlier process has sent was admitted there. */
  async #admit(
    agentId: string,
    { taskId, messageId }: TaskSnapshot['messages'][number],
    owner: string | undefined,
  ): Promise<AdmittedAgent> {
    const position = taskId === undefined ? undefined : await this.#readPosition(taskId)
    const isSent = position?.messageId === messageId
    return isSent ? this.#selector.resume(agentId) : this.#selector.admit(agentId, owner)
  }

  async #readPosition(taskId: string): Promise<Position | undefined> {
    const held = this.#tasks.leasesOf(taskId)?.peekTask(taskId)
    const task = held ?? (await this.#tasks.peekTask(taskId))
    return task === null ? undefined : await this.#positions.read(task)
  }

  /** Cancels a task that was waiting for an answer at its service, in the process that has canceled it. */
  async #cancelWaiting(taskId: string, state: TaskState): Promise<void> {
    if (state !== 'canceled') return
    try {
      const task = await this.#tasks.peekTask(taskId)
      if (task === null) return
      const document = await this.#positions.open(task)
      const { value: position } = document
      // Where the task was not waiting, the process that follows it cancels it.
      if (position?.isWaiting !== true) return
      if (await this.#cancelAt(taskId, position)) await this.#positions.end(task, document)
    } catch (error) {
      // A search finds the task later.
      this.#settings.onError(error, { during: 'cancelTask', taskId })
    }
  }

  /** Cancels a task that has ended while no process followed it. */
  async #cancelEnded(document: TaskDocument): Promise<boolean> {
    return await this.#cancelAt(document.key.id, positionIn(document))
  }

  async #cancelAt(taskId: string, position: Position): Promise<boolean> {
    const { registry, providers } = this.#settings
    const agent = registry.get(position.agentId)
    const provider = providers.get(position.provider)
    if (agent === null || provider === undefined) return false
    const ref = refAt(agent, position)
    return ref === undefined || (await cancelAt(this.#settings, agent, provider, taskId, ref))
  }
}

function toAdded(
  message: MessageInput,
  { id: taskId, contextId }: Pick<TaskSnapshot, 'id' | 'contextId'>,
  { id, provider }: AdmittedAgent['agent'],
): MessageInput {
  const metadata = { ...message.metadata, agent_id: id, provider }
  return { ...message, metadata, taskId, contextId }
}

function toBegun(taskId: string, turn: Turn | undefined): BegunTurn {
  // Only a message that was sent before fails the task.
  if (turn === undefined) throw taskNotFound(taskId)
  return { taskId, turn }
}
