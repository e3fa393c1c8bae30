/**
 * Journal of a turn: what the journal of its earlier attempts holds, and what this attempt records.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JournalEntry, JournalRecorded } from '../../core/events.js'
import { isNamed, isSpentInStep, type NamedEntry } from '../../core/history/named-entry.js'
import { JournalSize } from './journal-size.js'
import type { TurnPort } from './turn-port.js'
import type { Whereabouts } from './writes/sent-writes.js'
import type { StepScopes } from './writes/step-scopes.js'

/** So long parallel code may take until it calls the next entry of the journal, in ms. */
const STALL_MS = 600_000
/** As {@link STALL_MS}, after the end of the run. */
const STALL_AFTER_END_MS = 5_000

/** What code waits for in a replay. */
interface Held {
  readonly deliver: (entry: NamedEntry | undefined) => void
  readonly fail: (error: Error) => void
}

export type Kind = NamedEntry['kind']

/** What ends with an entry, by its kind: the kind of the entry with which that has begun. */
const BEGINS: ReadonlyMap<Kind, Kind> = new Map([
  ['wake', 'sleep'],
  ['received', 'wait'],
  ['delegated', 'delegate'],
  ['answer', 'question'],
  ['withdrawn', 'question'],
])
type EntryOf<K extends Kind> = Extract<
  NamedEntry,
  { readonly kind: K extends 'answer' ? K | 'withdrawn' : K }
>
type TurnEntry = Extract<JournalEntry, { readonly kind: 'turn' }>

interface Recorded {
  readonly event: JournalRecorded
  readonly entry: NamedEntry
}

/**
 * Replays the journal of a turn to code that asks for the same things again, in the order of the log. While entries are left,
 * the code is where an earlier attempt has been. Then it records.
 *
 * Steps and answers are delivered in the order of the log, so that parallel branches of the code continue in the order in
 * which they did before. What the journal does not hold waits until all of it is delivered. Other entries are passed as soon
 * as the code asks for them.
 */
export class Journal {
  readonly #port: TurnPort
  readonly #turn: TurnEntry
  readonly #size: JournalSize
  /** `undefined` for entries that were passed. */
  readonly #recorded: (Recorded | undefined)[] = []
  readonly #positions = new Map<string, number>()
  /** The position of the first entry that was not passed. */
  #first = 0
  #left = 0
  /** How many entries were passed to code that has not continued with them yet. */
  #arriving = 0
  /** How many of them are of parallel code. */
  #arrivingAmong = 0
  readonly #counts = new Map<string, number>()
  /** What the code waits for, by key. */
  readonly #held = new Map<string, Held>()
  /** The position of the first entry of parallel code. From there on, the code may have branches, each with its own speed. */
  readonly #firstParallel: number
  /** The position of the last entry of parallel code. After it, the branches are one again. */
  readonly #lastParallel: number
  #stopStall = (): void => {}
  /** The run is over. */
  #dropped: { readonly reason: Error | undefined } | undefined
  #inFlight = 0
  #begun = 0
  /** How many steps, questions and waits were asked for in this tick, and are not under way yet. */
  #asked = 0
  /** The steps whose work is under way. */
  readonly scopes: StepScopes
  readonly #onFlight: () => void
  #hasTurn: boolean
  /** How many messages the code has read, and the position of the entry before which it did. */
  readonly #reads: { readonly position: number; readonly count: number }[] = []
  #latestAnswer: string | undefined
  #mismatch: A2AError<'JOURNAL_MISMATCH'> | undefined

  /**
   * @param turn - The entry that begins the journal of a new turn.
   * @param context.onFlight - Called when {@link inFlight} has changed.
   */
  constructor(
    port: TurnPort,
    turn: TurnEntry,
    { scopes, onFlight }: { readonly scopes: StepScopes; readonly onFlight: () => void },
  ) {
    this.#port = port
    this.#turn = turn
    this.scopes = scopes
    this.#onFlight = onFlight
    const journal = port.earlier?.journal ?? []
    this.#hasTurn = journal.length > 0
    for (const event of journal) {
      const { entry } = event
      if (entry.kind === 'read') this.#reads.push({ position: this.#recorded.length, count: entry.count })
      if (!isNamed(entry)) continue
      this.#positions.set(keyOfEntry(entry), this.#recorded.length)
      this.#recorded.push({ event, entry })
    }
    this.#left = this.#recorded.length
    this.#size = new JournalSize(port.settings.limits, journal.map(({ entry }) => entry).filter(isCounted))
    const isParallel = (each: Recorded | undefined): boolean => each?.entry.isParallel === true
    const firstParallel = this.#recorded.findIndex(isParallel)
    this.#firstParallel = firstParallel === -1 ? Infinity : firstParallel
    this.#lastParallel = Math.max(this.#recorded.findLastIndex(isParallel), this.#lastBeside())
  }

  /** Whether the journal holds entries that the code has not asked for yet. */
  get isReplaying(): boolean {
    return this.#left > 0
  }

  /**
   * Whether an earlier attempt has been where the code is. The code that follows a call runs before the code that awaits it: it
   * comes before the entry.
   */
  get isRepeating(): boolean {
    return this.#left + this.#arriving > 0
  }

  /** Where the code is in the journal. */
  get whereabouts(): Whereabouts {
    if (!this.isRepeating) return 'past'
    const hasBranches = this.#first > this.#firstParallel
    const isAmong = this.#first <= this.#lastParallel || this.#arrivingAmong > 0
    return hasBranches && isAmong ? 'among' : 'before'
  }

  /** Whether entries are stored. */
  get isRecording(): boolean {
    return this.#port.record !== undefined
  }

  /** Whether the journal has a question without an answer that the code has not come to yet. */
  get hasOpenQuestion(): boolean {
    const isOpen = (entry: NamedEntry | undefined): boolean =>
      entry?.kind === 'question' && !this.#positions.has(keyOf('answer', entry.name))
    return this.#recorded.some((each) => isOpen(each?.entry))
  }

  /** How many steps, questions and waits of the code are under way. */
  get inFlight(): number {
    return this.#inFlight
  }

  /** The name with its occurrence: `price#1`, then `price#2`. */
  nameOf(kind: Kind, name: string): string {
    const key = keyOf(kind, name)
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    return `${name}#${count}`
  }

  /** Whether the journal has an entry for the next call of this name. */
  hasNext(kind: Kind, name: string): boolean {
    const count = this.#counts.get(keyOf(kind, name)) ?? 0
    return this.#positions.has(keyOf(kind, `${name}#${count + 1}`))
  }

  /**
   * How many messages of the conversation the code sees. In a replay: those that it had read before the entry that comes next,
   * and at least `first`. Then: all, which is recorded unless something is under way, whose work a replay may not call.
   */
  see(all: number, first: number): number {
    const reads = this.isReplaying
      ? this.#reads.filter(({ position }) => position <= this.#first)
      : this.#reads
    const known = reads.at(-1)?.count ?? first
    if (this.isReplaying) return known
    if (all > known && this.#inFlight + this.#asked === 0) {
      this.#reads.push({ position: this.#recorded.length, count: all })
      this.record({ kind: 'read', count: all })
    }
    return all
  }

  /** The id of the message that answered the latest question which the replay has passed. */
  get latestAnswer(): string | undefined {
    return this.#latestAnswer
  }

  /** Passes the entry, if the journal holds it. */
  pass<K extends Kind>(kind: K, name: string): EntryOf<K> | undefined {
    const position = this.#positions.get(keyOf(kind, name)) ?? -1
    const entry = this.#recorded[position]?.entry
    if (entry === undefined) return undefined
    this.#passAt(position)
    this.#advance()
    // The key contains the kind.
    return entry as EntryOf<K>
  }

  /** Passes the entry if it is the next one of the log. */
  take<K extends Kind>(kind: K, name: string): EntryOf<K> | undefined {
    const isNext = this.#positions.get(keyOf(kind, name)) === this.#first
    if (!isNext) return undefined
    this.#arrive(this.#first)
    return this.pass(kind, name)
  }

  /** The code continues with an entry in a microtask after this one. */
  #arrive(position: number): void {
    const among = position >= this.#firstParallel && position <= this.#lastParallel ? 1 : 0
    this.#arriving += 1
    this.#arrivingAmong += among
    void Promise.resolve().then(() => {
      this.#arriving -= 1
      this.#arrivingAmong -= among
    })
  }

  /** The position of the last end of a wait, question or delegation beside which other code went on. */
  #lastBeside(): number {
    const isBeside = ({ entry }: Recorded, at: number): boolean => {
      const begin = BEGINS.get(entry.kind)
      const begun = begin && this.#positions.get(keyOf(begin, entry.name))
      const own = entry.kind === 'delegated' && this.#positions.has(keyOf('handle', entry.name)) ? 2 : 1
      return begun !== undefined && at - begun > own
    }
    return this.#recorded.findLastIndex((each, at) => each !== undefined && isBeside(each, at))
  }

  /**
   * Waits for the entry in its turn. Resolves to `undefined` when all entries were passed and this one is not among them.
   * Parallel code waits for its other branches.
   *
   * @param isParallel - Whether the code is known to be parallel, whatever the journal shows.
   * @throws {A2AError} `JOURNAL_MISMATCH`, as a rejection, when the journal shows that the code asked for something else here.
   */
  next<K extends 'step' | 'answer' | 'wake' | 'received' | 'delegated'>(
    kind: K,
    name: string,
    isParallel = false,
  ): Promise<EntryOf<K> | undefined> {
    const first = this.#recorded[this.#first]
    if (first === undefined) return this.#live()
    const key = keyOf(kind, name)
    const position = this.#positions.get(key) ?? -1
    const isFirst = position === this.#first
    const hasBranches = this.#first >= this.#firstParallel || this.#held.size > 0 || this.#inFlight > 0
    const mayWait = isParallel || hasBranches
    if (this.#mismatch !== undefined || (!isFirst && !mayWait))
      return Promise.reject(this.#mismatchAt(first, key))
    return new Promise((resolve, fail) => {
      // The key contains the kind.
      const deliver = (entry: NamedEntry | undefined): void => {
        if (entry !== undefined) this.#arrive(position)
        resolve(entry as EntryOf<K> | undefined)
      }
      this.#held.set(key, { deliver, fail })
      this.#advance()
    })
  }

  /**
   * What code asks for until it continues with this is parallel to it. Code that awaits it at once continues directly after it
   * is counted no more, with nothing in between.
   */
  #live(): Promise<undefined> {
    this.#asked += 1
    const live = Promise.resolve(undefined)
    void live.then(() => (this.#asked -= 1))
    return live
  }

  /**
   * Counts a step that begins.
   *
   * @throws {A2AError} `LIMIT_EXCEEDED` when the turn can have no further step.
   */
  beginStep(): void {
    if (this.isRecording) this.#size.beginStep()
  }

  /** How many steps, questions and waits have begun so far. */
  get begun(): number {
    return this.#begun
  }

  /** Counts a step, question or wait as under way, until the returned function is called. */
  enter(): () => void {
    this.#inFlight += 1
    this.#begun += 1
    this.#onFlight()
    return () => {
      this.#inFlight -= 1
      this.#onFlight()
    }
  }

  /**
   * The entries to record for one entry: the first one of a turn comes after the turn's own. Empty where none are stored.
   *
   * @throws {A2AError} `LIMIT_EXCEEDED`.
   */
  entriesFor(entry: JournalEntry, others = this.#inFlight + this.#asked): readonly JournalEntry[] {
    if (!this.isRecording) return []
    // What ends an attempt or a turn is recorded in any case.
    const complete = isNamed(entry) ? besideOthers(entry, others) : entry
    if (isCounted(complete)) this.#size.add(complete)
    if (this.#hasTurn) return [complete]
    this.#hasTurn = true
    return [this.#turn, complete]
  }

  /** The entry with which the journal begins. */
  get turn(): TurnEntry {
    return this.#turn
  }

  /** Records that the turn has begun, unless it has recorded something. */
  begin(): void {
    if (this.#hasTurn || !this.isRecording) return
    this.#hasTurn = true
    this.#port.record?.([this.#turn])
  }

  /**
   * The entry as it is stored, by other means than {@link record}. Call {@link count} when it is.
   *
   * @throws {A2AError} `LIMIT_EXCEEDED`.
   */
  complete(entry: NamedEntry, others: number): JournalEntry {
    const complete = besideOthers(entry, others)
    this.#size.requireRoom(complete)
    return complete
  }

  /** Counts an entry that was stored by other means. */
  count(entry: JournalEntry): void {
    this.#size.count(entry)
  }

  record(entry: JournalEntry, others?: number): void {
    this.store(this.entriesFor(entry, others))
  }

  /** Records what {@link entriesFor} has returned and counted. */
  store(entries: readonly JournalEntry[]): void {
    if (entries.length > 0) this.#port.record?.(entries)
  }

  /**
   * Records the end of the turn.
   *
   * @param unread - The ids of answers that the code has not read.
   * @param isNeeded - Whether to record it for a turn without a journal.
   */
  end(unread: readonly string[], isNeeded: boolean): void {
    if (this.#hasTurn || isNeeded) this.record({ kind: 'end', ...(unread.length > 0 && { unread }) })
  }

  /**
   * Requires that the code has asked for all that the journal holds.
   *
   * @throws {A2AError} `JOURNAL_MISMATCH`; also when it was thrown before.
   */
  requirePassed(asked: string): void {
    if (this.#mismatch !== undefined) throw this.#mismatch
    const first = this.#recorded[this.#first]
    if (first !== undefined) throw this.#mismatchAt(first, asked)
  }

  /** The run is over. Code that waits for the journal gets `reason`, or stays pending without one. */
  drop(reason?: Error): void {
    this.#dropped ??= { reason }
    this.#stopStall()
    this.#failHeld()
  }

  #failHeld(): void {
    const held = this.#removeHeld()
    const reason = this.#dropped?.reason
    if (reason !== undefined) for (const [, { fail }] of held) fail(reason)
  }

  #passAt(position: number): void {
    const entry = this.#recorded[position]?.entry
    if (entry?.kind === 'answer') this.#latestAnswer = entry.messageId
    this.#recorded[position] = undefined
    this.#left -= 1
    while (this.#first < this.#recorded.length && this.#recorded[this.#first] === undefined) this.#first += 1
  }

  /** Delivers the entries that the code waits for, in the order of the log. */
  #advance(): void {
    this.#stopStall()
    for (;;) {
      const first = this.#recorded[this.#first]
      if (first === undefined) break
      const key = keyOfEntry(first.entry)
      const held = this.#held.get(key)
      if (held === undefined) {
        if (this.#held.size > 0) this.#stopStall = this.#awaitNext(first)
        return
      }
      this.#held.delete(key)
      this.#passAt(this.#first)
      held.deliver(first.entry)
    }
    for (const [, { deliver }] of this.#removeHeld()) deliver(undefined)
  }

  /** Waits until the code asks for the entry that comes next. Its other branches may do so only after this tick. */
  #awaitNext(next: Recorded): () => void {
    const { clock } = this.#port.settings
    return this.#dropped === undefined
      ? clock.schedule(() => this.#stall(next), STALL_MS)
      : clock.schedule(() => this.#failHeld(), STALL_AFTER_END_MS)
  }

  /** Nothing asks for the entry that comes next: the code has changed. */
  #stall(next: Recorded): void {
    for (const [asked, { fail }] of this.#removeHeld()) fail(this.#mismatchAt(next, asked))
  }

  #removeHeld(): readonly (readonly [key: string, held: Held])[] {
    const held = [...this.#held]
    this.#held.clear()
    return held
  }

  #mismatchAt({ event, entry }: Recorded, asked: string): A2AError<'JOURNAL_MISMATCH'> {
    const recorded = `${entry.kind} ${entry.name}`
    const { generation } = event
    const text = `The journal has "${recorded}" at generation ${generation}, and execute() asked for "${asked}": use run.changed() where a deployed function changes`
    this.#mismatch ??= new A2AError('JOURNAL_MISMATCH', text, {
      taskId: this.#port.task().id,
      generation,
      recorded,
      asked,
    })
    return this.#mismatch
  }
}

function besideOthers(entry: NamedEntry, others: number): NamedEntry {
  return others > 0 ? { ...entry, isParallel: true } : entry
}

/** Whether the entry counts towards `limits.maxJournalBytes`. */
function isCounted(entry: JournalEntry): boolean {
  return isNamed(entry) || isSpentInStep(entry)
}

/** Code that asks finds its answer, or that it has withdrawn the question. */
function keyOfEntry({ kind, name }: NamedEntry): string {
  return keyOf(kind === 'withdrawn' ? 'answer' : kind, name)
}

function keyOf(kind: Kind, name: string): string {
  return `${kind} ${name}`
}
