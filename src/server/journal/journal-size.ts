/**
 * The size of the journal of one turn, and its limits.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JournalEntry } from '../../core/events.js'
import { isSpentInStep } from '../../core/history/named-entry.js'
import { jsonSize } from '../../core/json.js'

export interface JournalLimits {
  readonly maxSteps: number
  readonly maxJournalBytes: number
}

/** Entries that end what is under way. */
const ENDS: readonly JournalEntry['kind'][] = [
  'step',
  'wake',
  'received',
  'answer',
  'withdrawn',
  'handle',
  'delegated',
]

export class JournalSize {
  readonly #limits: JournalLimits
  #steps = 0
  #bytes = 0
  /** A step was refused: nothing else may begin, since a replay calls the step again where the journal ends. */
  #full: A2AError<'LIMIT_EXCEEDED'> | undefined
  /** An entry was refused: nothing after it may have one, since a replay could not pass it. */
  #exceeded: A2AError<'LIMIT_EXCEEDED'> | undefined

  /** @param entries - The journal so far. */
  constructor(limits: JournalLimits, entries: readonly JournalEntry[]) {
    this.#limits = limits
    for (const entry of entries) {
      if (entry.kind === 'step') this.#steps += 1
      this.count(entry)
    }
  }

  /**
   * Counts a step that begins.
   *
   * @throws {A2AError} `LIMIT_EXCEEDED` when the turn can have no further step.
   */
  beginStep(): void {
    const { maxSteps } = this.#limits
    if (this.#steps >= maxSteps)
      this.#full ??= tooLong('Steps of the turn', 'maxSteps', maxSteps, this.#steps + 1)
    const refusal = this.#exceeded ?? this.#full
    if (refusal !== undefined) throw refusal
    this.#steps += 1
  }

  /**
   * Counts an entry that is about to be recorded.
   *
   * @throws {A2AError} `LIMIT_EXCEEDED`.
   */
  add(entry: JournalEntry): void {
    this.#bytes = this.requireRoom(entry)
  }

  /**
   * @returns The bytes of the journal with the entry.
   * @throws {A2AError} `LIMIT_EXCEEDED` when the journal can have no such entry.
   */
  requireRoom(entry: JournalEntry): number {
    const { maxJournalBytes } = this.#limits
    const actual = this.#bytes + jsonSize(entry)
    if (actual > maxJournalBytes)
      this.#exceeded ??= tooLong('Bytes of the journal', 'maxJournalBytes', maxJournalBytes, actual)
    const isEnd = ENDS.includes(entry.kind) || isSpentInStep(entry)
    const refusal = this.#exceeded ?? (isEnd ? undefined : this.#full)
    if (refusal !== undefined) throw refusal
    return actual
  }

  /** Counts the bytes of an entry that is recorded. */
  count(entry: JournalEntry): void {
    this.#bytes += jsonSize(entry)
  }
}

function tooLong(subject: string, limit: string, max: number, actual: number): A2AError<'LIMIT_EXCEEDED'> {
  const text = `${subject} (${actual}) exceed limits.${limit} (${max}): end the turn, or go on with run.continueAs()`
  return new A2AError('LIMIT_EXCEEDED', text, { limit: `limits.${limit}`, max, actual })
}
