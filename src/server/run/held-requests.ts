/**
 * Memory that runs and queues keep of requests beside the messages, whose bytes the manager of the tasks counts.
 *
 * @module
 */
import { sizeOf } from '../../core/json.js'
import { HeapBudget } from '../../runtime/heap-budget.js'
import type { SendRequest } from '../../wire/dialect.js'
import { unavailable } from '../unavailable.js'

type Kept = Pick<SendRequest, 'metadata' | 'acceptedOutputModes' | 'pushConfig'>

/** Several times what one body of the default size takes. */
const MIN_BYTES = 33_554_432
const SMALL = 4_096

export class HeldRequests {
  readonly #budget: HeapBudget

  /** @param max The bytes of heap. Default is an eighth of its limit. */
  constructor(max?: number) {
    this.#budget = new HeapBudget({ min: MIN_BYTES, small: SMALL, max })
  }

  /** @throws {A2AError} `UNAVAILABLE` when this request would keep too much. */
  requireRoom(request: Kept): void {
    const cost = costOf(request)
    if (cost > 0 && !this.#budget.hasRoom(cost)) throw unavailable('keeps too much of other requests')
  }

  add({ request }: { readonly request: Kept }): void {
    this.#budget.add(costOf(request))
  }

  /** For a request that was added. */
  remove({ request }: { readonly request: Kept }): void {
    this.#budget.remove(costOf(request))
  }
}

/** The estimated bytes of heap. */
function costOf({ metadata, acceptedOutputModes, pushConfig }: Kept): number {
  if (metadata === undefined && acceptedOutputModes.length === 0 && pushConfig === undefined) return 0
  return sizeOf([metadata ?? null, acceptedOutputModes, pushConfig ?? null]).cost
}
