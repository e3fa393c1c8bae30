/**
 * Memory that webhooks take in this process.
 *
 * @module
 */
import { sizeOf } from '../../core/json.js'
import { HeapBudget } from '../../runtime/heap-budget.js'
import type { PushConfig } from '../../wire/dialect.js'
import { unavailable } from '../unavailable.js'

const MIN_BYTES = 16_777_216
/** What the delivery to a webhook takes beside its configuration. */
const DELIVERY = 4_096
const SMALL = DELIVERY + 4_096

/** Counts the configurations of deliveries. Documents that are kept in memory count themselves. */
export class WebhookMemory {
  readonly #budget: HeapBudget
  readonly #documents: { readonly cost?: number }

  /**
   * @param documents - Have a `cost` where they are in memory.
   * @param max - The bytes of heap. Default is an eighth of its limit.
   */
  constructor(documents: object, max?: number) {
    this.#budget = new HeapBudget({ min: MIN_BYTES, small: SMALL, max })
    this.#documents = documents
  }

  /** @throws {A2AError} `UNAVAILABLE` when this webhook would take too much. */
  requireRoom(config: PushConfig): void {
    if (!this.hasRoom(config)) throw unavailable('keeps too many webhooks')
  }

  hasRoom(config: PushConfig): boolean {
    return this.#budget.hasRoom(costOf(config), this.#documents.cost)
  }

  add(config: PushConfig): void {
    this.#budget.add(costOf(config))
  }

  /** For a configuration that was added. */
  remove(config: PushConfig): void {
    this.#budget.remove(costOf(config))
  }
}

function costOf(config: PushConfig): number {
  return sizeOf(config).cost + DELIVERY
}
