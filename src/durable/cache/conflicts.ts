/**
 * Retry policy for optimistic-concurrency conflicts, and the errors of changes that lose.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { StoreClient } from '../store-client.js'

/** How many conflicts in a row a commit may meet. */
const MAX_CONFLICTS = 100
/** After this many in a row, the holder of a lease pauses before each attempt: 2 ms, 4 ms … */
const IMMEDIATE_RETRIES = 10
const MAX_PAUSE_MS = 128

/** Counts the conflicts in a row at one task. */
export class Conflicts {
  #count = 0

  get areTooMany(): boolean {
    return this.#count > MAX_CONFLICTS
  }

  reset(): void {
    this.#count = 0
  }

  /** Counts one conflict. Resolves when the commit may be attempted again. */
  async add(isLeased: boolean, { pause }: Pick<StoreClient, 'pause'>): Promise<void> {
    this.#count += 1
    if (!isLeased || this.#count <= IMMEDIATE_RETRIES) return
    await pause(Math.min(2 ** (this.#count - IMMEDIATE_RETRIES), MAX_PAUSE_MS))
  }
}

export function leaseLost(taskId: string): A2AError<'LEASE_LOST'> {
  const message = `Task ${taskId} is held by another process now, or by none: its lease was not renewed in time`
  return new A2AError('LEASE_LOST', message, { taskId })
}

export function changedTooOften(taskId: string): A2AError<'UNAVAILABLE'> {
  const message = `Task ${taskId} is changed by others too often: try again later`
  return new A2AError('UNAVAILABLE', message, { reason: 'changes too often' })
}
