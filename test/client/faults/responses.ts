/** Parser of HTTP/1.1 responses on a connection, so that tests can rewrite them. */

interface Head {
  readonly text: string
  readonly isStream: boolean
  readonly isChunked: boolean
  readonly length: number
}

export interface Rewriting {
  /** All events of one piece of a stream: what is sent in their place; `undefined` ends the body before its time. */
  readonly events?: (events: string[]) => string[] | undefined
  /** A body that is not a stream. */
  readonly body?: (body: string) => string
}

/** Takes the bytes of an agent and gives those for the client. Bodies are ASCII here, as JSON of the tests is. */
export class ResponseRewriter {
  readonly #rewriting: Rewriting
  #rest = ''
  #head: Head | undefined
  /** What of a stream is not a whole event yet. */
  #event = ''
  #hasEnded = false

  constructor(rewriting: Rewriting) {
    this.#rewriting = rewriting
  }

  /** Whether the answer was ended before its time: the connection is good for nothing more. */
  hasEnded(): boolean {
    return this.#hasEnded
  }

  feed(bytes: Buffer): string {
    this.#rest += bytes.toString('latin1')
    let out = ''
    for (;;) {
      const part = this.#head === undefined ? this.#readHead() : this.#readBody(this.#head)
      if (part === undefined || this.#hasEnded) return out + (part ?? '')
      out += part
    }
  }

  #readHead(): string | undefined {
    const end = this.#rest.indexOf('\r\n\r\n')
    if (end < 0) return undefined
    const text = this.#rest.slice(0, end + 4)
    this.#rest = this.#rest.slice(end + 4)
    const length = Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? 0)
    const isChunked = /^transfer-encoding: *chunked/im.test(text)
    this.#head = { text, length, isChunked, isStream: /^content-type: *text\/event-stream/im.test(text) }
    this.#event = ''
    return this.#head.isStream ? text : ''
  }

  #readBody({ text, isChunked, isStream, length }: Head): string | undefined {
    if (!isChunked) {
      if (this.#rest.length < length) return undefined
      const body = this.#rewriting.body?.(this.#rest.slice(0, length)) ?? this.#rest.slice(0, length)
      this.#rest = this.#rest.slice(length)
      this.#head = undefined
      return text.replace(/^content-length: *\d+/im, `content-length: ${body.length}`) + body
    }
    const size = /^([0-9a-f]+)\r\n/i.exec(this.#rest)
    if (size === null) return undefined
    const [line, hex = ''] = size
    const bytes = parseInt(hex, 16)
    if (this.#rest.length < line.length + bytes + 2) return undefined
    const chunk = this.#rest.slice(line.length, line.length + bytes)
    this.#rest = this.#rest.slice(line.length + bytes + 2)
    if (bytes === 0) {
      this.#head = undefined
      return `${isStream ? '' : text}0\r\n\r\n`
    }
    return isStream ? this.#rewrite(chunk) : toChunk(chunk)
  }

  #rewrite(chunk: string): string {
    const events = (this.#event + chunk).split(/(?<=\n\n)/)
    this.#event = events.at(-1)?.endsWith('\n\n') === true ? '' : (events.pop() ?? '')
    const rewritten = this.#rewriting.events === undefined ? events : this.#rewriting.events(events)
    if (rewritten !== undefined) return rewritten.map(toChunk).join('')
    this.#hasEnded = true
    return `${toChunk((events[0] ?? '').slice(0, 20))}0\r\n\r\n`
  }
}

export function toChunk(text: string): string {
  return text === '' ? '' : `${text.length.toString(16)}\r\n${text}\r\n`
}
