/**
 * The note that a lease has in the store: the holder's own note, with the number of restarts.
 *
 * @module
 */
import type { JsonValue } from '../../core/json-types.js'

export interface LeaseNote {
  /** How often the work was restarted since the holder wrote its note. */
  readonly restarts: number
  readonly note: JsonValue | undefined
}

export function toStoredNote({ restarts, note }: LeaseNote): JsonValue {
  return { restarts, ...(note !== undefined && { note }) }
}

/** Reads the output of {@link toStoredNote}. Any other value counts as no note. */
export function fromStoredNote(stored: JsonValue | undefined): LeaseNote {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return NONE
  const { restarts, note } = stored
  return typeof restarts === 'number' ? { restarts, note } : NONE
}

export function isSameNote(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

const NONE: LeaseNote = { restarts: 0, note: undefined }
