/**
 * Statements and transactions over `postgres`.
 *
 * @module
 */
import { keepAliveClock } from '../../runtime/clock.js'
import { BIGINT, BOOLEAN, INTEGER, TEXT } from './clients.js'
import type { Change, Parameter, PostgresJsReserved, PostgresJsSql, PostgresJsStatements } from './clients.js'
import { isDisconnected } from './errors.js'
import { noTransaction } from './statements.js'
import type { Connection, Row, Statements, TransactionWork } from './statements.js'

/** How long a call may wait for a connection, in ms. Managers try again, for their `storeRetryMs`. */
const MAX_WAIT_MS = 4_000

/** The connection of the driver, which calls back when it is closed. `sql.begin` of the driver uses the same. */
interface Reserved {
  onclose?: ((error: unknown) => void) | undefined
}

/** A value of each type of parameters, and how it can be sent. */
const SENT: readonly (readonly [type: number, value: Parameter, texts: readonly unknown[]])[] = [
  [BOOLEAN, true, ['t', 'true']],
  [BIGINT, 7, ['7']],
  [INTEGER, 7, ['7']],
  [TEXT, 'text', ['text']],
]

/**
 * @throws {TypeError} when the client is set to change what statements send, or the texts that they return. Names of columns are
 *   not used.
 */
function requireUnchanged({ options }: PostgresJsSql): void {
  const { transform, parsers, serializers } = options ?? {}
  const change = (by: Change, value: unknown): unknown =>
    // The driver calls it with the values of all columns.
    by === undefined ? value : by(value as never, { name: 'text', type: TEXT } as never)
  try {
    const text = change(transform?.value?.from, change(parsers?.[TEXT], 'text'))
    const row = change(transform?.row?.from, [text])
    const isSent = SENT.every(([type, value, texts]) => {
      const by = serializers?.[type]
      return by === undefined || texts.includes(by(value as never))
    })
    if (isSent && Array.isArray(row) && row[0] === 'text') return
  } catch {
    // Refused as another value is.
  }
  throw new TypeError(
    'The options "transform" and "types" of the client of "postgres" change what statements send and return: ' +
      'pass a client that leaves them as they are',
  )
}

export function postgresJs(sql: PostgresJsSql, isPrepared: boolean): Connection {
  requireUnchanged(sql)
  // An application that says so of its client, says so of all statements.
  const prepare = isPrepared && sql.options?.prepare !== false
  return {
    ...postgresJsStatements(sql, prepare),
    transaction: (work) => transactionOf(sql, prepare, work),
    within(client) {
      // The client itself can begin a transaction, and is in none.
      if (typeof client !== 'function' || !('unsafe' in client) || 'begin' in client)
        throw noTransaction(client)
      // A client of the driver has this method.
      return postgresJsStatements(client as never, prepare)
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

/**
 * Runs `work` in a transaction. The driver takes a connection that is closed back by itself. Any use of it afterwards ends the
 * process, also in `sql.begin`, or goes to a new connection, outside of the transaction: it is refused here.
 */
async function transactionOf(sql: PostgresJsSql, prepare: boolean, work: TransactionWork): Promise<void> {
  // Drizzle reads the options, which the driver gives to the client alone.
  const own = Object.assign(await reserve(sql), { options: sql.options })
  const closed: { error?: unknown } = {}
  const guarded = guard(own, () => {
    if ('error' in closed) throw closed.error
  })
  const call = async (text: string, onexecute?: (connection: Reserved) => void): Promise<unknown> =>
    await guarded.unsafe(text, [], { prepare: false, ...(onexecute && { onexecute }) }).values()
  try {
    await call('BEGIN', (connection) => {
      connection.onclose = (error) => (closed.error = error)
    })
    await work(guarded, postgresJsStatements(guarded, prepare))
    await call('COMMIT')
  } catch (error) {
    if ('error' in closed || isDisconnected(error)) throw error
    await call('ROLLBACK')
    own.release()
    throw error
  }
  own.release()
}

/** @throws {Error} as a rejection, naming the remedy, when no connection is free in time. */
async function reserve(sql: PostgresJsSql): Promise<PostgresJsReserved> {
  const reserving = sql.reserve()
  let cancel = (): void => undefined
  const late = new Promise<undefined>((resolve) => {
    cancel = keepAliveClock.schedule(() => resolve(undefined), MAX_WAIT_MS)
  })
  const own = await Promise.race([reserving, late]).finally(() => cancel())
  if (own !== undefined) return own
  reserving.then(
    (unused) => unused.release(),
    () => undefined,
  )
  throw new Error(
    `No connection of "postgres" was free within ${MAX_WAIT_MS} ms: raise its option "max", ` +
      'or release the connections that your application has reserved, and see that the database can be reached',
  )
}

/** The same client, whose every use calls `requireOpen` first. */
function guard(own: PostgresJsReserved, requireOpen: () => void): PostgresJsReserved {
  return new Proxy(own, {
    apply(target, receiver, given: unknown[]): unknown {
      requireOpen()
      // The driver's client is a function. The types have only what the store uses.
      return Reflect.apply(target as never, receiver, given)
    },
    get(target, name): unknown {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...given: unknown[]): unknown => {
        requireOpen()
        return Reflect.apply(member, target, given)
      }
    },
  })
}
