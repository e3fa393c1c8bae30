/**
 * The turns in progress, by task.
 *
 * @module
 */
import { MAX_DELAY_MS } from '../../runtime/clock.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { A2AError, endError } from '../../core/errors.js'
import type { StateChange } from '../../core/events.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { TaskLocations } from './task-locations.js'
import type { RegisteredAgent } from '../registry/agent.js'
import { cancelAt, Turn, type TurnStart } from './turn.js'
import type { Settings } from '../options.js'
import type { AgentProvider, TaskRef } from '../provider.js'

/** A turn to begin. */
export interface NewTurn {
  readonly agent: RegisteredAgent
  readonly provider: AgentProvider
  readonly taskId: string
  readonly start: TurnStart
  /** Releases the agent's capacity. */
  readonly release?: () => void
  /** Called when the service first reports where it keeps the task. */
  readonly onLocated?: ((taskId: string) => void) | undefined
}

export class Turns {
  readonly #settings: Settings
  readonly #locations: TaskLocations
  readonly #turns = new Map<string, Turn>()
  readonly #cancellations = new Map<string, Promise<void>>()
  #closeReason: Error | undefined

  constructor(settings: Settings, locations: TaskLocations) {
    this.#settings = settings
    this.#locations = locations
    settings.tasks.on('task:stateChange', this.#onStateChange)
    settings.tasks.on('task:expired', this.#onExpired)
  }

  has(taskId: string): boolean {
    return this.#turns.has(taskId)
  }

  /** Settles when the service has answered the cancellation of the task. */
  whenCanceled(taskId: string): Promise<void> {
    return this.#cancellations.get(taskId) ?? Promise.resolve()
  }

  /** Settles when no turn of the task is running, replaced turns and their successors included. */
  async whenIdle(taskId: string): Promise<void> {
    for (let turn = this.#turns.get(taskId); turn !== undefined; turn = this.#turns.get(taskId)) {
      await turn.done
    }
  }

  /** Settles when the service has reported the `ref` of the task that is being sent, or never will. */
  async whenLocated(taskId: string): Promise<void> {
    await this.#turns.get(taskId)?.located
  }

  get isClosed(): boolean {
    return this.#closeReason !== undefined
  }

  /** @throws The reason that {@link close} received. */
  requireOpen(): void {
    if (this.#closeReason !== undefined) throw this.#closeReason
  }

  begin({ agent, provider, taskId, start, release, onLocated }: NewTurn): Turn {
    this.requireOpen()
    const { admission, tasks } = this.#settings
    let isLocated = false
    const onRef = (ref: TaskRef): void => {
      // The task may be gone, and another task may have its id.
      if (tasks.stateOf(taskId) === null || this.#locations.get(taskId) !== location) return
      this.#locations.set(taskId, agent, ref)
      if (!isLocated) onLocated?.(taskId)
      isLocated = true
    }
    const location = this.#locations.set(taskId, agent)
    const onResponse = (): void => admission.answered(agent.id)
    const turn = new Turn(this.#settings, agent, provider, taskId, start, {
      ref: onRef,
      responded: onResponse,
    })
    // A listener may answer a question before the turn that asked it has settled.
    this.#turns.get(taskId)?.abandon(endError('TASK_CANCELED', taskId))
    this.#turns.set(taskId, turn)
    if (start.mode === 'follow') onRef(start.ref)
    turn.begin()
    this.#abandonOnDestroy(taskId, turn)
    void turn.done.then(() => {
      if (turn.outcome === 'succeeded') admission.succeeded(agent.id)
      if (turn.outcome === 'failed') admission.failed(agent.id)
      release?.()
      if (this.#turns.get(taskId) === turn) this.#turns.delete(taskId)
    })
    return turn
  }

  /** Refuses new turns, lets running ones finish within `graceMs`, and abandons the rest. */
  async close(graceMs: number, reason: Error): Promise<void> {
    const { clock, tasks } = this.#settings
    this.#closeReason = reason
    const running = [...this.#turns.values()].map(({ done }) => done)
    const pending = [...running, ...this.#cancellations.values()]
    await settleWithin(clock, Math.min(graceMs, MAX_DELAY_MS), pending)
    for (const turn of this.#turns.values()) turn.abandon(reason)
    tasks.off('task:stateChange', this.#onStateChange)
    tasks.off('task:expired', this.#onExpired)
  }

  /** A destroyed manager emits no events, so its signals are observed instead. */
  #abandonOnDestroy(taskId: string, turn: Turn): void {
    const { tasks } = this.#settings
    if (tasks.stateOf(taskId) === null) return
    const signal = tasks.signalOf(taskId)
    const onAbort = (): void => {
      if (A2AError.is(signal.reason, 'MANAGER_DESTROYED')) turn.abandon(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    void turn.done.then(() => signal.removeEventListener('abort', onAbort))
  }

  readonly #onStateChange = ({ taskId, to }: StateChange): void => {
    if (isTerminal(to)) this.#stop(taskId)
  }

  readonly #onExpired = ({ id, state }: TaskSnapshot): void => {
    if (!isTerminal(state)) this.#stop(id)
  }

  /** The task has ended here: cancels it at its service, unless it has ended there. */
  #stop(taskId: string): void {
    const turn = this.#turns.get(taskId)
    const canceling =
      turn === undefined ? this.#cancelWaiting(taskId) : turn.cancel(endError('TASK_CANCELED', taskId))
    if (canceling === undefined) return
    this.#cancellations.set(taskId, canceling)
    void canceling.then(() => this.#cancellations.delete(taskId))
  }

  /** Cancels an interrupted task, which has no turn here. */
  #cancelWaiting(taskId: string): Promise<void> | undefined {
    const { registry, providers } = this.#settings
    const location = this.#locations.find(taskId, registry)
    const provider = providers.get(location?.agent.provider ?? '')
    if (location === undefined || provider === undefined) return undefined
    return cancelAt(this.#settings, location.agent, provider, taskId, location.ref)
  }
}
