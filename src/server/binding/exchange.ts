/**
 * One HTTP request and its response, independent of the runtime's objects.
 *
 * On Node, creating Fetch's `Request` and `Response` and reading them again is slow, so the listener for Node calls the
 * handler through {@link DIRECT} instead. `npm run bench -- over HTTP` measures the difference.
 *
 * @module
 */
import type { MaybePromise } from '../../core/managers.js'
import type { Principal } from '../caller.js'
import type { Trail } from '../observers.js'
import type { IncomingBody } from './incoming-body.js'
import type { LargeText } from './large-texts.js'
import type { PendingOutput } from './pending-output.js'
import type { Source } from '../streams/source.js'
import type { Frame, SseHeartbeat } from '../streams/sse.js'

/** The part of a request that the agent uses. */
export interface HttpRequest {
  readonly method: string
  /** The absolute URL. */
  readonly url: string
  /** The value of a header; `name` is in lower case. */
  header(name: string): string | null
  /** Reads the body by way of `body`. Rejects with what `body` is refused with. */
  read(body: IncomingBody): Promise<Uint8Array>
  /** The request as `authenticate` receives it. */
  toFetch(): Request
  /** The client that the layer around the handler has authenticated, if that layer passes one. */
  readonly principal?: (() => MaybePromise<Principal | null | undefined>) | undefined
  /** Aborts when the client disconnects. */
  readonly signal?: AbortSignal | undefined
  /** Set before the request is answered, where an observer follows it. */
  trail?: Trail | undefined
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | null | LargeText | EventSource
}

/** The events of a stream, and the heartbeat of its connection. */
export interface EventSource {
  readonly frames: Source<Frame>
  readonly heartbeat: SseHeartbeat
  /** The text of a frame. Request it when the reader has taken the frame before it. */
  readonly textOf: (frame: Frame) => string | Promise<LargeText>
}

export interface Respond {
  (request: HttpRequest): Promise<HttpAnswer>
  /** What the readers of all answers have not taken. */
  readonly output: PendingOutput
}

/** The property of a handler's `fetch` that holds its {@link Respond}; the same symbol in every copy of the library. */
export const DIRECT: unique symbol = Symbol.for('a2a-tasks.respond')
