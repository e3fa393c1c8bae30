/**
 * The task of a run: its creation, and the run's view of it, during the run and after it.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import { stepsTo } from '../../core/advance.js'
import { terminal } from '../../core/decide.js'
import { A2AError, endError } from '../../core/errors.js'
import type { JournalEntry } from '../../core/events.js'
import { isTerminal, type Lifecycle, type TaskState } from '../../core/lifecycle.js'
import type { MessageInput, TaskUpdate } from '../../core/params.js'
import type { TaskKey, TaskSnapshot } from '../../core/task.js'
import type { Principal } from '../caller.js'
import type { WorkedTasks } from '../journal/turn-port.js'
import { toNote } from './message-queue.js'
import type { RunContext } from './run-context.js'

/** By the signal of a task: removes the listener of the last run that has left the task. */
const unfollowLast = new WeakMap<AbortSignal, () => void>()

/** Shows the current task while the run works on it, and the last state it saw afterwards. Moves it along its lifecycle. */
export class RunTask {
  readonly id: string
  readonly #tasks: WorkedTasks
  #gone: Error | undefined
  #last: TaskSnapshot | undefined
  #hasStatusMessage: boolean
  #held: MessageInput | undefined
  #followed: { readonly signal: AbortSignal; readonly unfollow: () => void } | undefined

  constructor(id: string, tasks: WorkedTasks, hasStatusMessage: boolean) {
    this.id = id
    this.#tasks = tasks
    this.#hasStatusMessage = hasStatusMessage
  }

  /** `null` when the task is gone, or this process has lost its lease. */
  peek(): TaskSnapshot | null {
    const task = this.#gone === undefined ? this.#tasks.peekTask(this.id) : null
    // A newer task may have the same id.
    return this.#last === undefined || task?.createdAt === this.#last.createdAt ? task : null
  }

  /**
   * @throws The reason of {@link detach}, else `reason`, else `TASK_EXPIRED`, when there is no task to show.
   */
  show(reason: Error | undefined): TaskSnapshot {
    const task = this.peek() ?? this.#last
    if (task === undefined) throw this.#gone ?? reason ?? endError('TASK_EXPIRED', this.id)
    return task
  }

  /** Whether the task is terminal, or gone. */
  get isTerminal(): boolean {
    const task = this.peek()
    return task === null || isTerminal(task.state)
  }

  /** The task's signal; `undefined` when the task is gone. */
  get signal(): AbortSignal | undefined {
    return this.peek() === null ? undefined : this.#tasks.signalOf(this.id)
  }

  /** Calls `abort` with the reason when the task's signal aborts: at once if it has. */
  follow(abort: (reason: Error) => void): void {
    const { signal } = this
    if (signal === undefined) return
    this.#followed = { signal, unfollow: onAbort(signal, () => abort(signal.reason as Error)) }
  }

  /**
   * Requires that the run may still change the task.
   *
   * @throws The reason of {@link detach}; after the run: `reason`, `TASK_TERMINAL` or `LEASE_LOST`.
   */
  requireOpen(reason: Error | undefined): void {
    if (this.#gone !== undefined) throw this.#gone
    if (this.#last !== undefined && this.peek() === null) throw reason ?? closedError(this.#last)
  }

  /**
   * Requires that the executor has not returned.
   *
   * @throws `reason`, `TASK_TERMINAL` or `LEASE_LOST`.
   */
  requireRunning(reason: Error | undefined): void {
    if (this.#last !== undefined) throw reason ?? closedError(this.#last)
  }

  /** Whether the task may have a status message. */
  get hasStatusMessage(): boolean {
    return this.#hasStatusMessage
  }

  /** Keeps the message until the task works again. A later one replaces it. */
  hold(message: MessageInput): void {
    this.#held = message
  }

  setStatusMessage(message: MessageInput): void {
    this.#tasks.patchTask(this.id, { message })
    this.#hasStatusMessage = true
  }

  /**
   * The states on the shortest legal path to `to`, so that agents may skip steps of the lifecycle.
   *
   * @throws As {@link show}.
   */
  stepsTo(to: TaskState, reason: Error | undefined, lifecycle: Lifecycle): readonly TaskState[] {
    return this.#tasks.can(this.id, to) ? [to] : stepsTo(this.show(reason).state, to, lifecycle)
  }

  /**
   * Enters the states of `path` in order. `message` replaces the status message; without it, the status message is removed.
   *
   * @param entries - Entries of the journal. They are recorded in one change with the last state and with `message`, which
   *   joins the conversation then.
   */
  enter(
    path: readonly TaskState[],
    message: MessageInput | undefined,
    entries: readonly JournalEntry[] = [],
  ): void {
    for (const state of path.slice(0, -1)) {
      this.#tasks.patchTask(this.id, { state, ...this.#clearStatusMessage() })
    }
    const state = path.at(-1)
    const status = message ?? (state === 'working' ? this.#removeHeld() : undefined)
    if (status !== undefined) this.#hasStatusMessage = true
    const shown =
      status !== undefined ? { message: status } : state !== undefined && this.#clearStatusMessage()
    const update: TaskUpdate = { ...(state !== undefined && { state }), ...shown }
    const isEmpty = Object.keys(update).length === 0
    if (entries.length > 0) {
      this.#tasks.recordJournal?.(this.id, entries, { message, update: isEmpty ? undefined : update })
    } else if (!isEmpty) this.#tasks.patchTask(this.id, update)
  }

  #removeHeld(): MessageInput | undefined {
    const held = this.#held
    this.#held = undefined
    return held
  }

  /** The update that removes the status message of the previous state. */
  #clearStatusMessage(): { message: null } | undefined {
    if (!this.#hasStatusMessage) return undefined
    this.#hasStatusMessage = false
    return { message: null }
  }

  /**
   * The executor has returned: keeps the last state, to show it once the task is gone. From now on `controller` alone
   * follows the task.
   */
  keepLast(controller: AbortController | undefined): void {
    this.#last = this.peek() ?? undefined
    if (this.#followed === undefined) return
    this.#followed.unfollow()
    if (controller !== undefined) this.follow(abortBy(controller))
    // The last run still learns of a cancel while its task waits. A task may have any number of runs before it.
    const { signal, unfollow } = this.#followed
    unfollowLast.get(signal)?.()
    unfollowLast.set(signal, unfollow)
  }

  /** Ends the connection to the task's signal. */
  unfollow(): void {
    this.#followed?.unfollow()
    this.#followed = undefined
  }

  /** Cuts the run off from the task. Clients choose ids, so a new task may have this id at once. */
  detach(reason: Error): void {
    this.#gone = reason
  }
}

/** A closure of the run would keep the run, with its request, for as long as the task waits. */
function abortBy(controller: AbortController): (reason: Error) => void {
  return (reason) => controller.abort(reason)
}

function closedError({ id, state }: TaskSnapshot): A2AError {
  if (isTerminal(state)) return terminal({ id, state }, 'update')
  return new A2AError(
    'LEASE_LOST',
    `Task ${id} cannot be changed by this run any more, because the run has ended`,
    { taskId: id },
  )
}

/** A task that was just created. */
interface CreatedTask extends TaskKey {
  readonly contextId: string
}

/**
 * Creates the task when the executor needs it. Over a shared store the task is proposed before the executor is called, so that
 * nothing runs that is not stored: a reply without a task removes it again.
 */
export class NewTask<P extends Principal> {
  readonly #context: RunContext<P>
  readonly #onRefused: (taskId: string, error: Error) => void
  #proposed: CreatedTask | undefined
  /** The id of the task to come, once the executor has read it. */
  #reservedId: string | undefined
  #isWithdrawn = false

  /** @param onRefused - Called when the new task cannot have its first message, and was rejected. */
  constructor(context: RunContext<P>, onRefused: (taskId: string, error: Error) => void) {
    this.#context = context
    this.#onRefused = onRefused
  }

  get id(): string {
    const { message, settings } = this.#context
    return this.#proposed?.id ?? (this.#reservedId ??= message.request.chosenId ?? settings.generateId())
  }

  /** Whether the task was created, and may yet be withdrawn. */
  get isProposed(): boolean {
    return this.#proposed !== undefined && !this.#isWithdrawn
  }

  /** Whether a reply is removing the task, or has removed it. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn
  }

  propose(): CreatedTask {
    const { tasks } = this.#context
    this.#proposed = this.#create()
    tasks.propose?.(this.#proposed.id)
    return this.#proposed
  }

  /** The task, from now on one like all others. `onTask` is called before listeners and clients know of it. */
  take(onTask: (task: CreatedTask) => void): void {
    const proposed = this.#proposed
    const task = proposed ?? this.#create()
    onTask(task)
    if (proposed !== undefined) this.#context.tasks.confirm?.(task.id)
  }

  /** Removes the task. Resolves to `false` when others have changed it: it stays. */
  async withdraw(): Promise<boolean> {
    if (this.#proposed === undefined) return true
    this.#isWithdrawn = true
    let isGone = false
    try {
      isGone = (await this.#context.tasks.discard?.(this.#proposed.id)) ?? false
      return isGone
    } finally {
      this.#isWithdrawn = isGone
    }
  }

  /** The task is not held here any more. */
  drop(): void {
    this.#proposed = undefined
  }

  #create(): CreatedTask {
    const { settings, message, tasks } = this.#context
    const hasLeases = tasks.propose !== undefined
    const { request, owner } = message
    const { contextId, referenceTaskIds } = request.message
    const params = {
      skill: settings.card.skills[0]?.id ?? 'default',
      id: request.chosenId ?? this.#reservedId,
      contextId,
      referenceTaskIds,
      ...(typeof owner.owner === 'string' && { owner: owner.owner }),
    }
    const task = tasks.createTask(params, hasLeases ? toNote(message) : undefined)
    try {
      tasks.addMessage(task.id, { ...request.message, taskId: task.id, contextId: task.contextId })
    } catch (error) {
      tasks.patchTask(task.id, { state: 'rejected' })
      this.#onRefused(task.id, error as Error)
      throw error
    }
    return task
  }
}
