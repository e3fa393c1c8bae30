/**
 * One interface to PostgreSQL over all supported drivers.
 *
 * @module
 */
import { describe } from '../../runtime/describe.js'
import { hasMethods } from '../../runtime/options.js'
import type { Parameter, PostgresClient } from './clients.js'
import { BIGINT, BOOLEAN, INTEGER, TEXT } from './clients.js'
import type { PgliteDatabase, PgliteTransaction } from './clients.js'
import { PgConnection } from './pg-connection.js'
import { postgresJs } from './postgres-js.js'
import { noTransaction, type Connection, type Row, type Statements } from './statements.js'

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

function pglite(database: PgliteDatabase): Connection {
  return {
    ...pgliteStatements(database),
    async transaction(work) {
      await database.transaction((own) => work(own, pgliteStatements(own)))
    },
    within(client) {
      if (!hasMethods(client, 'query', 'exec') || 'waitReady' in client) throw noTransaction(client)
      // It has the methods of a transaction, and the application says that it is one.
      return pgliteStatements(client as object as PgliteTransaction)
    },
    async listen(channel, onPayload) {
      const unlisten = await database.listen(channel, onPayload)
      return () => unlisten()
    },
  }
}

/** Parsers and serializers of the application do not apply to what the store selects and sends. */
const PARSERS = { [TEXT]: (text: string): string => text }
const SERIALIZERS = { [BOOLEAN]: String, [BIGINT]: String, [INTEGER]: String, [TEXT]: String }

function pgliteStatements(database: PgliteTransaction): Statements {
  const query = (text: string, parameters: readonly Parameter[]) =>
    database.query(text, [...parameters], { rowMode: 'array', parsers: PARSERS, serializers: SERIALIZERS })
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
