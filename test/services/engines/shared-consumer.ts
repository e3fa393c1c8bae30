/**
 * The workers of the suite, behind the one consumer that an engine allows a process.
 *
 * @module
 */
import type { QueueConsumer, QueueUnderTest } from '../../../src/testing/index.js'
import type { Turn } from '../../../src/server/index.js'
import type { Recipe } from './recipe.js'

type Run = Parameters<QueueUnderTest['consume']>[0]

/** Gives each turn to the next worker. Without one, a turn waits for it, and is dropped when the test ends. */
export class SharedConsumer {
  readonly #recipe: Recipe
  readonly #workers: Run[] = []
  readonly #waiting = new Set<() => void>()
  #next = 0
  #isClosed = false
  #stop: () => Promise<unknown> = () => Promise.resolve()

  private constructor(recipe: Recipe) {
    this.#recipe = recipe
  }

  static async open(recipe: Recipe, whenConsuming: () => Promise<void>): Promise<SharedConsumer> {
    const shared = new SharedConsumer(recipe)
    shared.#stop = await recipe.consume((turn) => shared.#deliver(turn))
    await whenConsuming()
    return shared
  }

  consume(run: Run): Promise<QueueConsumer> {
    const delivered = new Set<Promise<void>>()
    const worker: Run = (turn) => {
      const running = run(turn).finally(() => delivered.delete(running))
      delivered.add(running)
      return running
    }
    this.#workers.push(worker)
    this.#wake()
    const close = async (): Promise<void> => {
      this.#workers.splice(this.#workers.indexOf(worker), 1)
      await Promise.allSettled(delivered)
    }
    return Promise.resolve({ close })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wake()
    await this.#stop()
    await this.#recipe.close()
  }

  async #deliver(turn: Turn): Promise<void> {
    while (this.#workers.length === 0) {
      if (this.#isClosed) return
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
    this.#next += 1
    await this.#workers[this.#next % this.#workers.length]?.(turn)
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}
