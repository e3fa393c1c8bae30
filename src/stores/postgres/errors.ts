/**
 * Errors of PostgreSQL that need an operator, with the action to take.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'

/** Our own SQLSTATE, for refusals whose text is already complete. */
export const REFUSED = 'A2A01'
/**
 * SQLSTATE of a serialization failure: the transaction's snapshot is out of date, and the transaction must start over.
 */
export const STALE = '40001'

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

export function isStale(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === STALE
}
