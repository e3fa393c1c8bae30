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

export class HistorySize {
  readonly #limits: HistoryLimits
  #steps = 0
  #bytes = 0
  /** What was refused has no entry. So nothing after it may have one: a replay could not pass it. */
  #exceeded: A2AError<'LIMIT_EXCEEDED'> | undefined

  /** @param entries - The history so far. */
  constructor(limits: HistoryLimits, entries: readonly HistoryEntry[]) {
    this.#limits = limits
    for (const entry of entries) this.count(entry)
  }

  /** @throws {A2AError} `LIMIT_EXCEEDED` when the turn can have no further step. */
  requireStep(): void {
    const { maxSteps } = this.#limits
    if (this.#steps >= maxSteps)
      this.#exceeded ??= tooLong('Steps of the turn', 'maxSteps', maxSteps, this.#steps + 1)
    this.#requireOpen()
  }

  /** @throws {A2AError} `LIMIT_EXCEEDED` when the history can have no such entry. */
  requireRoom(entry: HistoryEntry): void {
    const { maxHistoryBytes } = this.#limits
    const actual = this.#bytes + jsonSize(entry)
    if (actual > maxHistoryBytes)
      this.#exceeded ??= tooLong('Bytes of the history', 'maxHistoryBytes', maxHistoryBytes, actual)
    this.#requireOpen()
  }

  #requireOpen(): void {
    if (this.#exceeded !== undefined) throw this.#exceeded
  }

  /** Counts an entry that is recorded. */
  count(entry: HistoryEntry): void {
    if (entry.kind === 'step') this.#steps += 1
    this.#bytes += jsonSize(entry)
  }
}

function tooLong(subject: string, limit: string, max: number, actual: number): A2AError<'LIMIT_EXCEEDED'> {
  return new A2AError('LIMIT_EXCEEDED', `${subject} (${actual}) exceed limits.${limit} (${max})`, {
    limit: `limits.${limit}`,
    max,
    actual,
  })
}
