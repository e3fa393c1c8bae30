/**
 * One interface to PostgreSQL over all supported drivers.
 *
 * @module
 */
import type { Parameter, PgClient, PgliteDatabase, PgPool, PostgresClient, PostgresJsSql } from './clients.js'
import { sleep } from '../../runtime/timers.js'

/** The columns of a row, in their order. Everything is selected as text. */
export type Row = readonly (string | null)[]

export interface Connection {
  /** One statement, one round trip. It is prepared, so its text must be one of few. */
  rows(text: string, parameters: readonly Parameter[]): Promise<readonly Row[]>
  /** As `rows`, of one that gives none: how many it made or changed. */
  count(text: string, parameters: readonly Parameter[]): Promise<number>
  /**
   * Resolves when it listens to `channel`, with what ends that. `onGap`: it listens again, after some may have been lost.
   */
  listen(
    channel: string,
    onPayload: (payload: string) => void,
    onGap: () => void,
  ): Promise<() => Promise<void>>
}

/** @throws {TypeError} naming the option when no driver has such clients. */
export function connectionOf(option: string, client: PostgresClient, prepare: boolean): Connection {
  // Callers without types may pass any value.
  const given: unknown = client
  if ((typeof given === 'object' && given !== null) || typeof given === 'function') {
    if ('unsafe' in client) return postgresJs(client, prepare)
    if ('waitReady' in client) return pglite(client)
    if ('totalCount' in client) return new PgConnection(client, prepare)
  }
  throw new TypeError(
    `"${option}" must be a Pool of "pg" (not a Client), what postgres() of "postgres" gives, or a PGlite`,
  )
}

function postgresJs(sql: PostgresJsSql, prepare: boolean): Connection {
  // By position: the client may rename columns.
  const query = (text: string, parameters: readonly Parameter[]) =>
    sql.unsafe(text, [...parameters], { prepare }).values()
  return {
    async rows(text, parameters) {
      // Each column is text, or null.
      return (await query(text, parameters)) as readonly unknown[] as readonly Row[]
    },
    async count(text, parameters) {
      return (await query(text, parameters)).count ?? 0
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
  const query = (text: string, parameters: readonly Parameter[]) =>
    database.query(text, [...parameters], { rowMode: 'array' })
  return {
    async rows(text, parameters) {
      // Each column is text, or null.
      return (await query(text, parameters)).rows as readonly Row[]
    },
    async count(text, parameters) {
      return (await query(text, parameters)).affectedRows ?? 0
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
  readonly #names = new Map<string, string>()

  constructor(pool: PgPool, prepare: boolean) {
    this.#pool = pool
    this.#prepare = prepare
  }

  async rows(text: string, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    const name = this.#nameOf(text)
    const { rows } = await this.#pool.query({ name, text, values: [...parameters], rowMode: 'array' })
    // Each column is text, or null.
    return rows as readonly Row[]
  }

  async count(text: string, parameters: readonly Parameter[]): Promise<number> {
    const { rowCount } = await this.#pool.query({ name: this.#nameOf(text), text, values: [...parameters] })
    return rowCount ?? 0
  }

  #nameOf(text: string): string | undefined {
    if (!this.#prepare) return undefined
    let name = this.#names.get(text)
    if (name === undefined) {
      name = `a2a-tasks-${hashOf(text)}`
      this.#names.set(text, name)
    }
    return name
  }

  async listen(
    channel: string,
    onPayload: (payload: string) => void,
    onGap: () => void,
  ): Promise<() => Promise<void>> {
    const over = new AbortController()
    const { signal } = over
    const hear = (payload: string): void => {
      if (!signal.aborted) onPayload(payload)
    }
    let current = await this.#listener(channel, hear)
    const keepListening = async (): Promise<void> => {
      for (;;) {
        await current.broken
        const next = signal.aborted ? undefined : await this.#listenerAgain(channel, hear, signal)
        if (next === undefined) return
        current = next
        onGap()
      }
    }
    void keepListening()
    return () => {
      over.abort()
      current.end()
      // Who tries to listen again ends what comes of it: that may take as long as the server is away.
      return Promise.resolve()
    }
  }

  /** Tries until it listens. `undefined` when it need not any more. */
  async #listenerAgain(
    channel: string,
    onPayload: (payload: string) => void,
    signal: AbortSignal,
  ): Promise<Listener | undefined> {
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(2 * waitMs, MAX_RETRY_MS)) {
      try {
        const listener = await this.#listener(channel, onPayload)
        if (!signal.aborted) return listener
        listener.end()
      } catch {
        // The server is away; everybody else who asks it hears so too.
        await sleep(waitMs, signal)
      }
      if (signal.aborted) return undefined
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

/**
 * The same for the same text, so that a connection has one of each, however many stores use it: two FNV-1a of 32 bits. The
 * texts are our own, and few.
 */
function hashOf(text: string): string {
  let [one, other] = [0x811c9dc5, 0x9747b28c]
  for (let index = 0; index < text.length; index += 1) {
    one = Math.imul(one ^ text.charCodeAt(index), 0x01000193)
    other = Math.imul(other ^ text.charCodeAt(index), 0x5bd1e995)
  }
  return [one, other].map((hash) => (hash >>> 0).toString(16).padStart(8, '0')).join('')
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
