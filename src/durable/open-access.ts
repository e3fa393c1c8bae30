/**
 * Asking the store on behalf of whoever uses a manager: until it is destroyed.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { StoreAccess } from './store-client.js'

export class OpenAccess {
  readonly #access: StoreAccess
  #hasEnded = false

  constructor(access: StoreAccess) {
    this.#access = access
  }

  end(): void {
    this.#hasEnded = true
  }

  /** @throws {A2AError} `MANAGER_DESTROYED`. */
  requireOpen(): void {
    if (this.#hasEnded) throw new A2AError('MANAGER_DESTROYED', 'The manager was destroyed', { taskId: '' })
  }

  /** @throws {A2AError} `STORE_FAILED`, `MANAGER_DESTROYED`, as a rejection. */
  readonly insist: StoreAccess['insist'] = async (operation, ask) => {
    this.requireOpen()
    return await this.#access.insist(operation, ask)
  }
}
