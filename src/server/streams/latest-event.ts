/**
 * The latest event that streams have shown, as JSON and as text.
 *
 * The streams of one task show the same event one after the other. Its JSON is made once, and shared: 10,000 streams would
 * make it 10,000 times. `npm run bench -- open streams` measures it. One event is enough, and bounds the memory.
 *
 * @module
 */
import type { JsonValue } from '../../core/json-types.js'
import type { Codec, StreamEntry } from '../../wire/dialect.js'

type EventEntry = Extract<StreamEntry, { readonly type: 'status' | 'artifact' }>
type AnyCodec = Codec<unknown, unknown>

interface Made {
  readonly codec: AnyCodec
  readonly event: object
  readonly contextId: string
  readonly last: boolean
  readonly json: JsonValue
  text: string | undefined
}

/** What encodes an answer for its first reader. */
interface Encoder {
  encode(codec: AnyCodec, view: unknown, answer: unknown): JsonValue
  /** Whether JSON that was encoded is too long to be kept. */
  isLarge(json: JsonValue): boolean
}

export class LatestEvent {
  readonly #encoder: Encoder
  #made: Made | undefined

  constructor(encoder: Encoder) {
    this.#encoder = encoder
  }

  /**
   * The JSON of `view`, as which clients see the entry `answer`. Other answers are encoded each time, and so are events whose
   * JSON shows more than the event: the task as it is now.
   */
  encode(codec: AnyCodec, view: unknown, answer: unknown): JsonValue {
    if (typeof answer !== 'object' || answer === null || !('event' in answer))
      return this.#encoder.encode(codec, view, answer)
    // No other answer of an operation has an event.
    const entry = answer as EventEntry
    const { event, contextId, last } = entry
    const made = this.#made
    if (made?.event === event && made.codec === codec && made.contextId === contextId && made.last === last)
      return made.json
    const { source } = entry
    const reads = { task: false }
    const task = (): ReturnType<NonNullable<typeof source>['task']> => {
      reads.task = true
      return source?.task()
    }
    // What clients see of an entry is an entry.
    const shown = source === undefined ? view : { ...(view as EventEntry), source: { task } }
    const json = this.#encoder.encode(codec, shown, answer)
    if (!reads.task && !this.#encoder.isLarge(json))
      this.#made = { codec, event, contextId, last, json, text: undefined }
    return json
  }

  /** The text of `json`, if it is the latest event or a response of JSON-RPC with it. */
  textOf(json: JsonValue): string | undefined {
    const made = this.#made
    if (made === undefined || typeof json !== 'object' || json === null || Array.isArray(json))
      return undefined
    if (json !== made.json && json['result'] !== made.json) return undefined
    made.text ??= JSON.stringify(made.json)
    if (json === made.json) return made.text
    return `{"jsonrpc":"2.0","id":${JSON.stringify(json['id'])},"result":${made.text}}`
  }
}
