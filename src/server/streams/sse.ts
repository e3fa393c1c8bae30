/**
 * The text format of server-sent events, and their heartbeat.
 *
 * @module
 */
import type { JsonValue } from '../../core/json-types.js'
import type { Clock } from '../../runtime/clock.js'

/** The default time between heartbeats, in ms. */
export const HEARTBEAT_MS = 15_000

/** A comment line. Parsers skip it, and proxies keep the connection open. */
export const HEARTBEAT = ': \n\n'

export const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  // nginx buffers responses by default.
  'x-accel-buffering': 'no',
} as const

/** One event of a stream: its JSON and its SSE fields. */
export interface Frame {
  readonly json: JsonValue
  /** The cursor to resume after: the generation of the event, or a text of another protocol. */
  readonly id?: number | string | undefined
  readonly event?: 'error' | 'resync' | undefined
  /** The data, in place of the JSON. */
  readonly data?: string | undefined
}

/** Formats one event. `data` may have several lines, `event` and `id` one each. */
export function formatEvent(data: string, event?: string, id?: string | number): string {
  const head = eventHead(event, id)
  if (!/[\r\n]/.test(data)) return `${head}data: ${data}\n\n`
  const lines = data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`)
  return `${head}${lines.join('')}\n`
}

/** The lines of an event before its data. */
export function eventHead(event?: string, id?: string | number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}${event === undefined ? '' : `event: ${event}\n`}`
}

export function formatFrame({ json, event, id, data = JSON.stringify(json) }: Frame): string {
  return formatEvent(data, event, id)
}

/** Heartbeats of all open streams. One timer serves them all and runs only while a stream is open. */
export class SseHeartbeat {
  readonly #beats = new Set<() => void>()
  readonly #clock: Clock
  readonly #intervalMs: number
  #stop: (() => void) | undefined

  constructor(clock: Clock, intervalMs: number) {
    this.#clock = clock
    this.#intervalMs = intervalMs
  }

  /** Calls `beat` every `intervalMs` until the returned function is called. */
  add(beat: () => void): () => void {
    this.#beats.add(beat)
    this.#schedule()
    return () => {
      this.#beats.delete(beat)
      if (this.#beats.size > 0) return
      this.#stop?.()
      this.#stop = undefined
    }
  }

  #schedule(): void {
    this.#stop ??= this.#clock.schedule(() => {
      this.#stop = undefined
      for (const beat of [...this.#beats]) beat()
      if (this.#beats.size > 0) this.#schedule()
    }, this.#intervalMs)
  }
}
