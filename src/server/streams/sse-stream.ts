/**
 * Server-sent events, sent by hand.
 *
 * @module
 */
import { read } from '../../core/validate.js'
import { systemClock, type Clock } from '../../runtime/clock.js'
import { requireDelay, requirePositive } from '../options.js'
import { formatEvent, Heart, SSE_HEADERS } from './sse.js'

export interface SSEStreamOptions {
  /** Bytes that may wait for a reader that is slow or not there yet. Then the stream ends. Default is `1_048_576` (1 MiB). */
  readonly maxBufferBytes?: number | undefined
  /** How often a silent stream says that it is alive, in ms. Default is `15_000` (15 seconds). */
  readonly heartbeatMs?: number | undefined
  /** Default is the runtime's clock. */
  readonly clock?: Clock | undefined
}

/** As much of Node's `ServerResponse` as `pipe` needs. */
export interface NodeResponse {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown
  write(chunk: Uint8Array): boolean
  end(): unknown
  on(event: 'drain' | 'close', listener: () => void): unknown
  flushHeaders?(): unknown
  readonly destroyed?: boolean
}

/**
 * A stream of server-sent events to one reader: by `response()` over Fetch, or by `pipe(res)` on Node.
 *
 * @example
 * const stream = new SSEStream()
 * const tell = (task: TaskSnapshot) => stream.send('task.updated', task) || tasks.off('task:updated', tell)
 * tasks.on('task:updated', tell)
 * return stream.response()
 */
export class SSEStream {
  readonly #maxBufferBytes: number
  readonly #readable: ReadableStream<Uint8Array>
  readonly #stopBeating: () => void
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined

  /** @throws {RangeError | A2AError} naming the option that makes no sense. */
  constructor(options: SSEStreamOptions = {}) {
    const given = read(options, ['maxBufferBytes', 'heartbeatMs', 'clock'], 'SSEStream')
    const { clock = systemClock } = given
    const heartbeatMs = requireDelay('heartbeatMs', given.heartbeatMs ?? 15_000)
    this.#maxBufferBytes = requirePositive('maxBufferBytes', given.maxBufferBytes ?? 1_048_576)
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
    this.#stopBeating = new Heart(clock, heartbeatMs).add(() => {
      // Whoever has not read what there is needs no heartbeat.
      if (this.#controller?.desiredSize === 0) this.#enqueue(': \n\n')
    })
  }

  /** Whether the stream has ended: closed, left by its reader, or too far behind. */
  get closed(): boolean {
    return this.#controller === undefined
  }

  /**
   * Sends `data` as JSON. A reader further behind than `maxBufferBytes` is cut off: nothing is held for him any more.
   *
   * @returns Whether the stream is still open.
   */
  send(event: string, data: unknown, id?: string | number): boolean {
    const text = JSON.stringify(data) as string | undefined
    return this.#enqueue(
      formatEvent(text ?? 'null', oneLine(event), id === undefined ? id : oneLine(String(id))),
    )
  }

  /** Ends the stream. What was sent before is still read. */
  close(): void {
    const controller = this.#controller
    this.#end()
    controller?.close()
  }

  /** The stream as the answer to a Fetch request. A stream is read once: by this or by `pipe`. */
  response(
    init: { readonly status?: number; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Response {
    return new Response(this.#readable, {
      status: init.status ?? 200,
      headers: { ...init.headers, ...SSE_HEADERS },
    })
  }

  /**
   * Writes the stream to a response of Node's, as fast as it is read. Resolves when either has ended; a reader that was
   * cut off finds his connection closed.
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
    // Cut off while the connection takes nothing.
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
      // Too far behind.
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

/** A line break would begin another field. */
function oneLine(text: string): string {
  return text.replace(/[\r\n\0]+/g, ' ')
}
