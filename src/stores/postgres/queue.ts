/**
 * Queues of calls, one for each client.
 *
 * @module
 */
import { CallQueue, limitsFor } from '../../durable/call-queue.js'
import type { PostgresClient } from './clients.js'

/** The default of both drivers that have pools. */
const DEFAULT_CONNECTIONS = 10

/** A queue of calls that knows how many connections listen. */
class ClientQueue extends CallQueue {
  readonly #state: { listening: number }

  constructor(connections: number) {
    const state = { listening: 0 }
    super(() => limitsFor(connections - state.listening))
    this.#state = state
  }

  /** Leaves one connection of the pool to a listener. Returns a function that takes it back. Call it once. */
  reserve(): () => void {
    this.#state.listening += 1
    return () => {
      this.#state.listening -= 1
      this.startWaiting()
    }
  }
}

const queues = new WeakMap<PostgresClient, ClientQueue>()

/** The queue of all stores over this client, which share its connections. */
export function queueOf(client: PostgresClient): ClientQueue {
  const present = queues.get(client)
  if (present !== undefined) return present
  const queue = new ClientQueue(connectionsOf(client))
  queues.set(client, queue)
  return queue
}

function connectionsOf(client: PostgresClient): number {
  return 'waitReady' in client ? 1 : (client.options?.max ?? DEFAULT_CONNECTIONS)
}
