/**
 * Feed of the events of all tasks in one order, at the pace of the reader.
 *
 * @module
 */
import { toFilter } from '../queries.js'
import { readParams, readSignal } from '../validate.js'
import type { FeedEntry, FeedOptions, FeedSource, TaskFeed } from './types.js'

/** Reads the feed page by page: a slow reader holds one page. */
export function feedOf<S extends string>(
  source: FeedSource<S> | undefined,
  options: FeedOptions,
): TaskFeed<S> {
  if (source === undefined) {
    throw new TypeError('feed() needs the option "feedSize" of the TaskManager, or of the store')
  }
  const given = readParams(options, ['after', 'filter', 'signal'], 'feed')
  const filter = readParams(given.filter ?? {}, ['owner', 'skill', 'contextId'], 'feed')
  const signal = readSignal(given.signal)
  let isEnded = signal?.aborted === true
  const isStopped = (): boolean => isEnded || source.isClosed
  const stop = (): void => {
    isEnded = true
    signal?.removeEventListener('abort', stop)
    source.wake()
  }
  signal?.addEventListener('abort', stop)
  const selected = toFilter(filter, [], 'feed')
  let reading: Promise<AsyncGenerator<FeedEntry<S>, undefined, undefined>> | undefined
  const read = (): NonNullable<typeof reading> =>
    // Loaded on demand: most managers have no feed.
    (reading ??= import('./reading.js').then(({ follow }) =>
      follow(source, given.after, selected, isStopped),
    ))
  return {
    next: async () => (await read()).next(),
    return: async () => {
      stop()
      return (await read()).return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
