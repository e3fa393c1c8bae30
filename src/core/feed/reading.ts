/**
 * Reading of feeds, which is loaded with the first entry that is read. It imports only types: bundlers would move what it
 * shares with the managers to its own file.
 *
 * @module
 */
import type { Filter } from '../queries.js'
import type { LocalEntries } from './local-entries.js'
import type { FeedEntry, FeedPage, FeedSource } from './types.js'

/** The most entries in a page of a local feed. */
const PAGE = 100

/** The entries of the pages that follow `after`. */
export async function* follow<S extends string>(
  source: FeedSource<S>,
  after: string | undefined,
  { equal }: Filter,
  isStopped: () => boolean,
): AsyncGenerator<FeedEntry<S>, undefined, undefined> {
  for (let cursor = after; !isStopped();) {
    const page = await source.page(cursor, isStopped)
    if (page.isResync === true && !isStopped()) yield { type: 'resync', cursor: page.cursor }
    for (const { cursor: at, task, event } of page.entries) {
      if (isStopped()) break
      // No owner is the empty text in filters.
      if (equal.some(([key, value]) => (Reflect.get(task, key) ?? '') !== value)) continue
      const { id: taskId, createdAt } = task
      if (event === undefined) yield { type: 'deleted', cursor: at, taskId, createdAt }
      else yield { type: 'event', cursor: at, taskId, event }
    }
    cursor = page.cursor
  }
  return undefined
}

/** The page after a position of a local feed. */
export function localPage<S extends string>(feed: LocalEntries<S>, after: number): FeedPage<S> {
  const { start } = feed
  const end = start + feed.entries.length
  const entries: FeedPage<S>['entries'][number][] = []
  // Also for what is not a number.
  if (!(after >= start && after <= end)) return { entries, cursor: String(end), isResync: true }
  let position = after
  for (const { place, generation, task } of feed.entries.slice(after - start, after - start + PAGE)) {
    const { record } = place
    const event = record && feed.eventOf(record, generation)
    if (record !== undefined && event === undefined) {
      // The log of the task no longer keeps the event.
      return position > after ? { entries, cursor: String(position) } : localPage(feed, NaN)
    }
    position += 1
    const subject = task ?? record?.task
    // An event of a task that was removed later is left out.
    if (subject === undefined) continue
    entries.push({ cursor: String(position), task: subject, event })
  }
  return { entries, cursor: String(position) }
}
