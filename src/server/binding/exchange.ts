/**
 * One HTTP request and its response, independent of the runtime's objects.
 *
 * On Node, creating Fetch's `Request` and `Response` and reading them again is slow, so the listener for Node calls the
 * handler through {@link DIRECT} instead. `npm run bench -- over HTTP` measures the difference.
 *
 * @module
 */
import type { Source } from '../streams/frame-stream.js'
import type { Frame } from '../streams/sse.js'
import type { SseHeartbeat } from '../streams/sse.js'

/** The part of a request that the agent uses. */
export interface HttpRequest {
  readonly method: string
  /** The absolute URL. */
  readonly url: string
  /** The value of a header; `name` is in lower case. */
  header(name: string): string | null
  /** Reads the body. Rejects with `LIMIT_EXCEEDED` beyond `max` bytes. */
  read(max: number): Promise<Uint8Array>
  /** The request as `authenticate` receives it. */
  toFetch(): Request
  /** Aborts when the client disconnects. */
  readonly signal?: AbortSignal | undefined
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null | EventSource
}

/** The events of a stream, and the heartbeat of its connection. */
export interface EventSource {
  readonly frames: Source<Frame>
  readonly heartbeat: SseHeartbeat
}

export type Respond = (request: HttpRequest) => Promise<HttpAnswer>

/** The property of a handler's `fetch` that holds its {@link Respond}; the same symbol in every copy of the library. */
export const DIRECT: unique symbol = Symbol.for('a2a-tasks.respond')
