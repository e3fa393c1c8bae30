/**
 * What a binding answers with, before it becomes HTTP.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import type { StreamEntry } from '../../wire/dialect.js'
import type { ErrorContext } from '../options.js'

/** One event of a stream: its JSON, and what SSE says beside it. */
export interface Frame {
  readonly json: JsonValue
  /** The generation to resume after. */
  readonly id?: number | undefined
  readonly event?: 'error' | 'resync' | undefined
}

/** How a binding wraps what its streams carry. */
export interface Wrapping {
  encode(entry: StreamEntry): JsonValue
  /** Of whatever was thrown. */
  encodeError(thrown: unknown): JsonValue
}

/** Errors that are none of ours, and those of the store: the client learns that something went wrong, `onError` what. */
export function toA2AError(
  error: unknown,
  during: string,
  onError: (error: unknown, context: ErrorContext) => void,
): A2AError {
  if (!A2AError.is(error) || error.code === 'STORE_FAILED') onError(error, { during })
  if (A2AError.is(error)) return error
  return new A2AError('INTERNAL', 'Internal error', {}, { cause: error })
}

/**
 * An iterator whose elements may be taken as something else: one promise for each, where a wrapper around it would
 * cost another. Of a stream of chunks, such promises are most of what is left to save.
 */
export interface Source<T> extends AsyncIterableIterator<T, undefined> {
  nextAs<U>(map: (element: T) => U): Promise<IteratorResult<U, undefined>>
  return(): Promise<IteratorResult<T, undefined>>
}

/** A stream of one element. */
export function sourceOf<T>(element: T): Source<T> {
  let isOver = false
  return {
    next() {
      return this.nextAs((it) => it)
    },
    nextAs(map) {
      const wasOver = isOver
      isOver = true
      return Promise.resolve(
        wasOver ? { done: true, value: undefined } : { done: false, value: map(element) },
      )
    },
    return() {
      isOver = true
      return Promise.resolve({ done: true, value: undefined })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Entries as frames. An error in the middle is the last frame. */
export class FrameStream implements Source<Frame> {
  readonly #entries: Source<StreamEntry>
  readonly #wrapping: Wrapping
  #isOver = false

  constructor(entries: Source<StreamEntry>, wrapping: Wrapping) {
    this.#entries = entries
    this.#wrapping = wrapping
  }

  next(): Promise<IteratorResult<Frame, undefined>> {
    return this.nextAs((frame) => frame)
  }

  nextAs<T>(map: (frame: Frame) => T): Promise<IteratorResult<T, undefined>> {
    if (this.#isOver) return Promise.resolve({ done: true, value: undefined })
    return this.#entries
      .nextAs((entry) => map(this.#frameOf(entry)))
      .catch((error: unknown) => {
        void this.return()
        return { done: false, value: map({ json: this.#wrapping.encodeError(error), event: 'error' }) }
      })
  }

  async return(): Promise<IteratorResult<Frame, undefined>> {
    this.#isOver = true
    await this.#entries.return()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #frameOf(entry: StreamEntry): Frame {
    const json = this.#wrapping.encode(entry)
    switch (entry.type) {
      case 'message':
        return { json }
      case 'task':
        return { json, id: entry.task.generation, event: entry.isResync ? 'resync' : undefined }
      case 'status':
      case 'artifact':
        return { json, id: entry.event.generation }
    }
  }
}

/** The JSON of frames alone, until `signal` aborts. What JSON-RPC wraps is an object. */
export function jsonOf(
  frames: Source<Frame>,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<JsonObject, undefined> {
  const stop = (): void => {
    signal?.removeEventListener('abort', stop)
    void frames.return()
  }
  if (signal?.aborted) stop()
  else signal?.addEventListener('abort', stop)
  return {
    async next() {
      const result = await frames.nextAs(({ json }) => json as JsonObject)
      if (result.done) stop()
      return result
    },
    return() {
      stop()
      return Promise.resolve({ done: true, value: undefined })
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
