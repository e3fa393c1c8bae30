/**
 * Texts of large answers. Frozen values, such as the artifacts of a stored task, are made once and shared by their readers.
 *
 * @module
 */
import type { JsonValue, ReadonlyJson } from '../../core/json-types.js'
import { yieldToEventLoop } from '../../runtime/timers.js'
import { jsonPieces, lengthUpTo, measure, PIECE_LENGTH } from './json-pieces.js'
import { RemovedTasks, shownIn, type IsInMemory, type Shown, type TaskId } from './removed-tasks.js'

/** How many pieces are made before other work gets its turn: about 2 ms. */
const PIECES_AT_A_TIME = 32
/** How many long parts of an answer are measured, or made, before other work gets its turn: about 5 ms. */
const PARTS_AT_A_TIME = 4

/** The text of one large answer or event, read once. Each piece is made when it is requested. */
export class LargeText {
  /** Closes the connection of the reader, which then calls {@link release}. Set by what writes the text. */
  drop: () => void = () => {}
  readonly #pieces: Iterator<string | Uint8Array, undefined>
  #release: () => void

  constructor(pieces: Iterator<string | Uint8Array, undefined>, release: () => void) {
    this.#pieces = pieces
    this.#release = release
  }

  /** The next piece; `undefined` after the last. */
  next(): string | Uint8Array | undefined {
    const { value } = this.#pieces.next()
    if (value === undefined) this.release()
    return value
  }

  /** Frees what the text holds. Call it when nothing reads on. Can be called again. */
  release(): void {
    this.#release()
    this.#release = () => {}
    this.#pieces.return?.()
  }
}

/** What an operation answers with, as far as it decides how a task is shown. */
interface View {
  readonly type?: string | undefined
  readonly task?: object | undefined
  readonly historyLength?: number | undefined
  readonly artifacts?: boolean | undefined
  readonly isResync?: boolean | undefined
  readonly last?: boolean | undefined
}

interface Encoder {
  encode(view: unknown): JsonValue
}

/** How a task is encoded for one kind of answer. The shared text of the JSON holds it, and nothing else does. */
interface Encoded {
  readonly encoder: Encoder
  readonly view: Omit<View, 'task'>
  readonly json: WeakRef<JsonValue & object>
}

/** How many kinds of answers of one task are remembered: a client chooses how much of the history it gets. */
const MAX_ENCODED = 8

/** The JSON of a frozen value. */
interface SharedText {
  readonly value: object
  /** The tasks in whose answer it was first. */
  readonly shows: readonly TaskId[]
  readonly pieces: Uint8Array[]
  bytes: number
  /** How many answers read it. */
  readers: number
  /** Resolves to whether it was made. */
  made: Promise<boolean>
}

export class LargeTexts {
  readonly #max: number
  readonly #removed: RemovedTasks
  /** What the JSON of large answers shows. */
  readonly #shown = new WeakMap<object, readonly Shown[]>()
  readonly #byValue = new WeakMap<object, SharedText>()
  /** Texts that no answer reads, the one read longest ago first. They stay for the next reader while there is room. */
  readonly #unread = new Set<SharedText>()
  readonly #encoded = new WeakMap<object, Encoded[]>()
  #bytes = 0
  readonly #encoder = new TextEncoder()

  /** @param max The bytes that shared texts may take, and those that removed tasks may take in memory. */
  constructor(max: number, isInMemory: IsInMemory) {
    this.#max = max
    this.#removed = new RemovedTasks(max, isInMemory)
  }

  /** Drops texts of removed tasks that have no reader, and answers that hold too much of them. */
  trim(): void {
    for (const text of this.#unread) if (text.shows.some((id) => this.#removed.has(id))) this.#drop(text)
    if (this.#removed.readings.size > 0) this.#removed.trim()
  }

  /**
   * Encodes `view`, as which clients see `answer` of an operation. A large task is encoded once for all answers of one kind,
   * and then frozen.
   */
  encode(encoder: Encoder, view: unknown, answer: unknown): JsonValue {
    const { task } = toView(view)
    const known =
      task && this.#encoded.get(task)?.find((each) => each.encoder === encoder && isSame(each.view, view))
    const made = known?.json.deref()
    const json = made ?? encoder.encode(view)
    if (typeof json !== 'object' || json === null || lengthUpTo(PIECE_LENGTH, json) <= PIECE_LENGTH)
      return json
    if (task !== undefined && made === undefined) {
      Object.freeze(json)
      this.#remember(task, encoder, toView(view), json)
    }
    this.#shown.set(json, shownIn(answer))
    return json
  }

  /** Whether JSON that was encoded here is so long that its text is made in pieces; also within a response of JSON-RPC. */
  isLarge(json: ReadonlyJson): boolean {
    return this.#shownBy(json) !== undefined
  }

  /** The text of a large value between `head` and `tail`. */
  async of(value: ReadonlyJson, head = '', tail = ''): Promise<LargeText> {
    let parts = 0
    for (const steps = measure(value); steps.next().done !== true;) {
      parts += 1
      if (parts % PARTS_AT_A_TIME === 0) await yieldToEventLoop()
    }
    const shared: SharedText[] = []
    const shown = this.#shownBy(value) ?? []
    const shows = shown.map(({ taskId, createdAt }) => ({ taskId, createdAt }))
    for (const part of frozenParts(value)) {
      const isNew = !this.#byValue.has(part)
      const text = this.#share(part, shows)
      if (text === undefined) continue
      if (isNew) parts += 1
      text.readers += 1
      this.#unread.delete(text)
      shared.push(text)
      if (isNew && parts % PARTS_AT_A_TIME === 0) await yieldToEventLoop()
    }
    const made = new Map<object, readonly Uint8Array[]>()
    // In turn: each is made beside other work.
    for (const text of shared) if (await text.made) made.set(text.value, text.pieces)
    const text = new LargeText(
      jsonPieces(value, (part) => made.get(part), head, tail),
      () => {
        endReading()
        for (const each of shared) this.#leave(each)
      },
    )
    const endReading = this.#removed.read(shown, () => text.drop())
    this.trim()
    return text
  }

  /** JSON-RPC has the JSON of the answer within its own. */
  #shownBy(value: ReadonlyJson): readonly Shown[] | undefined {
    if (typeof value !== 'object' || value === null) return undefined
    const { result } = value as { readonly result?: unknown }
    const inner = typeof result === 'object' && result !== null ? this.#shown.get(result) : undefined
    return this.#shown.get(value) ?? inner
  }

  #remember(task: object, encoder: Encoder, of: View, json: JsonValue & object): void {
    const { type, historyLength, artifacts, isResync, last } = of
    const view = { type, historyLength, artifacts, isResync, last }
    const others = (this.#encoded.get(task) ?? []).filter((each) => each.json.deref() !== undefined)
    this.#encoded.set(task, [...others.slice(1 - MAX_ENCODED), { encoder, view, json: new WeakRef(json) }])
  }

  /** The text of a value, which may be yet to make; `undefined` where there is no room for it. */
  #share(value: object & ReadonlyJson, shows: readonly TaskId[]): SharedText | undefined {
    const known = this.#byValue.get(value)
    if (known !== undefined) return known
    const bytes = lengthUpTo(this.#max, value)
    if (!this.#makeRoom(bytes)) return undefined
    this.#bytes += bytes
    const text: SharedText = { value, shows, pieces: [], bytes, readers: 0, made: Promise.resolve(false) }
    text.made = this.#make(text, value)
    this.#byValue.set(value, text)
    return text
  }

  /** Makes the whole text. Its true size is known only then: escapes and other alphabets make it larger. */
  async #make(text: SharedText, value: ReadonlyJson): Promise<boolean> {
    let size = 0
    for (const piece of jsonPieces(value)) {
      const bytes = typeof piece === 'string' ? this.#encoder.encode(piece) : piece
      size += bytes.byteLength
      if (size > text.bytes && !this.#grow(text, size)) return false
      text.pieces.push(bytes)
      if (text.pieces.length % PIECES_AT_A_TIME === 0) await yieldToEventLoop()
    }
    return true
  }

  #grow(text: SharedText, size: number): boolean {
    const more = size - text.bytes
    if (this.#makeRoom(more)) {
      text.bytes += more
      this.#bytes += more
      return true
    }
    this.#drop(text)
    return false
  }

  #makeRoom(bytes: number): boolean {
    for (const text of this.#unread) {
      if (this.#bytes + bytes <= this.#max) break
      this.#drop(text)
    }
    return this.#bytes + bytes <= this.#max
  }

  #drop(text: SharedText): void {
    this.#unread.delete(text)
    this.#byValue.delete(text.value)
    this.#bytes -= text.bytes
    text.bytes = 0
    text.pieces.length = 0
  }

  #leave(text: SharedText): void {
    text.readers -= 1
    if (text.readers === 0 && this.#byValue.get(text.value) === text) this.#unread.add(text)
  }
}

/** The large frozen values within `value`, none within another. Snapshots are frozen at all depths. */
function* frozenParts(value: ReadonlyJson): Generator<object & ReadonlyJson, void> {
  if (typeof value !== 'object' || value === null) return
  if (lengthUpTo(PIECE_LENGTH, value) <= PIECE_LENGTH) return
  if (Object.isFrozen(value)) yield value
  else for (const part of Object.values<ReadonlyJson>(value)) yield* frozenParts(part)
}

function toView(view: unknown): View {
  return typeof view === 'object' && view !== null ? view : {}
}

function isSame(view: Omit<View, 'task'>, other: unknown): boolean {
  const { type, historyLength, artifacts, isResync, last } = toView(other)
  return (
    view.type === type &&
    view.historyLength === historyLength &&
    view.artifacts === artifacts &&
    view.isResync === isResync &&
    view.last === last
  )
}
