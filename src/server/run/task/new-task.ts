/**
 * The task of a run that begins without one.
 *
 * @module
 */
import type { TaskKey } from '../../../core/task.js'
import type { Principal } from '../../caller.js'
import type { RunContext } from '../run-context.js'

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
    const { settings, message, note, tasks } = this.#context
    const { request, owner } = message
    const { contextId, referenceTaskIds } = request.message
    const params = {
      skill: settings.card.skills[0]?.id ?? 'default',
      id: request.chosenId ?? this.#reservedId,
      contextId,
      referenceTaskIds,
      ...(typeof owner.owner === 'string' && { owner: owner.owner }),
    }
    const task = tasks.createTask(params, note)
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
