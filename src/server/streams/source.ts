/**
 * Iterators of streams, which their readers end.
 *
 * @module
 */

/** An iterator that its reader ends with `return()`: early, or after it has written the last element. */
export interface Source<T> extends AsyncIterableIterator<T, undefined> {
  return(): Promise<IteratorResult<T, undefined>>
}

/** A stream of one element. */
export function sourceOf<T>(element: T): Source<T> {
  let isEnded = false
  return {
    next() {
      const result: IteratorResult<T, undefined> = isEnded
        ? { done: true, value: undefined }
        : { done: false, value: element }
      isEnded = true
      return Promise.resolve(result)
    },
    return() {
      isEnded = true
      return Promise.resolve({ done: true, value: undefined })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
