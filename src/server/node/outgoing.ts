/**
 * Responses on Node's sockets, written no faster than their readers take them.
 *
 * @module
 */
import type { ServerResponse } from 'node:http'
import { nextTick } from 'node:process'
import type { EventSource } from '../binding/exchange.js'
import type { LargeText } from '../binding/large-texts.js'
import type { HeldOutput, Output, PendingOutput } from '../binding/pending-output.js'
import { HEARTBEAT } from '../streams/sse.js'
import { isGone } from './incoming.js'

/** Ends a response with a text that is made already. Counts it while the socket has not taken it. */
export function endWith(res: ServerResponse, body: string | undefined, pending: PendingOutput): void {
  res.end(body)
  if (body === undefined || res.writableLength === 0) return
  const held = pending.hold(res.writableLength, outputOf(res))
  res.on('close', () => pending.release(held))
}

/** Writes the pieces of a large answer. */
export async function sendText(res: ServerResponse, text: LargeText, pending: PendingOutput): Promise<void> {
  const writer = new ResponseWriter(res, pending, () => text.release())
  await writer.writeText(text)
  res.end()
}

/** Writes events. Ends the stream when the connection closes. */
export async function sendEvents(
  res: ServerResponse,
  { frames, heartbeat, textOf }: EventSource,
  pending: PendingOutput,
): Promise<void> {
  let isWaiting = false
  let large: LargeText | undefined
  const leave = (): void => {
    large?.release()
    void frames.return()
  }
  const writer = new ResponseWriter(res, pending, leave)
  // The head leaves with the frames that are there already.
  writer.add('')
  const stopBeating = heartbeat.add(() => {
    if (isWaiting) writer.beat()
  })
  // The operating system has all of the response.
  res.on('finish', leave)
  try {
    while (!writer.isGone()) {
      isWaiting = true
      const { done, value } = await frames.next()
      isWaiting = false
      if (writer.draining !== undefined) await writer.draining
      if (done || writer.isGone()) break
      const text = textOf(value)
      if (typeof text === 'string') {
        writer.add(text)
        if (writer.draining !== undefined) await writer.draining
      } else {
        large = await text
        writer.flush()
        if (writer.isGone()) large.release()
        else await writer.writeText(large)
      }
    }
  } finally {
    stopBeating()
    if (writer.isGone()) leave()
    else writer.flush()
    res.end()
  }
}

/** How many characters of frames wait for one write at most. */
const BATCH_LENGTH = 16_384

/** One response while it is written. */
class ResponseWriter {
  readonly #res: ServerResponse
  readonly #pending: PendingOutput
  readonly #output: Output
  #held: HeldOutput | undefined
  #resume = (): void => {}
  /** Frames that leave with the next write. */
  #text = ''
  #isScheduled = false
  #hasHead = false
  /** Resolves when the reader has taken what was written, or has gone; absent while it takes all at once. */
  draining: Promise<void> | undefined

  /** @param onLeave Called when the connection closes. */
  constructor(res: ServerResponse, pending: PendingOutput, onLeave: () => void) {
    this.#res = res
    this.#pending = pending
    this.#output = outputOf(res)
    res.on('drain', () => this.#resume())
    res.on('close', () => {
      this.#release()
      this.#resume()
      onLeave()
    })
    // It may have closed before the listeners were added.
    if (isGone(res)) onLeave()
  }

  isGone(): boolean {
    return isGone(this.#res)
  }

  /**
   * Adds a frame. Frames that are made in one go leave in one write and one chunk of HTTP: a write takes longer than
   * making a frame. `nextTick` runs when no microtask is left, and before anything else.
   */
  add(text: string): void {
    this.#text += text
    if (this.#text.length >= BATCH_LENGTH) this.flush()
    else if (!this.#isScheduled) {
      this.#isScheduled = true
      nextTick(this.#onTick)
    }
  }

  readonly #onTick = (): void => {
    this.#isScheduled = false
    this.flush()
  }

  /** Writes the frames that wait; at least the head of the response. */
  flush(): void {
    const text = this.#text
    this.#text = ''
    if (this.isGone() || this.#res.writableEnded) return
    if (text === '') {
      if (!this.#hasHead) this.#res.flushHeaders()
      this.#hasHead = true
    } else if (!this.write(text)) {
      this.draining = this.drained(this.#res.writableLength).finally(() => {
        this.draining = undefined
      })
    }
  }

  /** Whether more can be written at once. */
  write(chunk: string | Uint8Array): boolean {
    this.#hasHead = true
    return this.#res.write(chunk) || this.isGone()
  }

  /** Writes a heartbeat, unless the reader has yet to take what was written before. */
  beat(): void {
    if (this.#res.writableLength === 0) this.#res.write(HEARTBEAT)
    else if (this.#held === undefined || !this.#pending.holds(this.#held))
      this.#hold(this.#res.writableLength)
  }

  async writeText(text: LargeText): Promise<void> {
    text.drop = () => this.#output.drop()
    try {
      while (!this.isGone()) {
        if (!this.#pending.hasRoom) {
          await this.#pending.room()
          continue
        }
        const piece = text.next()
        if (piece === undefined) return
        // Readers share bytes, so those cost nothing here.
        if (!this.write(piece)) await this.drained(typeof piece === 'string' ? this.#res.writableLength : 0)
      }
    } finally {
      text.release()
      this.#pending.wake()
    }
  }

  /** Resolves when the reader has taken what was written, or has gone. Counts it until then. */
  async drained(bytes: number): Promise<void> {
    const resumed = new Promise<void>((resolve) => {
      this.#resume = resolve
    })
    this.#release()
    this.#hold(bytes)
    await resumed
    this.#release()
  }

  #hold(bytes: number): void {
    this.#held = this.#pending.hold(bytes, this.#output)
  }

  #release(): void {
    this.#pending.release(this.#held)
    this.#held = undefined
  }
}

function outputOf(res: ServerResponse): Output {
  return {
    left: () => res.writableLength,
    drop: () => void res.destroy(),
  }
}
