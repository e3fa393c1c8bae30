/**
 * Errors of PostgreSQL that need an operator, with the action to take.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { StoreOperation } from '../../durable/call-queue.js'

/** Our own SQLSTATE, for refusals whose text is already complete. */
export const REFUSED = 'A2A01'
/**
 * SQLSTATE of a serialization failure: the transaction's snapshot is out of date, and the transaction must start over.
 */
export const STALE = '40001'
const DEADLOCK = '40P01'
/** Of each statement after one that has failed, until the transaction ends. */
const ABORTED = '25P02'
/** Of a change in a transaction that only reads, as all of a standby do. */
const READ_ONLY = '25006'
/** The class of constraints. Deferred ones are checked when the transaction commits. */
const CONSTRAINTS = '23'

interface Advice {
  readonly fault: string
  readonly remedy: string
}

const NOT_SET_UP: Advice = { fault: 'are not set up', remedy: 'Call migrate() first' }
const NOT_PREPARED: Advice = {
  fault: 'are out of reach of statements that were prepared',
  remedy: 'Set prepare: false, as behind a pooler that hands each statement to another connection',
}

/** By SQLSTATE. Errors with other codes may be transient. */
const ADVICE: ReadonlyMap<unknown, Advice> = new Map([
  ['42P01', NOT_SET_UP],
  ['3F000', NOT_SET_UP],
  ['42703', NOT_SET_UP],
  ['42P07', { fault: 'cannot be made', remedy: 'Choose another schema: this one has other tables' }],
  ['42501', { fault: 'may not be used', remedy: 'Grant the user of this connection what it lacks' }],
  ['22003', { fault: 'do not take this number', remedy: 'It is larger than its column' }],
  ['26000', NOT_PREPARED],
  ['42P05', NOT_PREPARED],
])

/** Returns `STORE_FAILED` when an operator has to act, and the driver's error otherwise. */
export function toStoreError(thrown: unknown, operation: string, schema: string): unknown {
  if (!(thrown instanceof Error && 'code' in thrown)) return thrown
  const advice = ADVICE.get(thrown.code)
  if (advice === undefined && thrown.code !== REFUSED) return thrown
  const text = advice
    ? `The tables of "a2a-tasks" (schema ${schema}) ${advice.fault}: ${thrown.message}. ${advice.remedy}`
    : thrown.message
  return new A2AError('STORE_FAILED', text, { operation }, { cause: thrown })
}

/** The error of a call in a transaction of the application, which takes no more calls: to repeat it is useless. */
export function ofTransaction(failure: unknown, operation: string): A2AError {
  if (A2AError.is(failure)) return failure
  const text = `Your transaction has failed: ${operation}. Roll it back`
  return new A2AError('STORE_FAILED', text, { operation }, { cause: failure })
}

/** Whether a transaction was rolled back for the sake of another one, and has to start over. */
export function isStale(thrown: unknown): boolean {
  const code = codeOf(thrown)
  return code === STALE || code === DEADLOCK
}

/** What a store that only reads refuses. */
export const CHANGES: ReadonlySet<StoreOperation> = new Set<StoreOperation>([
  ...(['create', 'commit', 'transact', 'delete', 'acquire', 'renew', 'release'] as const),
  ...(['putDocument', 'deleteDocument', 'migrate'] as const),
])

export function refusedToChange(operation: StoreOperation): A2AError<'STORE_FAILED'> {
  const text = `The store only reads (readOnly): ${operation}. Use a store over the primary`
  return new A2AError('STORE_FAILED', text, { operation })
}

/** The error of a transaction at a server that takes no changes, at present: a standby that may be promoted. */
export function readsOnly(): Error {
  const text = 'The database takes no changes: it is a standby, or "default_transaction_read_only" is on'
  return Object.assign(new Error(text), { code: READ_ONLY })
}

/** Whether the transaction takes no changes. */
export function isReadOnly(thrown: unknown): boolean {
  return codeOf(thrown) === READ_ONLY
}

/** Whether an earlier statement of the transaction has failed. */
export function isAborted(thrown: unknown): boolean {
  return codeOf(thrown) === ABORTED
}

/** Whether the database refuses what a transaction has done. */
export function isRefused(thrown: unknown): boolean {
  return isAborted(thrown) || codeOf(thrown).startsWith(CONSTRAINTS)
}

/** The server has ended the connection: it shuts down, or an administrator has said so. */
const ENDED = /^57P0[1-3]$/
/** Of the drivers and of sockets. */
const CLOSED = /^(CONNECTION_|ECONN|EPIPE|ETIMEDOUT)/

/** Whether the error is that of a connection which is, or will be, closed. */
export function isDisconnected(thrown: unknown): boolean {
  const code = codeOf(thrown)
  return ENDED.test(code) || CLOSED.test(code)
}

/** Whether the database has refused a statement, and still answers. */
export function isAnswer(thrown: unknown): boolean {
  return A2AError.is(thrown) || (/^[0-9A-Z]{5}$/.test(codeOf(thrown)) && !isDisconnected(thrown))
}

function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
}
