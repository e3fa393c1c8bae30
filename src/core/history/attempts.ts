/**
 * Attempts of a turn whose code threw: what the next attempt repeats, and how many there were.
 *
 * @module
 */
import type { HistoryRecorded } from '../events.js'

/** The number of the attempt that follows this history. */
export function nextAttempt(history: readonly HistoryRecorded[]): number {
  let latest = 0
  for (const { entry } of history) if (entry.kind === 'attempt') latest = entry.number
  return latest + 1
}

/**
 * The history that the next attempt replays. A failed step whose error ended an attempt is done again, and so is what followed
 * it, unless the step was one of several in parallel.
 */
export function replayable(history: readonly HistoryRecorded[]): readonly HistoryRecorded[] {
  let replayed: HistoryRecorded[] = []
  for (const event of history) {
    const { entry } = event
    replayed.push(event)
    const isEnd = entry.kind === 'attempt' || entry.kind === 'failure'
    if (isEnd && entry.step !== undefined) replayed = withoutStep(replayed, entry.step)
  }
  return replayed
}

function withoutStep(history: readonly HistoryRecorded[], step: string): HistoryRecorded[] {
  const at = history.findIndex(({ entry }) => entry.kind === 'step' && entry.name === step)
  const failed = history[at]?.entry
  if (failed?.kind !== 'step') return [...history]
  const after = history.slice(at + 1)
  const kept = failed.isParallel === true ? after : after.filter(({ entry }) => entry.kind === 'attempt')
  return [...history.slice(0, at), ...kept]
}
