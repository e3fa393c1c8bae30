/**
 * A server-sent event stream for the integrator's own routes.
 *
 * @module
 */
import { readOptions, requireDelay, requireFinite } from '../../runtime/options.js'
import { systemClock, type Clock } from '../../runtime/clock.js'
import { formatEvent, HEARTBEAT, HEARTBEAT_MS, SSE_HEADERS, SseHeartbeat } from './sse.js'

/** Options of {@link SSEStream}. */
export interface SSEStreamOptions {
  /**
   * Bytes to buffer for a reader that is slow or not connected yet. Beyond it the stream ends. Default is `1_048_576`
   * (1 MiB).
   */
  readonly maxBufferBytes?: number | undefined
  /** Interval of heartbeats on an idle stream, in ms. Default is `15_000` (15 seconds). */
  readonly heartbeatMs?: number | undefined
  /** Default is the runtime's clock. */
  readonly clock?: Clock | undefined
}

/** The part of Node's `ServerResponse` that `pipe` uses. */
export interface NodeResponse {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown
  write(chunk: Uint8Array): boolean
  end(): unknown
  on(event: 'drain' | 'close', listener: () => void): unknown
  flushHeaders?(): unknown
  readonly destroyed?: boolean
}

/**
 * A stream of server-sent events to one reader, read once: with `response()` over Fetch, or with `pipe(res)` on Node.
 *
 * @example
 * const stream = new SSEStream()
 * const send = (task: TaskSnapshot) => stream.send('task.updated', task) || tasks.off('task:updated', send)
 * tasks.on('task:updated', send)
 * return stream.response()
 */
export class SSEStream {
  readonly #maxBufferBytes: number
  readonly #readable: ReadableStream<Uint8Array>
  readonly #stopBeating: () => void
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  /** @throws {TypeError | RangeError} naming the option that is unknown, of the wrong type or out of range. */
  constructor(options: SSEStreamOptions = {}) {
    const given = readOptions(options, ['maxBufferBytes', 'heartbeatMs', 'clock'], 'SSEStream')
    const { clock = systemClock } = given
    const heartbeatMs = requireDelay('heartbeatMs', given.heartbeatMs ?? HEARTBEAT_MS)
    this.#maxBufferBytes = requireFinite('maxBufferBytes', given.maxBufferBytes ?? 1_048_576)
    this.#readable = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller
        },
        cancel: () => {
          this.#end()
        },
      },
      new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
    )
    this.#stopBeating = new SseHeartbeat(clock, heartbeatMs).add(() => {
      // A reader with unread events needs no heartbeat.
      if (this.#controller?.desiredSize === 0) this.#enqueue(HEARTBEAT)
    })
  }

  /** Whether the stream has ended: it was closed, its reader left, or its reader fell behind by `maxBufferBytes`. */
  get closed(): boolean {
    return this.#controller === undefined
  }

  /**
   * Sends `data` as JSON, `null` for `undefined`. If the reader is behind by more than `maxBufferBytes`, the stream ends
   * with an error and drops its buffer. Line breaks in `event` and `id` become spaces.
   *
   * @returns Whether the stream is still open.
   */
  send(event: string, data: unknown, id?: string | number): boolean {
    const text = JSON.stringify(data) as string | undefined
    return this.#enqueue(
      formatEvent(text ?? 'null', oneLine(event), id === undefined ? id : oneLine(String(id))),
    )
  }

  /** Ends the stream. The reader still gets the events sent before. */
  close(): void {
    const controller = this.#controller
    this.#end()
    controller?.close()
  }

  /** The stream as a Fetch response, with the headers of server-sent events. Call this or `pipe`, once. */
  response(
    init: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Response {
    const { status = 200, headers } = readOptions(init, ['status', 'headers'], 'response')
    return new Response(this.#readable, {
      status,
      headers: { ...headers, ...SSE_HEADERS },
    })
  }

  /**
   * Writes the stream to a Node response, no faster than the connection accepts it. Resolves when the stream or the
   * connection ends. Closes the connection of a reader that fell behind by `maxBufferBytes`.
   */
  async pipe(res: NodeResponse): Promise<void> {
    const reader = this.#readable.getReader()
    if (res.destroyed) {
      await reader.cancel()
      return
    }
    res.writeHead(200, SSE_HEADERS)
    res.flushHeaders?.()
    let resume = (): void => {}
    res.on('drain', () => resume())
    // The stream may fail while this waits for "drain".
    reader.closed.catch(() => resume())
    res.on('close', () => {
      resume()
      void reader.cancel().catch(() => undefined)
    })
    try {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        if (res.write(value) || this.closed) continue
        await new Promise<void>((resolve) => {
          resume = resolve
        })
      }
    } catch {
      // The reader fell behind: see #enqueue.
    }
    res.end()
  }

  #enqueue(text: string): boolean {
    const controller = this.#controller
    if (controller === undefined) return false
    const chunk = new TextEncoder().encode(text)
    if (chunk.byteLength - (controller.desiredSize ?? 0) > this.#maxBufferBytes) {
      this.#end()
      controller.error(
        new RangeError(`The reader is more than "maxBufferBytes" (${this.#maxBufferBytes}) behind`),
      )
      return false
    }
    controller.enqueue(chunk)
    return true
  }

  #end(): void {
    this.#controller = undefined
    this.#stopBeating()
  }
}

/** A line break would start another field. */
function oneLine(text: string): string {
  return text.replace(/[\r\n\0]+/g, ' ')
}
