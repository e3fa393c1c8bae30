/**
 * Reader of server-sent events.
 *
 * @module
 */
import { createParser } from 'eventsource-parser'
import { chunksOf, decode, type Opened } from './request.js'
import { tooLarge } from './json.js'

export interface ServerSentEvent {
  /** What kind of event it is, where the stream says so. */
  readonly event?: string | undefined
  readonly data: string
  readonly id?: string | undefined
}

export interface EventLimits {
  /** Of one event, in characters. */
  readonly maxEventBytes: number
  /** How long the connection may be silent; comments are no silence. */
  readonly idleTimeoutMs: number
}

/** The parser takes quadratic time for some of what an agent may send at once. */
const SLICE = 16_384

/**
 * The events of a stream in their order.
 *
 * @throws {A2AError} `EXTERNAL_SERVICE_ERROR` when the connection breaks, `REQUEST_TIMED_OUT` when it is silent too long,
 *   `LIMIT_EXCEEDED` when an event is too long, `INVALID_AGENT_RESPONSE` when it is not UTF-8.
 */
export async function* eventsOf(
  { response, url, scope }: Opened,
  { maxEventBytes, idleTimeoutMs }: EventLimits,
): AsyncGenerator<ServerSentEvent, undefined> {
  const ready: ServerSentEvent[] = []
  const faults: Error[] = []
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent: ({ event, data, id }) => ready.push({ event, data, id }),
    onError(error) {
      if (error.type !== 'max-buffer-size-exceeded') return
      faults.push(tooLarge('maxEventBytes', maxEventBytes, maxEventBytes + 1))
    },
  })
  const decoder = new TextDecoder('utf-8', { fatal: true })
  scope.arm(idleTimeoutMs)
  try {
    for await (const chunk of chunksOf(response, url, scope)) {
      // While somebody works on an event, nobody listens: that is no silence.
      scope.arm(Infinity)
      const text = decode(decoder, chunk)
      for (let at = 0; at < text.length; at += SLICE) {
        parser.feed(text.slice(at, at + SLICE))
        yield* ready.splice(0)
        const [fault] = faults
        if (fault !== undefined) throw fault
      }
      scope.arm(idleTimeoutMs)
    }
    // A line may end with a CR, after which the parser waits for an LF.
    parser.feed('\n')
    yield* ready.splice(0)
  } finally {
    scope.dispose()
  }
}
