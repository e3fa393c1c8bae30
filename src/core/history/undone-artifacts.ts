/**
 * Writes of the earlier attempts of an unfinished turn.
 *
 * @module
 */
import type { JournalRecorded, TaskEvent } from '../events.js'
import { applyArtifact, findArtifact, ownArtifact } from '../evolve.js'
import type { HeldLog } from '../saved/restored-journal.js'
import { ArtifactLedger, type Content } from './artifact-ledger.js'
import { replayable } from './attempts.js'
import { isSpentInStep } from './named-entry.js'
import type { Sent } from './sent.js'

/** A write to an artifact. */
type Write = { readonly step?: string | undefined; readonly generation: number }

/** What the earlier attempts of a turn have written. */
export interface Written {
  /** By id, the artifacts that show what the next attempt writes again: what they hold without it. */
  readonly stale: Map<string, Content>
  readonly sent: Sent
}

/**
 * What the earlier attempts of the turn have written.
 *
 * @param log - From the creation of the task on, or from its restoration.
 * @param recorded - The journal of the turn.
 * @param begin - The generation after which the turn began. Default is that of its first message.
 */
export function writtenIn<S extends string>(
  { events, restored }: HeldLog<S>,
  recorded: readonly JournalRecorded[],
  begin = beginningOf(recorded, events),
): Written {
  const before = { artifacts: (restored?.artifacts ?? []).map(ownArtifact) }
  const over = new Set<string>()
  const ledger = new ArtifactLedger(undefined, over)
  for (const event of events) {
    const { generation } = event
    if (event.type === 'artifact') {
      const { artifactId } = event.artifact
      if (generation <= begin) applyArtifact(before, event)
      else if (artifactId !== undefined)
        ledger.add(event, before.artifacts[findArtifact(before.artifacts, artifactId)])
    } else if (event.type === 'journal' && generation > begin) {
      const { entry } = event
      if (entry.kind === 'step') over.add(entry.name)
      if (entry.kind !== 'attempt') continue
      const sofar = recorded.filter((each) => each.generation <= generation)
      ledger.undoAll(isUndoneAfter(sofar, begin))
      over.clear()
      for (const name of stepsOf(sofar)) over.add(name)
    }
  }
  const isUndone = isUndoneAfter(recorded, begin)
  ledger.undoAll(isUndone)
  const metadata = events.flatMap((event) => {
    if (event.type !== 'status' || event.metadata === undefined) return []
    return event.generation > begin && !isUndone({ generation: event.generation }) ? [event.metadata] : []
  })
  return { stale: ledger.stale(), sent: { artifacts: ledger.outsideSteps(), metadata } }
}

/**
 * Whether the attempt after this journal writes it again: the work of steps that it does not replay, and what other code wrote
 * after the last entry that it replays.
 *
 * @param begin - The generation after which the turn began.
 */
export function isUndoneAfter(
  recorded: readonly JournalRecorded[],
  begin: number,
): (write: Write) => boolean {
  const replayed = replayable(recorded)
  const steps = stepsOf(recorded)
  const isPassed = ({ entry }: JournalRecorded): boolean =>
    !['attempt', 'read', 'grant'].includes(entry.kind) && !isSpentInStep(entry)
  const last = replayed.findLast(isPassed)
  // A turn is recorded with its first entry: what it has written before that is older.
  const end = last === undefined || last.entry.kind === 'turn' ? begin : last.generation
  return ({ step, generation }) => (step === undefined ? generation > end : !steps.has(step))
}

/** Whether the events tell where the turn began. */
export function hasBeginning<S extends string>(
  [turn]: readonly JournalRecorded[],
  events: readonly TaskEvent<S>[],
): boolean {
  if (turn?.entry.kind !== 'turn') return false
  const { continued, messageId } = turn.entry
  return (
    continued !== undefined ||
    events.some((event) => event.type === 'message' && event.message.messageId === messageId)
  )
}

/** A turn begins with the user's message, or after the turn before it, or where the one before has continued with it. */
function beginningOf<S extends string>(
  [turn]: readonly JournalRecorded[],
  events: readonly TaskEvent<S>[],
): number {
  if (turn?.entry.kind !== 'turn') return 0
  const { continued, messageId } = turn.entry
  if (continued !== undefined) return turn.generation
  let begin = turn.generation
  for (const event of events) {
    if (event.generation >= turn.generation) break
    if (event.type === 'message' && event.message.role === 'user' && event.message.messageId === messageId)
      begin = event.generation
    if (event.type === 'journal' && event.entry.kind === 'end') begin = event.generation
  }
  return begin
}

/** The names of the steps that the next attempt does not do again. */
function stepsOf(recorded: readonly JournalRecorded[]): ReadonlySet<string> {
  return new Set(replayable(recorded).flatMap(({ entry }) => (entry.kind === 'step' ? [entry.name] : [])))
}
