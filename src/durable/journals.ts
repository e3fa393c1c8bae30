/**
 * Journals of tasks in a store.
 *
 * @module
 */
import type { JournalRecorded } from '../core/events.js'
import { entriesOf, logAfter } from '../core/saved/restored-journal.js'
import { LogReader } from './cache/log-reader.js'
import type { DurableContext } from './context.js'
import { documentsOf } from './store-client.js'

/** The entries of the task's journal after a generation, oldest first, frozen. */
export async function journalOf<S extends string>(
  context: DurableContext<S>,
  taskId: string,
  generation = 0,
): Promise<JournalRecorded[]> {
  const { settings, storeClient } = context
  const documents = documentsOf(settings.store, storeClient)
  const log = await logAfter(
    (after) => new LogReader<S>(context, taskId, { after }).rest(),
    generation,
    documents,
  )
  return entriesOf(log).filter((event) => event.generation > generation)
}
