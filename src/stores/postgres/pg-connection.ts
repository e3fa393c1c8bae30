/**
 * Statements and transactions over a pool of `pg`.
 *
 * @module
 */
import { sleep } from '../../runtime/timers.js'
import { listenerOf } from '../../durable/shared-listener.js'
import type { Parameter, PgClient, PgPool } from './clients.js'
import { isReadOnly } from './errors.js'
import { noTransaction } from './statements.js'
import type { Connection, Row, Statements, TransactionWork } from './statements.js'
import { listenOver } from './listening.js'
import { checkOut } from './pool-client.js'
import { hasMethods } from '../../runtime/options.js'

const ROLLBACK_MS = 1_000

/** Parsers of the application do not apply to what the store selects. Results in the binary format are bytes. */
const TYPES = { getTypeParser: () => String }

type Use = <T>(work: (client: PgClient) => Promise<T>) => Promise<T>

export class PgConnection implements Connection {
  readonly #pool: PgPool
  readonly #prepare: boolean
  readonly #names = new Map<string, string>()
  readonly #statements: Statements

  constructor(pool: PgPool, prepare: boolean) {
    this.#pool = pool
    this.#prepare = prepare
    this.#statements = this.#statementsOf(async (work) => {
      const { client, release } = await checkOut(pool)
      let isBroken = true
      try {
        const result = await work(client)
        isBroken = false
        return result
      } finally {
        release(isBroken)
      }
    })
  }

  rows(text: string, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    return this.#statements.rows(text, parameters)
  }

  count(text: string, parameters: readonly Parameter[]): Promise<number> {
    return this.#statements.count(text, parameters)
  }

  async transaction(work: TransactionWork): Promise<void> {
    const { client, release } = await checkOut(this.#pool)
    let isBroken = false
    try {
      await client.query('BEGIN')
      await work(
        client,
        this.#statementsOf((use) => use(client)),
      )
      await client.query('COMMIT')
    } catch (error) {
      // A statement that hangs would keep the client: closing the connection rolls back too. After a failover, another connection
      // may lead to the server that takes changes.
      isBroken = isReadOnly(error) || !(await within(ROLLBACK_MS, client.query('ROLLBACK')))
      throw error
    } finally {
      release(isBroken)
    }
  }

  within(client: unknown): Statements {
    if (!hasMethods(client, 'query', 'connect') || 'totalCount' in client) throw noTransaction(client)
    // A client of the driver has these methods.
    const own = client as object as PgClient
    if (own.getTransactionStatus?.() === 'I')
      throw noTransaction(client, 'one without a transaction: await BEGIN first')
    return this.#statementsOf((use) => use(own))
  }

  listen(
    channel: string,
    onMessage: (payload: string) => void,
    onGap: () => void,
    signal: AbortSignal | undefined,
  ): Promise<() => void> {
    const listener = listenerOf(this.#pool, (...given) => listenOver(this.#pool, ...given))
    return listener.listen(channel, { onMessage, onGap }, signal)
  }

  #statementsOf(use: Use): Statements {
    return {
      rows: async (text, parameters) => {
        const query = {
          name: this.#nameOf(text),
          text,
          values: [...parameters],
          rowMode: 'array' as const,
          types: TYPES,
        }
        const { rows } = await use((client) => client.query(query))
        // The statements select only text and null.
        return rows as readonly Row[]
      },
      count: async (text, parameters) => {
        const query = { name: this.#nameOf(text), text, values: [...parameters], types: TYPES }
        return (await use((client) => client.query(query))).rowCount ?? 0
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
