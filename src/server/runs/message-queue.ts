/**
 * Messages that wait until it is their turn.
 *
 * @module
 */
import type { Queued } from './question.js'
import type { Principal } from '../caller.js'

/** Those of each task, in their order. */
export class Queues<P extends Principal> {
  readonly #byTask = new Map<string, Queued<P>[]>()

  has(taskId: string): boolean {
    return this.#byTask.has(taskId)
  }

  includes(taskId: string, message: Queued<P>): boolean {
    return this.#byTask.get(taskId)?.includes(message) === true
  }

  push(taskId: string, message: Queued<P>): void {
    this.#of(taskId).push(message)
  }

  /** These come before those that wait already. */
  unshift(taskId: string, messages: readonly Queued<P>[]): void {
    if (messages.length > 0) this.#of(taskId).unshift(...messages)
  }

  shift(taskId: string): Queued<P> | undefined {
    const queue = this.#byTask.get(taskId)
    const next = queue?.shift()
    if (queue?.length === 0) this.#byTask.delete(taskId)
    return next
  }

  delete(taskId: string): void {
    this.#byTask.delete(taskId)
  }

  #of(taskId: string): Queued<P>[] {
    const queue = this.#byTask.get(taskId) ?? []
    this.#byTask.set(taskId, queue)
    return queue
  }
}
