/**
 * LISTEN over one connection of a pool of `pg`.
 *
 * @module
 */
import type { ListeningSession } from '../../durable/shared-listener.js'
import { onAbort } from '../../runtime/abort.js'
import { sleep } from '../../runtime/timers.js'
import type { PgClient, PgPool } from './clients.js'
import { checkOut } from './pool-client.js'
import { queueOf } from './queue.js'

const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 5_000

interface Listening {
  readonly client: PgClient
  /** Resolves when the connection is lost, or was ended. */
  readonly over: Promise<void>
  readonly end: () => void
}

/** Takes a client out of the pool, and another one whenever its connection is lost, until `signal` aborts. */
export async function listenOver(
  pool: PgPool,
  onMessage: (channel: string, message: string) => void,
  onGap: () => void,
  signal: AbortSignal,
): Promise<ListeningSession> {
  const channels = new Set<string>()
  let current = await connect(pool, onMessage, signal)
  const keepListening = async (): Promise<void> => {
    for (;;) {
      await current.over
      const next = await connectAgain(pool, onMessage, signal, channels)
      if (next === undefined) return
      current = next
      onGap()
    }
  }
  void keepListening()
  /** A client takes one statement at a time. */
  let last: Promise<unknown> = Promise.resolve()
  const send = (text: string): Promise<unknown> => {
    const sent = last.then(() => current.client.query(text))
    last = sent.catch(() => undefined)
    return sent
  }
  return {
    add(channel) {
      channels.add(channel)
      return send(listen(channel))
    },
    remove(channel) {
      channels.delete(channel)
      return send(`UN${listen(channel)}`)
    },
  }
}

async function connect(
  pool: PgPool,
  onMessage: (channel: string, message: string) => void,
  signal: AbortSignal,
): Promise<Listening> {
  const free = queueOf(pool).reserve()
  let end = (): void => undefined
  const over = new Promise<void>((resolve) => (end = resolve))
  try {
    const { client, release } = await checkOut(pool, end)
    client.on('notification', ({ channel, payload }) => {
      if (payload !== undefined) onMessage(channel, payload)
    })
    const stopWaiting = onAbort(signal, end)
    void over.then(() => {
      stopWaiting()
      // Closes the connection, so that the pool does not use it again.
      release(true)
      free()
    })
    return { client, over, end }
  } catch (error) {
    free()
    throw error
  }
}

/** Tries again until a connection listens. Resolves to `undefined` once `signal` aborts. */
async function connectAgain(
  pool: PgPool,
  onMessage: (channel: string, message: string) => void,
  signal: AbortSignal,
  channels: ReadonlySet<string>,
): Promise<Listening | undefined> {
  for (let waitMs = FIRST_RETRY_MS; !signal.aborted; waitMs = Math.min(2 * waitMs, MAX_RETRY_MS)) {
    try {
      const next = await connect(pool, onMessage, signal)
      try {
        for (const channel of channels) await next.client.query(listen(channel))
        return next
      } catch (error) {
        next.end()
        throw error
      }
    } catch {
      // The server is unavailable. Every other call to the store reports that, so this error needs no report.
      await sleep(waitMs, signal)
    }
  }
  return undefined
}

function listen(channel: string): string {
  return `LISTEN "${channel}"`
}
