/**
 * Memory that webhooks take in this process.
 *
 * @module
 */
import { sizeOf } from '../../core/json.js'
import { heapLimitBytes } from '../../runtime/environment.js'
import type { PushConfig } from '../../wire/dialect.js'
import { unavailable } from '../unavailable.js'

const SHARE_OF_HEAP = 1 / 8
const MIN_BYTES = 16_777_216
/** Half of the room is left to configurations that take no more than this, as most do. */
const SMALL = 4_096
/** What the delivery to a webhook takes beside its configuration. */
const DELIVERY = 4_096

/** Counts the configurations of deliveries. Documents that are kept in memory count themselves. */
export class WebhookMemory {
  readonly #max: number
  readonly #documents: { readonly cost?: number }
  #cost = 0

  /**
   * @param documents - Have a `cost` where they are in memory.
   * @param max - The bytes of heap. Default is an eighth of its limit.
   */
  constructor(
    documents: object,
    max = Math.max(MIN_BYTES, Math.floor((heapLimitBytes() ?? 0) * SHARE_OF_HEAP)),
  ) {
    this.#documents = documents
    this.#max = max
  }

  /** @throws {A2AError} `UNAVAILABLE` when this webhook would take too much. */
  requireRoom(config: PushConfig): void {
    if (!this.hasRoom(config)) throw unavailable('keeps too many webhooks')
  }

  hasRoom(config: PushConfig): boolean {
    const { cost: configCost } = sizeOf(config)
    const max = configCost > SMALL ? this.#max / 2 : this.#max
    return this.#cost + (this.#documents.cost ?? 0) + configCost + DELIVERY <= max
  }

  add(config: PushConfig): void {
    this.#cost += sizeOf(config).cost + DELIVERY
  }

  /** For a configuration that was added. */
  remove(config: PushConfig): void {
    this.#cost -= sizeOf(config).cost + DELIVERY
  }
}
