/**
 * What comes of a message: known as soon as there is a task or a reply.
 *
 * @module
 */
import type { Message } from '../../core/task.js'

/** A task, or a message and no task. */
export type Decision =
  { readonly type: 'task'; readonly taskId: string } | { readonly type: 'message'; readonly message: Message }

/** Made once, and waited for by whoever sent the message. */
export class Deciding {
  #decision: Decision | undefined
  #failure: Error | undefined
  #asker: { resolve(decision: Decision): void; reject(reason: Error): void } | undefined

  get made(): Decision | undefined {
    return this.#decision
  }

  make(decision: Decision): void {
    this.#decision = decision
    this.#asker?.resolve(decision)
  }

  /** There can be neither. Of several reasons the first is the one that counts. */
  giveUp(reason: Error): void {
    this.#failure ??= reason
    this.#asker?.reject(this.#failure)
  }

  wait(): Promise<Decision> {
    if (this.#decision !== undefined) return Promise.resolve(this.#decision)
    return new Promise((resolve, reject: (reason: Error) => void) => {
      if (this.#failure === undefined) this.#asker = { resolve, reject }
      else reject(this.#failure)
    })
  }
}
