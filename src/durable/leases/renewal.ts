/**
 * Renewing the leases that this process holds.
 *
 * @module
 */
import type { Deadline } from '../../core/timeline.js'
import { hasEnded, type Held } from './leased-task.js'
import type { Workshop } from '../context.js'

/** Three times as often as they run out. Rests while none is held. */
export class Heartbeat<S extends string> {
  readonly #shop: Workshop<S>
  readonly #held: ReadonlyMap<string, Held<S>>
  readonly #onMissed: (held: Held<S>) => Promise<void>
  #deadline: Deadline | undefined
  #isBeating = false
  #isStopped = false

  /** @param onMissed - Is told of a lease that the task does not have any more. */
  constructor(
    shop: Workshop<S>,
    held: ReadonlyMap<string, Held<S>>,
    onMissed: (held: Held<S>) => Promise<void>,
  ) {
    this.#shop = shop
    this.#held = held
    this.#onMissed = onMissed
  }

  /** There is something to renew. */
  begin(): void {
    if (this.#isStopped || this.#isBeating || this.#held.size === 0) return
    const { timeline, settings } = this.#shop
    this.#deadline ??= timeline.add(settings.leaseMs / 3, () => void this.#beat())
  }

  stop(): void {
    this.#isStopped = true
    if (this.#deadline !== undefined) this.#shop.timeline.remove(this.#deadline)
  }

  async #beat(): Promise<void> {
    this.#deadline = undefined
    this.#isBeating = true
    const { access, settings } = this.#shop
    const all = [...this.#held.values()].filter(({ mirror }) => mirror.isStored && !hasEnded(mirror))
    const leases = all.map(({ mirror, leaseId }) => ({ key: mirror.key, id: leaseId }))
    const renew = (): Promise<readonly string[]> => settings.store.renew(leases, settings.leaseMs)
    // A store that does not answer is asked again while the leases last.
    const once = (): Promise<readonly string[]> => access.once('renew', renew, settings.leaseMs / 3)
    const renewed = leases.length === 0 ? [] : await once().catch(access.report)
    this.#isBeating = false
    this.begin()
    if (renewed === undefined) return
    const ids = new Set(renewed)
    for (const held of all) if (!ids.has(held.leaseId)) await this.#onMissed(held).catch(access.report)
  }
}
