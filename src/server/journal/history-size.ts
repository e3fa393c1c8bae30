/**
 * The size of the history of one turn, and its limits.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { HistoryEntry } from '../../core/events.js'
import { jsonSize } from '../../core/json.js'

export interface HistoryLimits {
  readonly maxSteps: number
  readonly maxHistoryBytes: number
}

/** Entries that end what is under way. */
const ENDS: readonly HistoryEntry['kind'][] = ['step', 'wake', 'received', 'answer', 'handle', 'delegated']

export class HistorySize {
  readonly #limits: HistoryLimits
  #steps = 0
  #bytes = 0
  /** A step was refused: nothing else may begin, since a replay calls the step again where the history ends. */
  #full: A2AError<'LIMIT_EXCEEDED'> | undefined
  /** An entry was refused: nothing after it may have one, since a replay could not pass it. */
  #exceeded: A2AError<'LIMIT_EXCEEDED'> | undefined

  /** @param entries - The history so far. */
  constructor(limits: HistoryLimits, entries: readonly HistoryEntry[]) {
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

  /** @throws {A2AError} `LIMIT_EXCEEDED` when the history can have no such entry. */
  requireRoom(entry: HistoryEntry): void {
    const { maxHistoryBytes } = this.#limits
    const actual = this.#bytes + jsonSize(entry)
    if (actual > maxHistoryBytes)
      this.#exceeded ??= tooLong('Bytes of the history', 'maxHistoryBytes', maxHistoryBytes, actual)
    const refusal = this.#exceeded ?? (ENDS.includes(entry.kind) ? undefined : this.#full)
    if (refusal !== undefined) throw refusal
  }

  /** Counts the bytes of an entry that is recorded. */
  count(entry: HistoryEntry): void {
    this.#bytes += jsonSize(entry)
  }
}

function tooLong(subject: string, limit: string, max: number, actual: number): A2AError<'LIMIT_EXCEEDED'> {
  const text = `${subject} (${actual}) exceed limits.${limit} (${max}): end the turn, or go on with run.continueAs()`
  return new A2AError('LIMIT_EXCEEDED', text, { limit: `limits.${limit}`, max, actual })
}
