/**
 * One task whose lease this process holds.
 *
 * @module
 */
import { A2AError, endError } from '../../core/errors.js'
import { throwLater } from '../../runtime/uncaught.js'
import type { JournalEntry } from '../../core/events.js'
import type { AcquireResult, LeasedTasksListener } from '../../core/managers.js'
import type { CachedTask } from '../cache/cached-task.js'
import type { LeaseNote } from './lease-note.js'

export interface LeasedTask<S extends string> {
  readonly cached: CachedTask<S>
  readonly leaseId: string
  /** When the latest call began that has acquired or renewed the lease, by the monotonic clock. */
  renewedAt: number
  /** The latest note, which may not be stored yet. */
  note: LeaseNote
  /** Set while the note is being stored. */
  storingNote: Promise<void> | undefined
  /** Whether the journal names this process as the one that records under this lease. */
  isNamed: boolean
  controller: AbortController | undefined
  /** How many times changes of other callers were received. */
  changeCount: number
  /** Set while the lease is being released; changes are refused then. */
  releasing: Promise<boolean> | undefined
  /** Why the task was lost. */
  reason: Error | undefined
}

export function leasedTask<S extends string>(
  cached: CachedTask<S>,
  leaseId: string,
  note: LeaseNote,
  renewedAt: number,
): LeasedTask<S> {
  const state = { isNamed: false, controller: undefined, changeCount: 0 }
  return {
    cached,
    leaseId,
    note,
    renewedAt,
    ...state,
    storingNote: undefined,
    releasing: undefined,
    reason: undefined,
  }
}

/** Aborts the task's signal with the reason, if the task has ended for one. */
export function abortEnded<S extends string>({ cached, controller }: LeasedTask<S>): void {
  const { endReason } = cached.record
  if (cached.hasEnded && endReason !== undefined) controller?.abort(endError(endReason, cached.key.id))
}

/** The entries, of which the first one under the lease has the name of this process, if that has one. */
export function namedBy<S extends string>(
  { isNamed }: LeasedTask<S>,
  entries: readonly JournalEntry[],
  replica: string | undefined,
): readonly JournalEntry[] {
  const [first, ...others] = entries
  if (replica === undefined || isNamed || first === undefined) return entries
  return [{ ...first, by: replica }, ...others]
}

export function grantOf<S extends string>({ cached, leaseId }: LeasedTask<S>): AcquireResult<S> {
  return { type: 'acquired', task: cached.tip.snapshot(), leaseId }
}

export function closing(): A2AError<'UNAVAILABLE'> {
  return new A2AError('UNAVAILABLE', 'This process is closing: it takes no tasks', { reason: 'closed' })
}

const LOSSES: readonly string[] = ['STORE_FAILED', 'LEASE_LOST', 'UNAVAILABLE']

/** Whether no change to a task can be stored after this error. */
export function isLoss(error: unknown): error is Error {
  return A2AError.is(error) && LOSSES.includes(error.code)
}

/** Whether the listener takes one more recovered task. What it throws becomes an uncaught error. */
export function hasRoomFor<S extends string>(listener: LeasedTasksListener<S>): boolean {
  try {
    return listener.hasRoom?.() ?? true
  } catch (error) {
    throwLater(error)
    return false
  }
}

/** How many lost tasks are remembered with their reason. */
const MAX_LOST = 1_000

/** Why tasks are no longer leased. */
export class LostTasks {
  /** The latest last. */
  readonly #reasons = new Map<string, Error>()

  add(taskId: string, reason: Error): void {
    this.#reasons.set(taskId, reason)
    for (const oldest of this.#reasons.keys()) if (this.#reasons.size > MAX_LOST) this.#reasons.delete(oldest)
  }

  reasonOf(taskId: string): Error | undefined {
    return this.#reasons.get(taskId)
  }

  delete(taskId: string): void {
    this.#reasons.delete(taskId)
  }
}
