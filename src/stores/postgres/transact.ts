/**
 * Commits in one transaction with other work.
 *
 * @module
 */
import type { CommitResult, Transaction, TransactionResult } from '../../durable/task-store.js'
import { commitStatement, whyNotCommitted, written } from './commits.js'
import type { Connection, Statements } from './statements.js'
import { isAborted, isDisconnected, isRefused, isStale, readsOnly } from './errors.js'
import { READS_ONLY, type TaskStatements } from './task-statements.js'

const MAX_TRIES = 100
/** Rolls a transaction back. */
const ROLLBACK = new Error('Rolled back')

/**
 * The row of the task is not locked while the work is done: renewals of its lease would wait. The commit compares generation and
 * lease again.
 */
export async function transact(
  connection: Connection,
  sql: TaskStatements,
  transaction: Transaction,
): Promise<TransactionResult> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const result = await attempt(connection, sql, transaction)
    if (result !== undefined) return result
  }
  throw new Error(
    'The database rolled the transaction back too often, because of conflicts with other transactions',
  )
}

/** `undefined` where the transaction has to be tried again. */
async function attempt(
  connection: Connection,
  sql: TaskStatements,
  { work, ...commit }: Transaction,
): Promise<TransactionResult | undefined> {
  const { parameters: asked } = whyNotCommitted(sql, commit)
  const refusal = async (statements: Statements): Promise<CommitResult | undefined> => {
    const [row] = await statements.rows(sql.whyNotTransacted, asked)
    // Before the work: its own failure to write could not be told from a fault of it.
    if (row?.[0] === READS_ONLY) throw readsOnly()
    // The statement returns only these results, or null.
    return row === undefined ? 'missing' : ((row[0] as CommitResult | null) ?? undefined)
  }
  let refused: CommitResult | undefined
  const seen: { failure?: { readonly error: unknown; readonly isOfWork: boolean }; hasWorked: boolean } = {
    hasWorked: false,
  }
  try {
    await connection.transaction(async (client, statements) => {
      refused = await refusal(statements)
      if (refused !== undefined) throw ROLLBACK
      const events = await Promise.resolve(work(client)).catch(async (error: unknown) => {
        seen.failure = { error, isOfWork: !isDisconnected(error) && (await isAlive(statements)) }
        throw error
      })
      seen.hasWorked = true
      const { text, parameters } = commitStatement(sql, written({ ...commit, events }))
      if ((await statements.count(text, parameters)) === 0) throw ROLLBACK
    })
    return 'committed'
  } catch (error) {
    if (refused !== undefined) return refused
    if (error === ROLLBACK || isStale(error)) return undefined
    const { failure, hasWorked } = seen
    const isOfWork = failure?.isOfWork ?? (hasWorked && isRefused(error))
    if (!isOfWork) throw error
    // What the work ran into may be the effect of an attempt of this very transaction, whose answer was lost.
    return (await refusal(connection)) ?? { error: failure?.error ?? error }
  }
}

/** Whether the database still answers, so that an error is not that of a broken connection. */
async function isAlive(statements: Statements): Promise<boolean> {
  try {
    await statements.rows('SELECT NULL', [])
    return true
  } catch (error) {
    return isAborted(error)
  }
}
