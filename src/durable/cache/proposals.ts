/**
 * Tasks whose events are held back, because they may yet be removed as if they had never been.
 *
 * @module
 */
import type { Announce } from '../../core/managers.js'
import type { CachedTask } from './cached-task.js'

interface Proposal {
  /** The creator of the task. */
  readonly by: object
  readonly held: (() => void)[]
}

export class Proposals<S extends string> {
  readonly #bind: () => Announce
  readonly #byTask = new Map<CachedTask<S>, Proposal>()

  /** @param bind - Captures the context of an announcement. */
  constructor(bind: () => Announce) {
    this.#bind = bind
  }

  /** Holds back the changes of `by` to a task that is not stored yet. */
  add(task: CachedTask<S>, by: object): void {
    this.#byTask.set(task, { by, held: [] })
  }

  /** Announces a change that `by` has made: now, or when the task is confirmed. A change of another caller confirms it. */
  announce(task: CachedTask<S>, by: object | undefined, publish: () => void): void {
    const proposal = this.#byTask.get(task)
    if (proposal !== undefined && proposal.by === by) {
      const announce = this.#bind()
      proposal.held.push(() => announce(publish))
      return
    }
    this.confirm(task)
    publish()
  }

  /** Announces everything that was held back. */
  confirm(task: CachedTask<S>): void {
    const held = this.#byTask.get(task)?.held
    this.#byTask.delete(task)
    for (const publish of held ?? []) publish()
  }

  /** Forgets what was held back. */
  discard(task: CachedTask<S>): void {
    this.#byTask.delete(task)
  }
}
