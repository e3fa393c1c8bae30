/**
 * Streams of server-sent events that are read event by event, and can be broken.
 *
 * @module
 */
import type { Json } from './kit.js'

interface SseEvent {
  readonly id: string | undefined
  /** Absent for an event without a message. */
  readonly message: Json | undefined
}

/** A stream, whose events are read one by one. */
export class Stream {
  readonly response: Response
  readonly #reader: ReadableStreamDefaultReader<string> | undefined
  #rest = ''

  constructor(response: Response) {
    this.response = response
    this.#reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  }

  /** The next event; `undefined` at the end. */
  async next(): Promise<SseEvent | undefined> {
    for (;;) {
      const end = this.#rest.indexOf('\n\n')
      if (end === -1) {
        const { done, value = '' } = (await this.#reader?.read()) ?? { done: true }
        if (done) return undefined
        this.#rest += value
        continue
      }
      const lines = this.#rest.slice(0, end).split('\n')
      this.#rest = this.#rest.slice(end + 2)
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
      const data = field('data')
      if (data === undefined) continue
      return { id: field('id'), message: data === '' ? undefined : (JSON.parse(data) as Json) }
    }
  }

  /** The next message, and the last id before and with it. */
  async message(): Promise<{ readonly id: string | undefined; readonly message: Json | undefined }> {
    let id: string | undefined
    for (;;) {
      const event = await this.next()
      id = event?.id ?? id
      if (event === undefined || event.message !== undefined) return { id, message: event?.message }
    }
  }

  /** Breaks the connection. */
  async break(): Promise<void> {
    await this.#reader?.cancel()
  }
}
