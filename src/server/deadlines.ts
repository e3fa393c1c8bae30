/**
 * When tasks have to have ended at the latest.
 *
 * @module
 */
import type { Clock } from '../core/ports.js'

/** One for each task, whoever works on it, and while nobody does. */
export class Deadlines {
  readonly #clock: Clock
  readonly #stops = new Map<string, () => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Calls `onTime` in `timeoutMs`, unless {@link clear} is called before. */
  set(taskId: string, timeoutMs: number, onTime: () => void): void {
    const stop = this.#clock.schedule(() => {
      this.#stops.delete(taskId)
      onTime()
    }, timeoutMs)
    this.#stops.set(taskId, stop)
  }

  clear(taskId: string): void {
    this.#stops.get(taskId)?.()
    this.#stops.delete(taskId)
  }

  close(): void {
    for (const taskId of [...this.#stops.keys()]) this.clear(taskId)
  }
}
