/**
 * Feed of the events of all tasks in one order, at the pace of the reader.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import { FILTER_KEYS, toFilter } from '../queries.js'
import { readParams, readSignal } from '../validate.js'
import type { FeedEntry, FeedOptions, FeedSource, TaskFeed } from './types.js'

/** Reads the feed page by page: a slow reader holds one page. */
export function feedOf<S extends string>(
  source: FeedSource<S> | undefined,
  options: FeedOptions,
): TaskFeed<S> {
  if (source === undefined) {
    throw new TypeError(
      'feed() needs the option "feedSize" of the TaskManager, of openTasks(), or of the store of the DurableTaskManager',
    )
  }
  const { after, filter = {}, signal } = readParams(options, ['after', 'filter', 'signal'], 'feed')
  // All but the state, which changes.
  const selected = toFilter(readParams(filter, FILTER_KEYS.slice(1), 'feed'), [], 'feed')
  readSignal(signal)
  let isEnded = false
  const isStopped = (): boolean => isEnded || source.isClosed
  const end = (): void => {
    isEnded = true
    source.wake()
  }
  const ignore = onAbort(signal, end)
  let entries: AsyncGenerator<FeedEntry<S>, undefined, undefined> | undefined
  // Loaded on demand: most managers have no feed.
  const read = async (): Promise<NonNullable<typeof entries>> => {
    const { follow } = await import('./reading.js')
    return (entries ??= follow(source, after, selected, isStopped))
  }
  return {
    next: () => entries?.next() ?? read().then((loaded) => loaded.next()),
    return: () => {
      ignore()
      end()
      return read().then((loaded) => loaded.return(undefined))
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
