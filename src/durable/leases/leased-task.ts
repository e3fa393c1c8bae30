/**
 * A task that this process holds.
 *
 * @module
 */
import { ended } from '../../core/errors.js'
import { isTerminal } from '../../core/lifecycle.js'
import { throwLater } from '../../runtime/report.js'
import type { LeaseNote } from './lease-note.js'
import type { Taking } from '../../core/managers.js'
import type { TaskMirror } from '../cache/cached-task.js'

export interface Held<S extends string> {
  readonly mirror: TaskMirror<S>
  readonly leaseId: string
  /** What its lease says, or is going to say. */
  note: LeaseNote
  /** While the store is told of the note. */
  noting: Promise<void> | undefined
  controller: AbortController | undefined
  /** How often others have changed the task. */
  news: number
  /** While it is given back: no change is taken then. */
  releasing: Promise<boolean> | undefined
  /** Why it is no longer held. */
  reason: Error | undefined
}

export function hasEnded<S extends string>({ record, lifecycle }: TaskMirror<S>): boolean {
  return isTerminal(record.task.state, lifecycle)
}

/** Whoever works on a task that has ended learns why. */
export function abortEnded<S extends string>({ mirror, controller }: Held<S>): void {
  const { over } = mirror.record
  if (hasEnded(mirror) && over !== undefined) controller?.abort(ended(over, mirror.key.id))
}

export function taken<S extends string>({ mirror, leaseId }: Held<S>): Taking<S> {
  return { type: 'taken', task: mirror.tip.show(), leaseId }
}

/** What a listener throws harms nobody. */
export function tell(job: () => void): void {
  try {
    job()
  } catch (error) {
    throwLater(error)
  }
}
