/**
 * The past of a task up to a generation: the part of its log that a fork shares.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import type { JournalEntry, JournalRecorded, MessageAdded, TaskEvent, TurnEntry } from '../core/events.js'
import { isInterrupted, isTerminal, type Lifecycle } from '../core/lifecycle.js'
import { replayable } from '../core/history/attempts.js'
import { isNamed } from '../core/history/named-entry.js'
import { isSpending } from '../core/spending.js'

export interface Past<S extends string> {
  /** The events up to the last one of {@link entries}. What the code has shown since then, it shows again. */
  readonly events: readonly TaskEvent<S>[]
  /** The turn that continues; `undefined` for a task that waits for the user's next message. */
  readonly turn: TurnEntry | undefined
  /** What the turn replays. They are among {@link events}. */
  readonly entries: readonly JournalRecorded[]
}

/**
 * @param log - The events of the task from its first one on.
 * @param generation - The last generation of the past.
 * @throws {A2AError} `INVALID_PARAMS` where the task has no journal yet.
 */
export function readPast<S extends string>(
  log: readonly TaskEvent<S>[],
  generation: number,
  lifecycle: Lifecycle<S>,
): Past<S> {
  const isOne = isOneChange(log[generation - 1], log[generation], lifecycle)
  const length = isOne ? generation + 1 : generation
  const events = log
    .slice(0, length)
    .filter((event) => event.type !== 'status' || !isTerminal(event.to, lifecycle))
  const journal = events.filter((event) => event.type === 'journal')
  const begun = journal.findLastIndex(({ entry }) => entry.kind === 'turn')
  const recorded = begun === -1 ? [] : journal.slice(begun)
  const isOver = recorded.some(({ entry }) => entry.kind === 'end')
  const state = events.findLast((event) => event.type === 'status')?.to
  if (isOver && state !== undefined && isInterrupted(state, lifecycle))
    return { events, turn: undefined, entries: [] }
  const open = isOver ? [] : recorded
  const turn = turnOf(open[0]?.entry) ?? unmarkedTurn(events)
  const replayed = withoutOpenDelegations(replayable(open))
  const entries = replayed.filter(({ entry }) => isNamed(entry))
  const begins = turn.continued === undefined ? beginningOf(events, turn) : open[0]?.generation
  const last = entries.at(-1)?.generation ?? begins ?? 1
  const shared = replayed.filter(
    ({ entry }) => isNamed(entry) || ['read', 'spend', 'grant'].includes(entry.kind),
  )
  const dropped = new Set<TaskEvent<S>>(open.filter((event) => !shared.includes(event)))
  const isKept = (event: TaskEvent<S>, index: number): boolean => {
    if (isFromUser(event) || event === open[0]) return true
    if (event.type === 'journal' && event.entry.kind === 'signal') return true
    if (dropped.has(event)) return false
    if (event.generation <= last) return true
    const before = events[index - 1]
    return before?.generation === last && isOneChange(before, event, lifecycle)
  }
  return { events: events.filter(isKept), turn, entries }
}

/** A question and the state in which the task waits for its answer are one change; so are what was spent and its sum. */
function isOneChange<S extends string>(
  entry: TaskEvent<S> | undefined,
  event: TaskEvent<S> | undefined,
  lifecycle: Lifecycle<S>,
): boolean {
  if (entry?.type !== 'journal' || event?.type !== 'status') return false
  if (isSpending(entry.entry)) return event.metadata !== undefined
  return entry.entry.kind === 'question' && isInterrupted(event.to, lifecycle)
}

function turnOf(entry: JournalEntry | undefined): TurnEntry | undefined {
  return entry?.kind === 'turn' ? entry : undefined
}

function beginningOf<S extends string>(events: readonly TaskEvent<S>[], { messageId }: TurnEntry): number {
  return events.find((event) => isFromUser(event) && event.message.messageId === messageId)?.generation ?? 1
}

/** Delegations under way belong to the old task: the new one sends its own messages. */
function withoutOpenDelegations(entries: readonly JournalRecorded[]): readonly JournalRecorded[] {
  const ended = new Set(entries.flatMap(({ entry }) => (entry.kind === 'delegated' ? [entry.name] : [])))
  return entries.filter(
    ({ entry }) => (entry.kind !== 'delegate' && entry.kind !== 'handle') || ended.has(entry.name),
  )
}

/** A turn that has recorded nothing: that of the first message which no turn before it has read. */
function unmarkedTurn<S extends string>(events: readonly TaskEvent<S>[]): TurnEntry {
  const read = new Set<string>()
  let hasJournal = false
  let note: TurnEntry['note']
  for (const event of events) {
    if (event.type !== 'journal') continue
    const { entry } = event
    if (entry.kind === 'turn' || entry.kind === 'failure') {
      hasJournal = true
      note = entry.note
    }
    if (entry.kind === 'turn' || entry.kind === 'answer') read.add(entry.messageId)
    if (entry.kind === 'end') for (const id of entry.unread ?? []) read.delete(id)
  }
  const ids = events.filter(isFromUser).map(({ message }) => message.messageId)
  const messageId = ids[ids.findLastIndex((id) => read.has(id)) + 1] ?? ids.at(-1)
  if (!hasJournal || messageId === undefined)
    throw invalidParams('taskId', 'is a task without a journal up to here: its code has recorded nothing')
  return { kind: 'turn', messageId, ...(note !== undefined && { note }) }
}

export function isFromUser(event: TaskEvent<string>): event is MessageAdded {
  return event.type === 'message' && event.message.role === 'user'
}
