/**
 * What a lease says in the store: how often its task has been begun again, beside what whoever works on it has noted.
 *
 * @module
 */
import type { JsonValue } from '../../core/json-types.js'

export interface LeaseNote {
  /** How often the task has been begun again since the note was made. */
  readonly restarts: number
  readonly note: JsonValue | undefined
}

export function toStoredNote({ restarts, note }: LeaseNote): JsonValue {
  return { restarts, ...(note !== undefined && { note }) }
}

/** What {@link toStoredNote} made; anything else counts as none. */
export function fromStoredNote(stored: JsonValue | undefined): LeaseNote {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return NONE
  const { restarts, note } = stored
  return typeof restarts === 'number' ? { restarts, note } : NONE
}

export function isSameNote(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

const NONE: LeaseNote = { restarts: 0, note: undefined }
