/**
 * The first response to a message: its task, or a reply without a task.
 *
 * @module
 */
import type { Message } from '../../core/task.js'

export type FirstResponse =
  { readonly type: 'task'; readonly taskId: string } | { readonly type: 'message'; readonly message: Message }

/** A value that is known later. Unlike a promise, it can be read synchronously. It has at most one waiter. */
export class Deferred<T> {
  #value: T | undefined
  #failure: Error | undefined
  #waiter: { resolve(value: T): void; reject(reason: Error): void } | undefined

  /** The value, `undefined` until it is known. */
  get value(): T | undefined {
    return this.#value
  }

  resolve(value: T): void {
    this.#value = value
    this.#waiter?.resolve(value)
  }

  /** The first reason counts. Has no effect on a waiter that has its value. */
  reject(reason: Error): void {
    this.#failure ??= reason
    this.#waiter?.reject(this.#failure)
  }

  wait(): Promise<T> {
    if (this.#value !== undefined) return Promise.resolve(this.#value)
    return new Promise((resolve, reject: (reason: Error) => void) => {
      if (this.#failure === undefined) this.#waiter = { resolve, reject }
      else reject(this.#failure)
    })
  }
}
