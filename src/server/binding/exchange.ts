/**
 * A request and its answer, before they are put into a runtime's own objects.
 *
 * Node has to make Fetch's objects, and then to take them apart again, so a listener for Node goes without them: it
 * finds this way into the handler by {@link DIRECT}. `npm run bench -- over HTTP` measures what is left.
 *
 * @module
 */
import type { Frame, Source } from '../streams/frame-stream.js'
import type { SseHeartbeat } from '../streams/sse.js'

/** As much of a request as the agent looks at. */
export interface HttpRequest {
  readonly method: string
  /** Absolute. */
  readonly url: string
  /** The header of this name, in lower case. */
  header(name: string): string | null
  /** The body. Throws `LIMIT_EXCEEDED` when it has more than `max` bytes. */
  read(max: number): Promise<Uint8Array>
  /** For whoever authenticates it. */
  toFetch(): Request
  /** Aborts when the client has gone. */
  readonly signal?: AbortSignal | undefined
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null | EventSource
}

/** Events as they come, and what keeps their connection alive between them. */
export interface EventSource {
  readonly frames: Source<Frame>
  readonly heartbeat: SseHeartbeat
}

export type Respond = (request: HttpRequest) => Promise<HttpAnswer>

/** Where a handler's `fetch` keeps its {@link Respond}; the same symbol in each copy of the library. */
export const DIRECT: unique symbol = Symbol.for('a2a-tasks.respond')
