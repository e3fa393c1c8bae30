/**
 * The times of a schedule at which tasks are to begin.
 *
 * @module
 */

/** What becomes of times at which no process looked, within a minute. */
export type MissedPolicy = 'skip' | 'last' | 'all'

/** When a schedule begins tasks. */
export interface Times {
  readonly missed: MissedPolicy
  /** The first time after this one, in ms; `undefined` for none. */
  readonly next: (after: number) => number | undefined
}

/** The most tasks of a schedule that are begun at once. */
const MAX_MISSED = 100
/** The most times that are listed at once. */
const MAX_LISTED = 2 * MAX_MISSED
/** A time that is longer ago was missed. */
const GRACE_MS = 60_000

/** Whether the schedule has a time after `after`, up to `now`. */
export function hasTime({ next }: Times, after: number, now: number): boolean {
  return (next(after) ?? Infinity) <= now
}

/**
 * The times after `after`, up to `now`, at which a task is to begin: those of the last minute, or else those that were missed.
 * Looks from `now` backwards, since there may be very many.
 */
export function timesUpTo({ next, missed }: Times, after: number, now: number): readonly number[] {
  const recent = Math.max(after, now - GRACE_MS)
  const from = missed === 'skip' ? recent : after
  const max = missed === 'all' ? MAX_MISSED : 1
  let start = recent
  /** After it there are too few. */
  let late = now
  /** After it there are too many to list. */
  let early: number | undefined
  for (;;) {
    const times = listTimes(next, start, now)
    if (times.length > MAX_LISTED && late - start >= 2) early = start
    else if (times.length >= max || start === from) return times.slice(start >= recent ? -MAX_MISSED : -max)
    else late = start
    start = early === undefined ? Math.max(from, now - 8 * (now - late)) : Math.floor((early + late) / 2)
  }
}

/** The first times after `after`, up to `now`. */
function listTimes(next: Times['next'], after: number, now: number): readonly number[] {
  const times: number[] = []
  for (let at = next(after); at !== undefined && at <= now && times.length <= MAX_LISTED; at = next(at))
    times.push(at)
  return times
}
