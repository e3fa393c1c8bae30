/**
 * Stream entries encoded as JSON frames, before they become SSE or JSON-RPC results.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import type { StreamEntry } from '../../wire/dialect.js'
import { onAbort } from '../../runtime/abort.js'
import { shownError } from '../chosen-ids.js'
import type { Source } from './source.js'
import type { Frame } from './sse.js'

/** How a binding encodes the entries and errors of a stream. */
export interface FrameEncoding {
  encode(entry: StreamEntry): JsonValue
  /** Encodes anything thrown. */
  encodeError(thrown: unknown): JsonValue
  /** Whether an error has the SSE event name `error`. */
  readonly namesErrors: boolean
  /** The data of a frame after the last one. Default is none. */
  readonly end?: string | undefined
}

/** Maps anything thrown to an `A2AError` for the client. Reports unexpected errors and store failures to `onError`. */
export function toA2AError(
  error: unknown,
  during: string,
  onError: (error: unknown, context: { readonly during: string }) => void,
): A2AError {
  if (!A2AError.is(error) || error.code === 'STORE_FAILED') onError(error, { during })
  if (A2AError.is(error)) return shownError(error)
  return new A2AError('INTERNAL', 'Internal error', {}, { cause: error })
}

/** Encodes entries as frames. An error becomes the last frame. */
export class FrameStream implements Source<Frame> {
  readonly #entries: Source<StreamEntry>
  readonly #encoding: FrameEncoding
  #end: string | undefined
  #isEnded = false

  constructor(entries: Source<StreamEntry>, encoding: FrameEncoding) {
    this.#entries = entries
    this.#encoding = encoding
    this.#end = encoding.end
  }

  async next(): Promise<IteratorResult<Frame, undefined>> {
    if (this.#isEnded) return this.#last()
    try {
      const result = await this.#entries.next()
      return result.done ? this.#last() : { done: false, value: this.#frameOf(result.value) }
    } catch (error) {
      this.#isEnded = true
      const { namesErrors } = this.#encoding
      const json = this.#encoding.encodeError(error)
      return { done: false, value: { json, event: namesErrors ? 'error' : undefined } }
    }
  }

  async return(): Promise<IteratorResult<Frame, undefined>> {
    this.#isEnded = true
    this.#end = undefined
    await this.#entries.return()
    return { done: true, value: undefined }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #last(): IteratorResult<Frame, undefined> {
    const data = this.#end
    this.#end = undefined
    return data === undefined
      ? { done: true, value: undefined }
      : { done: false, value: { json: null, data } }
  }

  #frameOf(entry: StreamEntry): Frame {
    const json = this.#encoding.encode(entry)
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

/** The JSON of each frame, until `signal` aborts. JSON-RPC frames are always objects. */
export function jsonOf(
  frames: Source<Frame>,
  signal: AbortSignal | undefined,
): AsyncIterableIterator<JsonObject, undefined> {
  const leave = onAbort(signal, () => void frames.return())
  const stop = (): Promise<IteratorResult<never, undefined>> => {
    leave()
    void frames.return()
    return Promise.resolve({ done: true, value: undefined })
  }
  return {
    async next() {
      const result = await frames.next()
      return result.done ? stop() : { done: false, value: result.value.json as JsonObject }
    },
    return: stop,
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
