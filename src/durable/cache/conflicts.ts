/**
 * Others that come first, again and again.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { StoreAccess } from '../store-client.js'

/** How often one commit is tried against others that come first. */
const MAX_CONFLICTS = 100
/** After so many in a row one who holds a lease waits before each try: 2 ms, 4 ms … */
const HURRIED_CONFLICTS = 10
const MAX_PAUSE_MS = 128

/** Those in a row, at one task. */
export class Conflicts {
  #count = 0

  get areTooMany(): boolean {
    return this.#count > MAX_CONFLICTS
  }

  end(): void {
    this.#count = 0
  }

  /** One more. Resolves when it is time to try again. */
  async add(isLeased: boolean, { pause }: Pick<StoreAccess, 'pause'>): Promise<void> {
    this.#count += 1
    if (!isLeased || this.#count <= HURRIED_CONFLICTS) return
    await pause(Math.min(2 ** (this.#count - HURRIED_CONFLICTS), MAX_PAUSE_MS))
  }
}

export function changedTooOften(taskId: string): A2AError<'UNAVAILABLE'> {
  const message = `Task ${taskId} is changed by others too often: try again later`
  return new A2AError('UNAVAILABLE', message, { reason: 'changes too often' })
}
