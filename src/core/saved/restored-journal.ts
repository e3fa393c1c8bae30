/**
 * The document beside a restored task in a store, whose log begins later than its journal.
 *
 * @module
 */
import type { JournalRecorded, TaskEvent, TaskStreamEvent } from '../events.js'
import { freezeDeep } from '../json.js'
import type { MaybePromise, TaskDocuments } from '../managers.js'
import { RESTORED } from '../../runtime/document-kinds.js'
import { keyOf, type Artifact, type DeepReadonly } from '../task.js'

export interface RestoredJournal {
  /** That of the task when it was restored: its log begins after it. */
  readonly generation: number
  readonly recorded: readonly JournalRecorded[]
  /** Those of the task at that generation. */
  readonly artifacts: readonly DeepReadonly<Artifact>[]
}

/** The log of a task, as far as it is held. */
export interface HeldLog<S extends string> {
  readonly events: readonly TaskEvent<S>[]
  /** What came before the events; `undefined` where they follow the generation that was asked for, or are not held. */
  readonly restored: RestoredJournal | undefined
}

/**
 * The events after a generation. For a task that was restored after it: all events of its log, and what came before.
 *
 * @param read - `events` of the manager.
 * @param documents - Of a store. Without one, nothing is known of what came before the log.
 * @throws What `read` throws; `STORE_FAILED`, as a rejection.
 */
export async function logAfter<S extends string>(
  read: (after: number) => MaybePromise<readonly TaskStreamEvent<S>[]>,
  after: number,
  documents: Pick<TaskDocuments, 'documents'> | undefined,
): Promise<HeldLog<S>> {
  const entries = await read(after)
  const [first] = entries
  if (first?.type !== 'resync') return { events: eventsAmong(entries), restored: undefined }
  const [document] = (await documents?.documents(keyOf(first.task), RESTORED)) ?? []
  if (document === undefined) return { events: [], restored: undefined }
  // `restore` of the manager wrote it.
  const restored = freezeDeep(document.value) as unknown as RestoredJournal
  return { events: eventsAmong(await read(restored.generation)), restored }
}

function eventsAmong<S extends string>(entries: readonly TaskStreamEvent<S>[]): readonly TaskEvent<S>[] {
  return entries.filter((entry) => entry.type !== 'snapshot' && entry.type !== 'resync')
}

/** The entries of the journal in a log, oldest first. */
export function entriesOf<S extends string>({ events, restored }: HeldLog<S>): JournalRecorded[] {
  return [...(restored?.recorded ?? []), ...events.filter((event) => event.type === 'journal')]
}
