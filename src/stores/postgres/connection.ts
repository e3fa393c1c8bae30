/**
 * One way to speak to PostgreSQL, whichever driver does.
 *
 * @module
 */
import type { Parameter, PgClient, PgliteDatabase, PgPool, PostgresClient, PostgresJsSql } from './clients.js'
import { pause, uniqueId } from './platform.js'

/** The columns of a row, in their order. Everything is selected as text. */
export type Row = readonly (string | null)[]

export interface Connection {
  /** One statement, one round trip. It is prepared, so its text must be one of few. */
  rows(text: string, parameters: readonly Parameter[]): Promise<readonly Row[]>
  /**
   * Resolves when it listens to `channel`, with what ends that. `onGap`: it listens again, after some may have been lost.
   */
  listen(
    channel: string,
    onPayload: (payload: string) => void,
    onGap: () => void,
  ): Promise<() => Promise<void>>
}

/** @throws {TypeError} when no driver has such clients. */
export function connectionOf(client: PostgresClient, prepare: boolean): Connection {
  // Whatever a caller without types gives.
  const given: unknown = client
  if ((typeof given === 'object' && given !== null) || typeof given === 'function') {
    if ('unsafe' in client) return postgresJs(client, prepare)
    if ('waitReady' in client) return pglite(client)
    if ('connect' in client) return new PgConnection(client, prepare)
  }
  throw new TypeError(
    'postgresStore() takes a Pool of "pg", what postgres() of "postgres" gives, or a PGlite',
  )
}

function postgresJs(sql: PostgresJsSql, prepare: boolean): Connection {
  return {
    async rows(text, parameters) {
      // By position: the client may rename columns. Each is text, or null.
      return (await sql.unsafe(text, [...parameters], { prepare }).values()) as readonly Row[]
    },
    async listen(channel, onPayload, onGap) {
      let isFirst = true
      // The driver listens again by itself.
      const listening = await sql.listen(channel, onPayload, () => {
        if (!isFirst) onGap()
        isFirst = false
      })
      return () => listening.unlisten()
    },
  }
}

function pglite(database: PgliteDatabase): Connection {
  return {
    async rows(text, parameters) {
      const { rows } = await database.query(text, [...parameters], { rowMode: 'array' })
      // Each column is text, or null.
      return rows as readonly Row[]
    },
    async listen(channel, onPayload) {
      const unlisten = await database.listen(channel, onPayload)
      return () => unlisten()
    },
  }
}

const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 5_000

class PgConnection implements Connection {
  readonly #pool: PgPool
  readonly #prepare: boolean
  readonly #prefix = `a2a-tasks-${uniqueId()}-`
  readonly #names = new Map<string, string>()

  constructor(pool: PgPool, prepare: boolean) {
    this.#pool = pool
    this.#prepare = prepare
  }

  async rows(text: string, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    const query = { text, values: [...parameters], rowMode: 'array' as const }
    const { rows } = await this.#pool.query(this.#prepare ? { ...query, name: this.#nameOf(text) } : query)
    // Each column is text, or null.
    return rows as readonly Row[]
  }

  #nameOf(text: string): string {
    let name = this.#names.get(text)
    if (name === undefined) {
      name = `${this.#prefix}${this.#names.size}`
      this.#names.set(text, name)
    }
    return name
  }

  async listen(
    channel: string,
    onPayload: (payload: string) => void,
    onGap: () => void,
  ): Promise<() => Promise<void>> {
    let isOver = false
    let current = await this.#listener(channel, onPayload)
    const keepListening = async (): Promise<void> => {
      for (;;) {
        await current.broken
        if (isOver) return
        const next = await this.#listenerAgain(channel, onPayload, () => isOver)
        if (next === undefined) return
        current = next
        onGap()
      }
    }
    const done = keepListening()
    return async () => {
      isOver = true
      current.end()
      await done
    }
  }

  /** Tries until it listens. `undefined` when it need not any more. */
  async #listenerAgain(
    channel: string,
    onPayload: (payload: string) => void,
    isOver: () => boolean,
  ): Promise<Listener | undefined> {
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(2 * waitMs, MAX_RETRY_MS)) {
      try {
        const listener = await this.#listener(channel, onPayload)
        if (!isOver()) return listener
        listener.end()
      } catch {
        // The server is away; everybody else who asks it hears so too.
        await pause(waitMs)
      }
      if (isOver()) return undefined
    }
  }

  /** A client of the pool that does nothing else. */
  async #listener(channel: string, onPayload: (payload: string) => void): Promise<Listener> {
    const client = await this.#pool.connect()
    const { broken, end } = lifeOf(client)
    client.on('notification', ({ payload }) => {
      if (payload !== undefined) onPayload(payload)
    })
    try {
      await client.query(`LISTEN "${channel}"`)
      return { broken, end }
    } catch (error) {
      end()
      throw error
    }
  }
}

interface Listener {
  readonly broken: Promise<void>
  readonly end: () => void
}

/** A client goes back to its pool once, and is not used again. */
function lifeOf(client: PgClient): Listener {
  let isOver = false
  let resolveBroken: () => void
  const broken = new Promise<void>((resolve) => (resolveBroken = resolve))
  const end = (): void => {
    if (isOver) return
    isOver = true
    client.release(true)
    resolveBroken()
  }
  client.on('error', end)
  client.on('end', end)
  return { broken, end }
}
