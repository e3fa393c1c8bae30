/**
 * The answer of a KAOS task as a stream, piece by piece.
 *
 * @module
 */
import type { Clock } from '../../runtime/clock.js'
import type { Task } from '../../core/task.js'
import type { StreamEntry } from '../../wire/dialect.js'
import { textOf } from '../../wire/text.js'
import type { Source } from '../../server/streams/source.js'

type Result = IteratorResult<StreamEntry, undefined>

/**
 * Pieces that no reader has taken become one, so a slow reader costs no more than the answer itself. A reader that leaves does not
 * affect the task.
 */
export class AnswerPieces implements Source<StreamEntry> {
  /** Settles with the first piece, the end or the failure. */
  readonly begun: Promise<void>
  readonly #clock: Clock
  #unread = ''
  #hasText = false
  #about = { id: '', contextId: '' }
  #last: Task | undefined
  #failure: { readonly error: unknown } | undefined
  #isEnded = false
  #wake: () => void = () => {}
  #begin: () => void = () => {}
  #refuse: (error: unknown) => void = () => {}

  constructor(clock: Clock) {
    this.#clock = clock
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve
      this.#refuse = reject
    })
  }

  readonly onText = (text: string, task: { readonly id: string; readonly contextId: string }): void => {
    if (text === '' || this.#isEnded) return
    this.#about = task
    this.#unread += text
    this.#hasText = true
    this.#news()
  }

  readonly end = (task: Task): void => {
    const answer = task.messages.at(-1)
    // A manager of another kind names no pieces.
    if (!this.#hasText && task.state === 'completed' && answer?.role === 'agent') {
      this.onText(textOf(answer), task)
    }
    this.#about = task
    this.#last = task
    this.#news()
  }

  readonly fail = (error: unknown): void => {
    this.#failure = { error }
    this.#refuse(error)
    this.#news()
  }

  async next(): Promise<Result> {
    for (;;) {
      if (this.#isEnded) return { done: true, value: undefined }
      const entry = this.#take()
      if (entry !== undefined) return { done: false, value: entry }
      await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  return(): Promise<Result> {
    this.#isEnded = true
    this.#unread = ''
    this.#news()
    return Promise.resolve({ done: true, value: undefined })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  #news(): void {
    this.#begin()
    this.#wake()
  }

  /** The next entry, if there is one. @throws what the work was refused with. */
  #take(): StreamEntry | undefined {
    const { id: taskId, contextId } = this.#about
    const timestamp = new Date(this.#clock.now()).toISOString()
    const base = { taskId, timestamp, generation: this.#last?.generation ?? 1 }
    if (this.#unread !== '') {
      const artifact = { artifactId: 'answer', parts: [{ text: this.#unread }] }
      this.#unread = ''
      const event = { ...base, type: 'artifact', artifact, append: true, lastChunk: false } as const
      return { type: 'artifact', contextId, event, last: false }
    }
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#last === undefined) return undefined
    this.#isEnded = true
    const { state, message = null } = this.#last
    const event = { ...base, type: 'status', from: 'working', to: state, message } as const
    return { type: 'status', contextId, event, last: true }
  }
}
