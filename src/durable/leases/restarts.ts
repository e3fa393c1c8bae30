/**
 * The number of restarts of a task in a row without progress.
 *
 * @module
 */
import { isProgress } from '../../core/history/named-entry.js'
import { LogReader } from '../cache/log-reader.js'
import type { CachedTask } from '../cache/cached-task.js'
import type { DurableContext } from '../context.js'
import { NO_RESTART, type LeaseNote } from './lease-note.js'

/**
 * The note of a dead holder, with its count of restarts: none where the journal of the task has grown since the latest one.
 *
 * @throws {A2AError} `STORE_FAILED`, as a rejection.
 */
export async function countRestarts<S extends string>(
  context: DurableContext<S>,
  { key, record }: CachedTask<S>,
  note: LeaseNote,
): Promise<LeaseNote> {
  const { restarts, since: after } = note
  if (restarts <= 0 || after === undefined || after >= record.task.generation) return note
  const events = await new LogReader<S>(context, key.id, { after }).rest()
  const hasProgress = events.some((event) => event.type === 'journal' && isProgress(event.entry))
  return hasProgress ? { ...note, restarts: 0 } : note
}

/** The note for a task that waits for the user, and that something else continues: the first time, this is no restart. */
export function wokenNote(note: LeaseNote): LeaseNote {
  return note.since === undefined ? { ...note, restarts: NO_RESTART } : note
}

/** The note for one more restart of the task. */
export function restartedNote<S extends string>({ record }: CachedTask<S>, note: LeaseNote): LeaseNote {
  return { ...note, restarts: note.restarts + 1, since: record.task.generation }
}
