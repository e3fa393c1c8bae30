/**
 * One interface to PostgreSQL over all supported drivers.
 *
 * @module
 */
import { describe } from '../../runtime/describe.js'
import type { Parameter, PgClient, PgPool, PostgresClient } from './clients.js'
import type { PgliteDatabase, PgliteTransaction, PostgresJsSql, PostgresJsStatements } from './clients.js'
import { isDisconnected } from './errors.js'
import { sleep } from '../../runtime/timers.js'
import { queueOf } from './queue.js'

/** The columns of a row, in the order of the statement. Every column is selected as text. */
export type Row = readonly (string | null)[]

export interface Statements {
  /** Runs one statement in one round trip. Statements are prepared, so there must be few distinct texts. */
  rows(text: string, parameters: readonly Parameter[]): Promise<readonly Row[]>
  /** Runs a statement that returns no rows. Resolves to the number of rows it inserted, updated or deleted. */
  count(text: string, parameters: readonly Parameter[]): Promise<number>
}

export interface Connection extends Statements {
  /**
   * Calls `work` in a transaction, with the driver's client for it, and with statements that belong to it. Rolls back and rejects
   * when `work` rejects.
   */
  transaction(work: TransactionWork): Promise<void>
  /**
   * Listens to `channel`. Resolves once the subscription is active, to a function that ends it. `onGap` is called when
   * the subscription is active again after an interruption, in which notifications may have been lost.
   */
  listen(
    channel: string,
    onPayload: (payload: string) => void,
    onGap: () => void,
  ): Promise<() => Promise<void>>
}

export type TransactionWork = (client: unknown, statements: Statements) => Promise<void>

/** @throws {TypeError} naming the option when the client belongs to no supported driver. */
export function connectionOf(option: string, client: PostgresClient, prepare: boolean): Connection {
  // Callers without types may pass any value.
  const given: unknown = client
  if ((typeof given === 'object' && given !== null) || typeof given === 'function') {
    if ('unsafe' in client) return postgresJs(client, prepare)
    if ('waitReady' in client) return pglite(client)
    if ('totalCount' in client) return new PgConnection(client, prepare)
  }
  throw new TypeError(
    `"${option}" must be a Pool of "pg" (not a Client), the result of postgres() of "postgres", or a PGlite; got ${describe(given)}`,
  )
}

function postgresJs(sql: PostgresJsSql, prepare: boolean): Connection {
  return {
    ...postgresJsStatements(sql, prepare),
    async transaction(work) {
      const own = await sql.reserve()
      const statements = postgresJsStatements(own, prepare)
      const call = async (text: string): Promise<unknown> =>
        await own.unsafe(text, [], { prepare: false }).values()
      try {
        await call('BEGIN')
        await work(own, statements)
        await call('COMMIT')
      } catch (error) {
        // The driver takes a connection that is closed back by itself. Any use of it ends the process, also in `sql.begin`.
        if (isDisconnected(error)) throw error
        await call('ROLLBACK')
        own.release()
        throw error
      }
      own.release()
    },
    async listen(channel, onPayload, onGap) {
      let isFirst = true
      // The driver subscribes again by itself and calls this each time.
      const listening = await sql.listen(channel, onPayload, () => {
        if (!isFirst) onGap()
        isFirst = false
      })
      return () => listening.unlisten()
    },
  }
}

function postgresJsStatements(sql: PostgresJsStatements, prepare: boolean): Statements {
  // Values by position, because the client may be configured to rename columns.
  const query = (text: string, parameters: readonly Parameter[]) =>
    sql.unsafe(text, [...parameters], { prepare }).values()
  return {
    async rows(text, parameters) {
      // The statements select only text and null.
      return (await query(text, parameters)) as readonly unknown[] as readonly Row[]
    },
    async count(text, parameters) {
      return (await query(text, parameters)).count ?? 0
    },
  }
}

function pglite(database: PgliteDatabase): Connection {
  return {
    ...pgliteStatements(database),
    async transaction(work) {
      await database.transaction((own) => work(own, pgliteStatements(own)))
    },
    async listen(channel, onPayload) {
      const unlisten = await database.listen(channel, onPayload)
      return () => unlisten()
    },
  }
}

function pgliteStatements(database: PgliteTransaction): Statements {
  const query = (text: string, parameters: readonly Parameter[]) =>
    database.query(text, [...parameters], { rowMode: 'array' })
  return {
    async rows(text, parameters) {
      // The statements select only text and null.
      return (await query(text, parameters)).rows as readonly Row[]
    },
    async count(text, parameters) {
      return (await query(text, parameters)).affectedRows ?? 0
    },
  }
}

const FIRST_RETRY_MS = 100
const MAX_RETRY_MS = 5_000
const ROLLBACK_MS = 1_000

class PgConnection implements Connection {
  readonly #pool: PgPool
  readonly #prepare: boolean
  readonly #names = new Map<string, string>()
  readonly #statements: Statements

  constructor(pool: PgPool, prepare: boolean) {
    this.#pool = pool
    this.#prepare = prepare
    this.#statements = this.#statementsOf(pool)
  }

  rows(text: string, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    return this.#statements.rows(text, parameters)
  }

  count(text: string, parameters: readonly Parameter[]): Promise<number> {
    return this.#statements.count(text, parameters)
  }

  async transaction(work: TransactionWork): Promise<void> {
    const client = await this.#pool.connect()
    let isBroken = false
    const onError = (): void => {
      isBroken = true
    }
    client.on('error', onError)
    try {
      await client.query('BEGIN')
      await work(client, this.#statementsOf(client))
      await client.query('COMMIT')
    } catch (error) {
      // A statement that hangs would keep the client: closing the connection rolls back too.
      isBroken = !(await within(ROLLBACK_MS, client.query('ROLLBACK')))
      throw error
    } finally {
      client.off('error', onError)
      client.release(isBroken)
    }
  }

  #statementsOf(client: Pick<PgPool, 'query'>): Statements {
    return {
      rows: async (text, parameters) => {
        const name = this.#nameOf(text)
        const { rows } = await client.query({ name, text, values: [...parameters], rowMode: 'array' })
        // The statements select only text and null.
        return rows as readonly Row[]
      },
      count: async (text, parameters) => {
        const { rowCount } = await client.query({ name: this.#nameOf(text), text, values: [...parameters] })
        return rowCount ?? 0
      },
    }
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
    const ending = new AbortController()
    const { signal } = ending
    const onActivePayload = (payload: string): void => {
      if (!signal.aborted) onPayload(payload)
    }
    let current = await this.#listener(channel, onActivePayload)
    const keepListening = async (): Promise<void> => {
      for (;;) {
        await current.broken
        const next = signal.aborted ? undefined : await this.#listenerAgain(channel, onActivePayload, signal)
        if (next === undefined) return
        current = next
        onGap()
      }
    }
    void keepListening()
    return () => {
      ending.abort()
      current.end()
      // A reconnection attempt can take as long as the server is unavailable, so this does not wait for it: the attempt
      // releases its own client.
      return Promise.resolve()
    }
  }

  /** Retries until a listener is connected. Resolves to `undefined` once `signal` is aborted. */
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
        // The server is unavailable. Every other call to the store reports that, so this error needs no report.
        await sleep(waitMs, signal)
      }
      if (signal.aborted) return undefined
    }
  }

  /** Checks out a pool client that is used for listening only. */
  async #listener(channel: string, onPayload: (payload: string) => void): Promise<Listener> {
    const free = queueOf(this.#pool).reserve()
    const client = await this.#pool.connect().catch((error: unknown) => {
      free()
      throw error
    })
    const { broken, end } = releaseOnce(client, free)
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

/** Whether `work` succeeds within this time. */
async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController()
  const succeeded = work.then(
    () => true,
    () => false,
  )
  const isDone = await Promise.race([succeeded, sleep(ms, over.signal).then(() => false)])
  over.abort()
  return isDone
}

/**
 * Names a prepared statement by its text, so that each connection prepares it once, however many stores share the
 * connection. Two 32-bit FNV-1a hashes suffice for a few texts, all of which are ours.
 */
function hashOf(text: string): string {
  let [first, second] = [0x811c9dc5, 0x9747b28c]
  for (let index = 0; index < text.length; index += 1) {
    first = Math.imul(first ^ text.charCodeAt(index), 0x01000193)
    second = Math.imul(second ^ text.charCodeAt(index), 0x5bd1e995)
  }
  return [first, second].map((hash) => (hash >>> 0).toString(16).padStart(8, '0')).join('')
}

interface Listener {
  readonly broken: Promise<void>
  readonly end: () => void
}

/** Releases the client once, and destroys it, so that the pool does not reuse it. Then calls `free`. */
function releaseOnce(client: PgClient, free: () => void): Listener {
  let isReleased = false
  let resolveBroken: () => void
  const broken = new Promise<void>((resolve) => (resolveBroken = resolve))
  const end = (): void => {
    if (isReleased) return
    isReleased = true
    client.release(true)
    free()
    resolveBroken()
  }
  client.on('error', end)
  client.on('end', end)
  return { broken, end }
}
