/**
 * The open streams of an inspector.
 *
 * @module
 */
import { onAbort } from '../../runtime/abort.js'
import { elapsed, type Clock } from '../../runtime/clock.js'
import { describeFailure, Refusal } from '../refusal.js'
import { streamResponse } from '../responses.js'

const MAX_STREAMS = 256
const MAX_STREAMS_PER_PERSON = 32
/** The time after which a stream asks again whether its reader has access, in ms. */
const RECHECK_MS = 10_000

/** The reader of a stream. */
export interface Reader {
  readonly request: Request
  /** What tells the person from others. */
  readonly person: string
  /** Whether the person still has the access with which the stream was opened. */
  readonly hasAccess: () => Promise<boolean>
}

export class Streams {
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  #open = 0
  readonly #openOf = new Map<string, number>()

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock
    this.#onError = onError
  }

  /**
   * Answers with the entries, until they, the request or the access of the reader end.
   *
   * @throws {Refusal} when too many streams are open.
   */
  open(reader: Reader, entriesOf: (signal: AbortSignal) => AsyncIterator<unknown>): Response {
    const { request, person } = reader
    const release = this.#reserve(person)
    const controller = new AbortController()
    let ignore = (): void => {}
    const end = (): void => {
      release()
      ignore()
      controller.abort()
    }
    ignore = onAbort(request.signal, end)
    const entries = this.#guarded(entriesOf(controller.signal))
    return streamResponse(entries, this.#clock, this.#recheckOf(reader), end)
  }

  /** @returns A function that gives the place of the stream back. Further calls change nothing. */
  #reserve(person: string): () => void {
    const own = this.#openOf.get(person) ?? 0
    if (own >= MAX_STREAMS_PER_PERSON) throw new Refusal(429, 'You have too many streams open')
    if (this.#open >= MAX_STREAMS) throw new Refusal(503, 'Too many streams are open')
    this.#open += 1
    this.#openOf.set(person, own + 1)
    let isOpen = true
    return () => {
      if (!isOpen) return
      isOpen = false
      this.#open -= 1
      const left = (this.#openOf.get(person) ?? 1) - 1
      if (left > 0) this.#openOf.set(person, left)
      else this.#openOf.delete(person)
    }
  }

  /** Whether the reader has access, asked again when the latest answer is too old. */
  #recheckOf({ hasAccess }: Reader): () => Promise<boolean> {
    let askedAt = elapsed(this.#clock)
    return async () => {
      const now = elapsed(this.#clock)
      if (now - askedAt < RECHECK_MS) return true
      askedAt = now
      try {
        return await hasAccess()
      } catch (error) {
        this.#onError(error)
        return false
      }
    }
  }

  /** A failure becomes the last entry. */
  async *#guarded(entries: AsyncIterator<unknown>): AsyncGenerator {
    try {
      for (let next = await entries.next(); next.done !== true; next = await entries.next()) yield next.value
    } catch (error) {
      const { message, isInternal } = describeFailure(error)
      if (isInternal) this.#onError(error)
      yield { type: 'error', message }
    }
  }
}
