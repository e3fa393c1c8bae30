/**
 * The note that a lease has in the store: the holder's own note, its worker, and the number of restarts.
 *
 * @module
 */
import type { JsonValue } from '../../core/json-types.js'
import { readTrace, type TraceHeaders } from '../../runtime/trace-headers.js'

/**
 * The id of the lease of a task that no process holds until the lease expires: its run waits for that time, or for a signal,
 * without a process. Sweeps find it as they find the lease of a process that has died.
 */
export const PARKED = 'parked'

/**
 * As {@link PARKED}, of a task whose turn is not to begin before the lease expires: no signal, message or `take` makes it begin
 * earlier.
 */
export const DELAYED = 'delayed'

/** The ids of leases that no process holds. */
export const UNHELD: readonly string[] = [PARKED, DELAYED]

/** The restarts of a task whose work any process is to continue: the first time, this is none. */
export const NO_RESTART = -1

export interface HandedOut {
  readonly generation: number
  readonly times: number
}

export interface LeaseNote {
  /** How often the work was restarted since the holder wrote its note, or its journal has grown. */
  readonly restarts: number
  /** The generation of the task at the latest restart. */
  readonly since: number | undefined
  /** The worker of the holder's listener: only listeners with the same one recover the task. */
  readonly worker: string
  /** The latest hand-out: the generation of the task, and how often it was handed out at that generation before. */
  readonly handedOut?: HandedOut | undefined
  readonly note: JsonValue | undefined
  /** The trace in which the holder began the work that its note is about. */
  readonly trace: TraceHeaders | undefined
}

export function toStoredNote({ restarts, since, worker, handedOut, note, trace }: LeaseNote): JsonValue {
  return {
    restarts,
    ...(since !== undefined && { since }),
    ...(worker !== '' && { worker }),
    ...(handedOut && { handedOut: { ...handedOut } }),
    ...(note !== undefined && { note }),
    ...(trace && { trace }),
  }
}

/** Reads the output of {@link toStoredNote}. Any other value counts as no note. */
export function fromStoredNote(stored: JsonValue | undefined): LeaseNote {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return NO_NOTE
  const { restarts, since, worker = '', handedOut, note, trace } = stored
  if (typeof restarts !== 'number' || typeof worker !== 'string') return NO_NOTE
  return {
    restarts,
    since: typeof since === 'number' ? since : undefined,
    worker,
    handedOut: readHandedOut(handedOut),
    note,
    trace: readTrace(trace),
  }
}

function readHandedOut(stored: JsonValue | undefined): HandedOut | undefined {
  if (typeof stored !== 'object' || stored === null || Array.isArray(stored)) return undefined
  const { generation, times } = stored
  return typeof generation === 'number' && typeof times === 'number' ? { generation, times } : undefined
}

export function isSameNote(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** The note of a lease without one. */
export const NO_NOTE: LeaseNote = {
  restarts: 0,
  since: undefined,
  worker: '',
  note: undefined,
  trace: undefined,
}
