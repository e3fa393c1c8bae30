/**
 * Memory that runs and queues keep of requests beside the messages, whose bytes the manager of the tasks counts.
 *
 * @module
 */
import { sizeOf } from '../../core/json.js'
import { heapLimitBytes } from '../../runtime/environment.js'
import type { SendRequest } from '../../wire/dialect.js'
import { unavailable } from '../unavailable.js'

type Kept = Pick<SendRequest, 'metadata' | 'acceptedOutputModes' | 'pushConfig'>

const SHARE_OF_HEAP = 1 / 8
/** Several times what one body of the default size takes. */
const MIN_BYTES = 33_554_432
/** Half of the room is left to requests that keep no more than this, as most do. */
const SMALL = 4_096

export class HeldRequests {
  readonly #max: number
  #cost = 0

  /** @param max The bytes of heap. Default is an eighth of its limit. */
  constructor(max = Math.max(MIN_BYTES, Math.floor((heapLimitBytes() ?? 0) * SHARE_OF_HEAP))) {
    this.#max = max
  }

  /** @throws {A2AError} `UNAVAILABLE` when this request would keep too much. */
  requireRoom(request: Kept): void {
    const cost = costOf(request)
    const max = cost > SMALL ? this.#max / 2 : this.#max
    if (cost > 0 && this.#cost + cost > max) throw unavailable('keeps too much of other requests')
  }

  add({ request }: { readonly request: Kept }): void {
    this.#cost += costOf(request)
  }

  /** For a request that was added. */
  remove({ request }: { readonly request: Kept }): void {
    this.#cost -= costOf(request)
  }
}

/** The estimated bytes of heap. */
function costOf({ metadata, acceptedOutputModes, pushConfig }: Kept): number {
  if (metadata === undefined && acceptedOutputModes.length === 0 && pushConfig === undefined) return 0
  return sizeOf([metadata ?? null, acceptedOutputModes, pushConfig ?? null]).cost
}
