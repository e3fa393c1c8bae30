/**
 * The turns that are going on, and how they end.
 *
 * @module
 */
import { MAX_DELAY_MS } from '../../runtime/clock.js'
import { A2AError, ended } from '../../core/errors.js'
import type { StateChange } from '../../core/events.js'
import { isTerminal } from '../../core/lifecycle.js'
import type { TaskSnapshot } from '../../core/task.js'
import type { Affinity } from './task-locations.js'
import type { RegisteredAgent } from '../registry/agent.js'
import { cancelAt, Drive, type Beginning } from './turn.js'
import type { Settings } from '../options.js'
import type { AgentProvider, TaskRef } from '../provider.js'

/** A turn that is to begin. */
export interface Turn {
  readonly agent: RegisteredAgent
  readonly provider: AgentProvider
  readonly taskId: string
  readonly beginning: Beginning
  /** Gives the agent's place to another task. */
  readonly leave?: () => void
  /** Is called when it is first known where the service keeps the task. */
  readonly onPlaced?: ((taskId: string) => void) | undefined
}

export class Drives {
  readonly #settings: Settings
  readonly #affinity: Affinity
  readonly #drives = new Map<string, Drive>()
  readonly #cancels = new Map<string, Promise<void>>()
  #closed: Error | undefined

  constructor(settings: Settings, affinity: Affinity) {
    this.#settings = settings
    this.#affinity = affinity
    settings.tasks.on('task:stateChange', this.#onStateChange)
    settings.tasks.on('task:expired', this.#onExpired)
  }

  has(taskId: string): boolean {
    return this.#drives.has(taskId)
  }

  /** Settles when the service has been told that the task is canceled. */
  canceled(taskId: string): Promise<void> {
    return this.#cancels.get(taskId) ?? Promise.resolve()
  }

  /** Settles when nobody works on the task any more: a turn that another has taken the place of is no end. */
  async over(taskId: string): Promise<void> {
    for (let drive = this.#drives.get(taskId); drive !== undefined; drive = this.#drives.get(taskId)) {
      await drive.done
    }
  }

  /** Settles when the service has said where it keeps the task that is being sent, or never will. */
  async placed(taskId: string): Promise<void> {
    await this.#drives.get(taskId)?.placed
  }

  get isClosed(): boolean {
    return this.#closed !== undefined
  }

  /** @throws What {@link close} was given. */
  requireOpen(): void {
    if (this.#closed !== undefined) throw this.#closed
  }

  begin({ agent, provider, taskId, beginning, leave, onPlaced }: Turn): Drive {
    this.requireOpen()
    const { admission, tasks } = this.#settings
    let isPlaced = false
    const onRef = (ref: TaskRef): void => {
      // Of a task that is gone nothing is kept, nor told of one that has its id now.
      if (tasks.stateOf(taskId) === null || this.#affinity.of(taskId) !== place) return
      this.#affinity.set(taskId, agent, ref)
      if (!isPlaced) onPlaced?.(taskId)
      isPlaced = true
    }
    const place = this.#affinity.set(taskId, agent)
    const onAnswer = (): void => admission.answered(agent.id)
    const drive = new Drive(this.#settings, agent, provider, taskId, beginning, {
      ref: onRef,
      answer: onAnswer,
    })
    // Whoever listens may answer before the turn that asked has noticed that it is over.
    this.#drives.get(taskId)?.abandon(ended('TASK_CANCELED', taskId))
    this.#drives.set(taskId, drive)
    if (beginning.mode === 'follow') onRef(beginning.ref)
    drive.begin()
    this.#watch(taskId, drive)
    void drive.done.then(() => {
      if (drive.finding === 'works') admission.succeeded(agent.id)
      if (drive.finding === 'fails') admission.failed(agent.id)
      leave?.()
      if (this.#drives.get(taskId) === drive) this.#drives.delete(taskId)
    })
    return drive
  }

  /** Lets turns end within `graceMs`, and lets go of the rest. No more begin. */
  async close(graceMs: number, reason: Error): Promise<void> {
    const { clock, tasks } = this.#settings
    this.#closed = reason
    const turns = [...this.#drives.values()].map(({ done }) => done)
    const all = Promise.all([...turns, ...this.#cancels.values()])
    await new Promise<void>((resolve) => {
      const stop = clock.schedule(resolve, Math.min(graceMs, MAX_DELAY_MS))
      void all.then(() => {
        stop()
        resolve()
      })
    })
    for (const drive of this.#drives.values()) drive.abandon(reason)
    tasks.off('task:stateChange', this.#onStateChange)
    tasks.off('task:expired', this.#onExpired)
  }

  /** A manager that is destroyed has no listeners left to tell. */
  #watch(taskId: string, drive: Drive): void {
    const { tasks } = this.#settings
    if (tasks.stateOf(taskId) === null) return
    const signal = tasks.signalOf(taskId)
    const onAbort = (): void => {
      if (A2AError.is(signal.reason, 'MANAGER_DESTROYED')) drive.abandon(signal.reason)
    }
    signal.addEventListener('abort', onAbort, { once: true })
    void drive.done.then(() => signal.removeEventListener('abort', onAbort))
  }

  readonly #onStateChange = ({ taskId, to }: StateChange): void => {
    if (isTerminal(to)) this.#stop(taskId)
  }

  readonly #onExpired = ({ id, state }: TaskSnapshot): void => {
    if (!isTerminal(state)) this.#stop(id)
  }

  /** The task has ended here: its service is told, unless it has ended there. */
  #stop(taskId: string): void {
    const drive = this.#drives.get(taskId)
    const told =
      drive === undefined ? this.#cancelWaiting(taskId) : drive.cancel(ended('TASK_CANCELED', taskId))
    if (told === undefined) return
    this.#cancels.set(taskId, told)
    void told.then(() => this.#cancels.delete(taskId))
  }

  /** Nobody works on it here: it waits for an answer there. */
  #cancelWaiting(taskId: string): Promise<void> | undefined {
    const { registry, providers } = this.#settings
    const place = this.#affinity.placeOf(taskId, registry)
    const provider = providers.get(place?.agent.provider ?? '')
    if (place === undefined || provider === undefined) return undefined
    return cancelAt(this.#settings, place.agent, provider, taskId, place.ref)
  }
}
