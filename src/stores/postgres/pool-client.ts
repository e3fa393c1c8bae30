/**
 * Clients that are checked out of a pool of `pg`.
 *
 * @module
 */
import { keepAliveClock } from '../../runtime/clock.js'
import type { PgClient, PgPool } from './clients.js'

/** How long a call may wait for a connection, in ms. Managers try again, for their `storeRetryMs`. */
const MAX_WAIT_MS = 4_000

export interface CheckedOut {
  readonly client: PgClient
  /** Gives the client back, or closes its connection where that is broken. Call it once. */
  readonly release: (isBroken: boolean) => void
}

/**
 * Takes a client out of the pool. An `error` event of a client that has no listener for it ends the process, and the server can
 * end a connection in the instant of its hand-over. The pool calls back in this instant, and promises resolve later.
 *
 * @param onLost - Called when the connection is broken, unless the client was released before.
 * @throws {Error} as a rejection, naming the remedy, when no connection is free in time.
 */
export function checkOut(pool: PgPool, onLost: () => void = () => undefined): Promise<CheckedOut> {
  return new Promise((resolve, reject) => {
    let isLate = false
    const cancel = keepAliveClock.schedule(() => {
      isLate = true
      reject(noConnection(pool))
    }, MAX_WAIT_MS)
    pool.connect((error, client) => {
      cancel()
      if (client === undefined) reject(error ?? new Error('The Pool has passed no client'))
      else if (isLate) client.release(false)
      else resolve(watch(client, onLost))
    })
  })
}

function watch(client: PgClient, onLost: () => void): CheckedOut {
  let isLost = false
  let isReleased = false
  const lose = (): void => {
    if (isLost || isReleased) return
    isLost = true
    onLost()
  }
  client.on('error', lose)
  client.on('end', lose)
  return {
    client,
    release(isBroken) {
      isReleased = true
      // A client that is closed may still emit errors.
      if (!isLost && !isBroken) {
        client.off('error', lose)
        client.off('end', lose)
      }
      client.release(isLost || isBroken)
    },
  }
}

function noConnection({ totalCount, options }: PgPool): Error {
  const max = options?.max
  const isFull = max !== undefined && totalCount >= max
  return new Error(
    `No connection of the Pool was free within ${MAX_WAIT_MS} ms. ` +
      (isFull
        ? `All ${max} are in use: raise "max" of the Pool, or release the clients that your application has taken from it`
        : 'The database has accepted no new one: see that it can be reached'),
  )
}
