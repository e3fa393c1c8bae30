/**
 * Periodic renewal of the leases that this process holds.
 *
 * @module
 */
import type { Deadline } from '../../core/timeline.js'
import type { DurableContext } from '../context.js'
import type { LeasedTask } from './leased-task.js'
import { isRefusal } from '../store-client.js'

/** The pause before a renewal is repeated that the store has not taken. */
const RETRY_MS = 1_000

/** Renews all leases together, every third of `leaseMs`. Idle while no lease is held. */
export class LeaseRenewal<S extends string> {
  readonly #context: DurableContext<S>
  readonly #leased: ReadonlyMap<string, LeasedTask<S>>
  readonly #onMissed: (leased: LeasedTask<S>) => Promise<void>
  #deadline: Deadline | undefined
  #isRenewing = false
  #isStopped = false

  /** @param onMissed - Called for a lease that the task no longer has. */
  constructor(
    context: DurableContext<S>,
    leased: ReadonlyMap<string, LeasedTask<S>>,
    onMissed: (leased: LeasedTask<S>) => Promise<void>,
  ) {
    this.#context = context
    this.#leased = leased
    this.#onMissed = onMissed
  }

  /** Schedules the next renewal, if leases are held and none is scheduled. */
  begin(): void {
    this.#schedule(this.#context.settings.leaseMs / 3)
  }

  stop(): void {
    this.#isStopped = true
    if (this.#deadline !== undefined) this.#context.timeline.remove(this.#deadline)
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped || this.#isRenewing || this.#leased.size === 0) return
    this.#deadline ??= this.#context.timeline.add(delayMs, () => void this.#renewAll())
  }

  async #renewAll(): Promise<void> {
    this.#deadline = undefined
    this.#isRenewing = true
    const { storeClient, settings } = this.#context
    const startedAt = storeClient.now()
    const all = [...this.#leased.values()].filter(({ cached }) => cached.isStored && !cached.hasEnded)
    const leases = all.map(({ cached, leaseId }) => ({ key: cached.key, id: leaseId }))
    const renew = (): Promise<readonly string[]> => settings.store.renew(leases, settings.leaseMs)
    // The limit leaves time for one more renewal before the leases expire, which begins as soon as this one has failed.
    const renewOnce = (): Promise<readonly string[]> => storeClient.call('renew', renew, settings.leaseMs / 3)
    const renewed = leases.length === 0 ? [] : await renewOnce().catch(storeClient.report)
    this.#isRenewing = false
    // The first call that a store takes again should be this one, and not the recovery by another process.
    const everyMs = renewed === undefined ? Math.min(RETRY_MS, settings.leaseMs / 3) : settings.leaseMs / 3
    this.#schedule(Math.max(0, startedAt + everyMs - storeClient.now()))
    if (renewed === undefined) return
    const ids = new Set(renewed)
    for (const leased of all) {
      if (ids.has(leased.leaseId)) leased.renewedAt = startedAt
      else await this.#onMissed(leased).catch(storeClient.report)
    }
  }
}

/**
 * Renews a lease that is so old that another process may have acquired the task, as after this one was suspended. Waits for a
 * store that takes no changes.
 *
 * @param onMissed - Called when the task does not have the lease any more.
 * @returns `undefined` for a lease that is younger. Rejects with the reason if the task was lost.
 */
export function requireLease<S extends string>(
  { storeClient, settings }: DurableContext<S>,
  leased: LeasedTask<S>,
  onMissed: () => Promise<void>,
): Promise<void> | undefined {
  const { cached, leaseId } = leased
  const { store, leaseMs } = settings
  if (storeClient.now() - leased.renewedAt < leaseMs || !cached.isStored || cached.hasEnded) return undefined
  const renewOnce = async (): Promise<void> => {
    const startedAt = storeClient.now()
    const lease = { key: cached.key, id: leaseId }
    const renewed = await storeClient.callWithRetry('renew', () => store.renew([lease], leaseMs))
    if (renewed.includes(leaseId)) leased.renewedAt = startedAt
    else await onMissed()
  }
  const renew = async (): Promise<void> => {
    for (let isDone = false; !isDone && leased.reason === undefined;) {
      try {
        await renewOnce()
        isDone = true
      } catch (error) {
        if (isRefusal(error) || storeClient.isClosing) throw error
        storeClient.report(error)
        await storeClient.pause(RETRY_MS)
      }
    }
    if (leased.reason !== undefined) throw leased.reason
  }
  return renew()
}
