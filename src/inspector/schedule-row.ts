/**
 * Schedules, as the page shows them.
 *
 * @module
 */

/** A schedule in the page. */
export interface ScheduleRow {
  readonly name: string
  /** Absent where there is none, and while it is paused. */
  readonly next?: string
  readonly isPaused: boolean
  readonly missed: 'skip' | 'last' | 'all'
}
