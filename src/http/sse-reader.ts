/**
 * Reader of server-sent events.
 *
 * @module
 */
import { createParser } from 'eventsource-parser'
import { chunksOf, decode, type OpenResponse } from './request.js'
import { tooLarge } from './json.js'

/** A server-sent event with data. */
export interface ServerSentEvent {
  /** The event's type, if the stream names one. */
  readonly event?: string | undefined
  readonly data: string
  readonly id?: string | undefined
}

/** Limits of a stream of events. */
export interface EventLimits {
  /** Maximum length of one event, in characters. */
  readonly maxEventBytes: number
  /** Maximum time without data, in ms. Comments count as data. */
  readonly idleTimeoutMs: number
}

/** Maximum length of text passed to the parser at once: it takes quadratic time for some inputs. */
const SLICE = 16_384

/**
 * The events of a stream, in order: server-sent ones, or lines if `areLines`. Disposes of the response's scope at the end.
 *
 * @throws {A2AError} `EXTERNAL_SERVICE_ERROR` when the connection breaks, `REQUEST_TIMED_OUT` after `idleTimeoutMs` without
 *   data, `LIMIT_EXCEEDED` when an event is too long, `INVALID_AGENT_RESPONSE` when the stream is not UTF-8.
 */
export async function* eventsOf(
  { response, url, scope }: OpenResponse,
  { maxEventBytes, idleTimeoutMs }: EventLimits,
  areLines = false,
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
  // A line becomes an event: it begins with this, and ends with an empty line.
  if (areLines) parser.feed('data:')
  const decoder = new TextDecoder('utf-8', { fatal: true })
  scope.arm(idleTimeoutMs)
  try {
    for await (const chunk of chunksOf(response, url, scope)) {
      // The time that the consumer spends on an event does not count as idle.
      scope.arm(Infinity)
      const text = decode(decoder, chunk)
      for (let at = 0; at < text.length; at += SLICE) {
        const slice = text.slice(at, at + SLICE)
        parser.feed(areLines ? slice.replaceAll('\n', '\n\ndata:') : slice)
        yield* ready.splice(0)
        const [fault] = faults
        if (fault !== undefined) throw fault
      }
      scope.arm(idleTimeoutMs)
    }
    // After a CR at the end of the stream, the parser waits for an LF.
    parser.feed(areLines ? '\n\n' : '\n')
    yield* ready.splice(0)
  } finally {
    scope.dispose()
  }
}
