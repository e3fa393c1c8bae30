/**
 * Attempts of a turn whose code threw: what the next attempt repeats, and how many there were.
 *
 * @module
 */
import type { JournalRecorded } from '../events.js'

/** The number of the attempt that follows this journal. */
export function nextAttempt(journal: readonly JournalRecorded[]): number {
  let latest = 0
  for (const { entry } of journal) if (entry.kind === 'attempt') latest = entry.number
  return latest + 1
}

/**
 * The journal that the next attempt replays. A failed step whose error ended an attempt is done again, and so is what followed
 * it, unless the step was one of several in parallel.
 */
export function replayable(journal: readonly JournalRecorded[]): readonly JournalRecorded[] {
  let replayed: JournalRecorded[] = []
  for (const event of journal) {
    const { entry } = event
    replayed.push(event)
    const isEnd = entry.kind === 'attempt' || entry.kind === 'failure'
    if (isEnd && entry.step !== undefined) replayed = withoutStep(replayed, entry.step)
  }
  return replayed
}

function withoutStep(journal: readonly JournalRecorded[], step: string): JournalRecorded[] {
  const at = journal.findIndex(({ entry }) => entry.kind === 'step' && entry.name === step)
  const failed = journal[at]?.entry
  if (failed?.kind !== 'step') return [...journal]
  const after = journal.slice(at + 1)
  const kept = failed.isParallel === true ? after : after.filter(({ entry }) => entry.kind === 'attempt')
  return [...journal.slice(0, at), ...kept]
}
