/**
 * Attempts that concurrent calls for one task share.
 *
 * @module
 */
export class SharedAttempts {
  readonly #running = new Map<string, Promise<void>>()

  /** Makes the attempt, or waits for the one that is under way. */
  async run(taskId: string, attempt: () => Promise<void>): Promise<void> {
    const running = this.#running.get(taskId) ?? attempt()
    this.#running.set(taskId, running)
    try {
      await running
    } finally {
      this.#running.delete(taskId)
    }
  }
}
