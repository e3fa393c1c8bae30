/**
 * Queue in front of a database client that keeps room for lease renewals.
 *
 * Requests of clients can fill the connections of a driver, whose own queue serves calls in their order. A renewal that waits
 * there for as long as a lease lasts loses the lease.
 *
 * @module
 */
import type { TaskStore } from './task-store.js'

/** How many calls may be in progress at a time. */
export interface CallLimits {
  readonly reads: number
  readonly changes: number
  /** Reads and changes together. */
  readonly requests: number
  /** Reads, changes and renewals together. */
  readonly all: number
}

type Kind = 'renewal' | 'change' | 'read'

/** The method of a store, or a step of one that has no method. */
export type StoreOperation = keyof TaskStore | 'migrate' | 'publish'

/** With `heads`, which polls use: it reads no tasks, and a poll that waits delays cancellations by other processes. */
const CHANGES: ReadonlySet<StoreOperation> = new Set<StoreOperation>([
  ...(['create', 'commit', 'transact', 'delete', 'acquire', 'release'] as const),
  ...(['putDocument', 'deleteDocument', 'publish', 'heads'] as const),
])

/**
 * Limits for a client that has this number of connections. One is for renewals alone, one for changes and renewals, and one
 * for reads and renewals. With fewer than three connections, calls of different kinds share one: renewals go first, then
 * changes.
 */
export function limitsFor(connections: number): CallLimits {
  const all = Math.max(1, connections)
  const most = Math.max(1, all - 2)
  return { reads: most, changes: most, requests: Math.max(1, all - 1), all }
}

/** Calls of one kind start in their order. When several kinds wait and have room, renewals start first, then changes. */
export class CallQueue {
  readonly #limits: () => CallLimits
  readonly #running: Record<Kind, number> = { renewal: 0, change: 0, read: 0 }
  readonly #waiting: Record<Kind, (() => void)[]> = { renewal: [], change: [], read: [] }

  /** @param limits - Read for every call. Call {@link startWaiting} when they have grown. */
  constructor(limits: () => CallLimits) {
    this.#limits = limits
  }

  /** Makes the call as soon as there is room for it, at once if there is now. */
  async run<T>(operation: StoreOperation, call: () => Promise<T>): Promise<T> {
    const kind = kindOf(operation)
    if (this.#hasRoom(kind)) this.#running[kind] += 1
    // `startWaiting` counts the call before it resolves the promise, so that no later call takes the place.
    else await new Promise<void>((resolve) => this.#waiting[kind].push(resolve))
    try {
      return await call()
    } finally {
      this.#running[kind] -= 1
      this.startWaiting()
    }
  }

  /** Starts the waiting calls that there is room for. */
  startWaiting(): void {
    for (const kind of ['renewal', 'change', 'read'] as const) {
      while (this.#waiting[kind].length > 0 && this.#hasRoom(kind)) {
        this.#running[kind] += 1
        this.#waiting[kind].shift()?.()
      }
    }
  }

  #hasRoom(kind: Kind): boolean {
    const { renewal, change, read } = this.#running
    const { reads, changes, requests, all } = this.#limits()
    if (renewal + change + read >= all) return false
    if (kind === 'renewal') return true
    return change + read < requests && (kind === 'change' ? change < changes : read < reads)
  }
}

function kindOf(operation: StoreOperation): Kind {
  if (operation === 'renew') return 'renewal'
  return CHANGES.has(operation) ? 'change' : 'read'
}
