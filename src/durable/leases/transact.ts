/**
 * Entries of a journal that result from work in a transaction of the store.
 *
 * @module
 */
import { toJournal } from '../../core/commands.js'
import type { JournalEntry, TaskEvent } from '../../core/events.js'
import { copyJson } from '../../core/json.js'
import type { MaybePromise } from '../../core/managers.js'
import type { Work } from '../cache/change.js'
import { WorkFailure } from '../cache/transaction.js'
import type { DurableContext } from '../context.js'
import { namedBy, type LeasedTask } from './leased-task.js'

interface TransactContext<S extends string> {
  readonly context: DurableContext<S>
  /** What makes the change. */
  readonly by: object
  /** Receives the error with which the change could not be stored, unless it is the work's. */
  readonly onFailed: (error: unknown) => void
}

/** See `LeasedTasks.transact`. */
export async function transact<S extends string>(
  { context, by, onFailed }: TransactContext<S>,
  leased: LeasedTask<S>,
  entry: JournalEntry,
  work: (client: unknown) => MaybePromise<JournalEntry>,
): Promise<JournalEntry> {
  const { cached, leaseId } = leased
  const named = namedBy(leased, [entry], context.settings.replica)
  const decide = context.decideFor(toJournal(named, {}, context.settings))
  const workOf: Work<S> = (client, events) => {
    const worked = work(client)
    return worked instanceof Promise
      ? worked.then((made) => withEntry(events, made))
      : withEntry(events, worked)
  }
  try {
    const origin = { leaseId, by, work: workOf }
    const stored = await cached.execute(decide, (_, events) => entryOf(events, entry), origin).stored
    // The work makes progress. A process that recovers the task reads this from the log.
    leased.note = { ...leased.note, restarts: 0 }
    leased.isNamed = true
    return stored
  } catch (error) {
    if (error instanceof WorkFailure) throw error.reason
    onFailed(error)
    throw error
  }
}

/** The events with the entry in place of the one that was known before, whose process it keeps. */
function withEntry<S extends string>(events: readonly TaskEvent<S>[], entry: JournalEntry): TaskEvent<S>[] {
  return events.map((event) => {
    if (event.type !== 'journal') return event
    const { by } = event.entry
    return { ...event, entry: copyJson({ ...entry, ...(by !== undefined && { by }) }) }
  })
}

function entryOf(events: readonly TaskEvent<string>[], otherwise: JournalEntry): JournalEntry {
  const [event] = events
  return event?.type === 'journal' ? event.entry : otherwise
}
