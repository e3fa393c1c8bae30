/**
 * The open streams of an inspector.
 *
 * @module
 */
import type { Clock } from '../../runtime/clock.js'
import { describeFailure, Refusal } from '../refusal.js'
import { streamResponse } from '../responses.js'

const MAX_STREAMS = 256

export class Streams {
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  #open = 0

  constructor(clock: Clock, onError: (error: unknown) => void) {
    this.#clock = clock
    this.#onError = onError
  }

  /** Answers with the entries, until they or the request end. @throws {Refusal} when too many streams are open. */
  open(request: Request, entriesOf: (signal: AbortSignal) => AsyncIterator<unknown>): Response {
    if (this.#open >= MAX_STREAMS) throw new Refusal(503, 'Too many streams are open')
    this.#open += 1
    const controller = new AbortController()
    const abort = (): void => controller.abort()
    let isOpen = true
    const end = (): void => {
      if (!isOpen) return
      isOpen = false
      this.#open -= 1
      request.signal.removeEventListener('abort', abort)
      abort()
    }
    request.signal.addEventListener('abort', abort)
    if (request.signal.aborted) abort()
    return streamResponse(this.#guarded(entriesOf(controller.signal)), this.#clock, end)
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
