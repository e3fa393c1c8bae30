/**
 * The turns in progress, by task.
 *
 * @module
 */
import { onAbort, raceAbort } from '../../runtime/abort.js'
import { MAX_DELAY_MS } from '../../runtime/clock.js'
import { settleWithin } from '../../runtime/shutdown.js'
import { endError, isTaskEnd } from '../../core/errors.js'
import type { StateChange } from '../../core/events.js'
import { isTerminal, type TaskState } from '../../core/lifecycle.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { RegisteredAgent } from '../registry/agent.js'
import { Turn, type TurnStart } from './turn.js'
import type { Settings } from '../options.js'
import type { AgentProvider, TaskRef } from '../provider.js'
import { isAtWork, type TurnTasks } from './tasks.js'

/** What a turn needs of the place where its task is kept. */
export interface TurnPlace {
  /** For changes of the task. */
  readonly tasks: TurnTasks
  /** Abort when the task has ended, or is no longer for this process to work on. */
  readonly signals: readonly AbortSignal[]
  /** Keeps what finds the task at its service. `false`: the task is gone. */
  locate(ref: TaskRef): boolean
  /** Called when the turn is over. The next turn of the task begins when the promise resolves. Never rejects. */
  leave?(turn: Turn): Promise<void>
}

/** A turn to begin. */
export interface NewTurn {
  readonly agent: RegisteredAgent
  readonly provider: AgentProvider
  readonly taskId: string
  readonly place: TurnPlace
  readonly start: TurnStart
  /** Releases the agent's capacity. */
  readonly release?: (() => void) | undefined
  /** Called when the service first reports where it keeps the task. */
  readonly onLocated?: ((taskId: string) => void) | undefined
}

interface RunningTurn {
  readonly turn: Turn
  /** Settles when the turn is over, and its task has been left. */
  left: Promise<void>
}

/** Cancels a task that has ended, and that no turn of this process follows, at its service. */
type CancelWaiting = (taskId: string, state: TaskState) => Promise<unknown> | undefined

export class Turns {
  readonly #settings: Settings
  readonly #cancelWaiting: CancelWaiting
  readonly #turns = new Map<string, RunningTurn>()
  readonly #cancellations = new Map<string, Promise<unknown>>()
  #closeReason: Error | undefined

  constructor(settings: Settings, cancelWaiting: CancelWaiting) {
    this.#settings = settings
    this.#cancelWaiting = cancelWaiting
    settings.tasks.on('task:stateChange', this.#onStateChange)
    settings.tasks.on('task:expired', this.#onExpired)
  }

  has(taskId: string): boolean {
    return this.#turns.has(taskId)
  }

  /** Settles when the service has answered the cancellation of the task. */
  async whenCanceled(taskId: string): Promise<void> {
    await this.#cancellations.get(taskId)
  }

  /** Settles when no turn of the task is running, replaced turns and their successors included. */
  async whenIdle(taskId: string): Promise<void> {
    for (let running = this.#turns.get(taskId); running; running = this.#turns.get(taskId)) {
      await running.left
    }
  }

  /**
   * Settles when the turn of the task is over. A task that was abandoned because the gateway closed continues at its service:
   * for the caller it is running as long as it is wanted.
   */
  async whenOver(
    taskId: string,
    stateOf: () => TaskState | null | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    await this.whenIdle(taskId)
    const state = stateOf()
    if (this.isClosed && state && isAtWork(state)) await raceAbort(signal, new Promise(() => undefined))
  }

  /** Settles when all turns that are running now are over. */
  async whenLeft(): Promise<void> {
    await Promise.all(Array.from(this.#turns.values(), ({ left }) => left))
  }

  /** Settles when the service has reported the `ref` of the task that is being sent, or never will. */
  async whenLocated(taskId: string): Promise<void> {
    await this.#turns.get(taskId)?.turn.located
  }

  get isClosed(): boolean {
    return this.#closeReason !== undefined
  }

  /** @throws The reason that {@link close} received. */
  requireOpen(): void {
    if (this.#closeReason !== undefined) throw this.#closeReason
  }

  begin({ agent, provider, taskId, place, start, release, onLocated }: NewTurn): Turn {
    this.requireOpen()
    const { admission, statistics } = this.#settings
    const end = statistics.begin(agent.id)
    let isLocated = false
    const onRef = (ref: TaskRef): void => {
      if (!place.locate(ref)) return
      if (!isLocated) onLocated?.(taskId)
      isLocated = true
    }
    const turn = new Turn({ ...this.#settings, tasks: place.tasks }, agent, provider, taskId, start, {
      ref: onRef,
      responded: () => admission.answered(agent.id),
    })
    // A listener may answer a question before the turn that asked it has settled.
    this.#turns.get(taskId)?.turn.abandon(endError('TASK_CANCELED', taskId))
    const running: RunningTurn = { turn, left: Promise.resolve() }
    this.#turns.set(taskId, running)
    if (start.mode === 'follow') onRef(start.ref)
    turn.begin()
    const remove = (): void => {
      if (this.#turns.get(taskId) === running) this.#turns.delete(taskId)
    }
    running.left = turn.done.then(() => {
      end(place.tasks.stateOf(taskId), turn.spent)
      if (turn.outcome === 'succeeded') admission.succeeded(agent.id)
      if (turn.outcome === 'failed') admission.failed(agent.id)
      release?.()
      const leaving = place.leave?.(turn)
      if (leaving !== undefined) return leaving.then(remove)
      remove()
      return undefined
    })
    this.#stopOnAbort(taskId, turn, place)
    return turn
  }

  /** Stops the turn of a task that has ended, and cancels the task at its service. */
  stop(taskId: string): void {
    const running = this.#turns.get(taskId)
    if (running !== undefined) this.#cancel(taskId, running.turn)
  }

  /** Refuses new turns, lets running ones finish within `graceMs`, and abandons the rest. */
  async close(graceMs: number, reason: Error): Promise<void> {
    const { clock, tasks } = this.#settings
    this.#closeReason = reason
    const running = Array.from(this.#turns.values(), ({ turn }) => turn.done)
    const pending = [...running, ...this.#cancellations.values()]
    await settleWithin(clock, Math.min(graceMs, MAX_DELAY_MS), pending)
    for (const { turn } of this.#turns.values()) turn.abandon(reason)
    tasks.off('task:stateChange', this.#onStateChange)
    tasks.off('task:expired', this.#onExpired)
  }

  /** Of a destroyed manager and of other processes there are no events, so signals are observed too. */
  #stopOnAbort(taskId: string, turn: Turn, { signals }: TurnPlace): void {
    for (const signal of signals) {
      const ignore = onAbort(signal, () => {
        const reason = signal.reason as Error
        if (isTaskEnd(reason)) this.#cancel(taskId, turn)
        else turn.abandon(reason)
      })
      void turn.done.then(ignore)
    }
  }

  readonly #onStateChange = ({ taskId, to }: StateChange): void => {
    if (isTerminal(to)) this.#end(taskId, to)
  }

  readonly #onExpired = ({ id, state }: TaskSnapshot): void => {
    if (!isTerminal(state)) this.#end(id, state)
  }

  /** The task has ended here: cancels it at its service, unless it has ended there. */
  #end(taskId: string, state: TaskState): void {
    const running = this.#turns.get(taskId)
    if (running !== undefined) this.#cancel(taskId, running.turn)
    else this.#track(taskId, this.#cancelWaiting(taskId, state))
  }

  #cancel(taskId: string, turn: Turn): void {
    this.#track(taskId, turn.cancel(endError('TASK_CANCELED', taskId)))
  }

  #track(taskId: string, canceling: Promise<unknown> | undefined): void {
    if (canceling === undefined) return
    this.#cancellations.set(taskId, canceling)
    void canceling.then(() => {
      if (this.#cancellations.get(taskId) === canceling) this.#cancellations.delete(taskId)
    })
  }
}
