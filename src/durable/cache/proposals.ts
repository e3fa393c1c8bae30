/**
 * Tasks whose events are held back, because they may yet be removed as if they had never been.
 *
 * @module
 */
import type { Announce } from '../../core/managers.js'
import type { CachedTask } from './cached-task.js'

interface Proposal {
  /** Who has created the task. */
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

  /** Holds back what `by` does to the task, which is not stored yet. */
  add(task: CachedTask<S>, by: object): void {
    this.#byTask.set(task, { by, held: [] })
  }

  /** Calls `tell`, which tells of a change that `by` has made: now, or when the task is confirmed. A change of others confirms it. */
  announce(task: CachedTask<S>, by: object | undefined, tell: () => void): void {
    const proposal = this.#byTask.get(task)
    if (proposal !== undefined && proposal.by === by) {
      const announce = this.#bind()
      proposal.held.push(() => announce(tell))
      return
    }
    this.confirm(task)
    tell()
  }

  /** Tells of everything that was held back. */
  confirm(task: CachedTask<S>): void {
    const held = this.#byTask.get(task)?.held
    this.#byTask.delete(task)
    for (const tell of held ?? []) tell()
  }

  /** Forgets what was held back. */
  discard(task: CachedTask<S>): void {
    this.#byTask.delete(task)
  }
}
