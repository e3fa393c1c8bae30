/**
 * Budget for first deliveries: how many bytes of whole tasks clients may have sent by registering webhooks.
 *
 * @module
 */
import { elapsed, type Clock } from '../../runtime/clock.js'

/** Bytes per minute, for each task, each owner of tasks and each host of webhooks. */
export interface FirstDeliveryLimits {
  readonly perTask: number
  readonly perOwner: number
  readonly perHost: number
}

/** What one delivery is counted under. */
export interface BudgetKeys {
  readonly task: string
  readonly owner: string
  readonly host: string
}

/** How many tasks, owners and hosts are remembered, of each the ones that were charged last. */
const MAX_KEYS = 10_000
const MINUTE_MS = 60_000

/**
 * Three token buckets for each delivery: by task, by owner and by host. It belongs to no configuration, so that deleting
 * one and registering it again does not refill it.
 */
export class FirstDeliveries {
  readonly #buckets: Readonly<Record<keyof BudgetKeys, ByteBuckets>>

  constructor({ perTask, perOwner, perHost }: FirstDeliveryLimits, clock: Clock) {
    this.#buckets = {
      task: new ByteBuckets(perTask, clock),
      owner: new ByteBuckets(perOwner, clock),
      host: new ByteBuckets(perHost, clock),
    }
  }

  /** The time until a delivery may begin, in ms: 0 for now. */
  waitMs(keys: BudgetKeys): number {
    return Math.max(...this.#each(keys, (buckets, key) => buckets.waitMs(key)))
  }

  /** Calls `sleep` with the time until a delivery may begin; those that wait longer come later. */
  async wait(keys: BudgetKeys, sleep: (delayMs: number) => Promise<void>): Promise<void> {
    const turns = this.#each(keys, (buckets, key) => ({ buckets, key, delayMs: buckets.turnMs(key) }))
    const [first, ...others] = turns
    const latest = others.reduce((one, other) => (other.delayMs > one.delayMs ? other : one), first)
    const leave = latest.buckets.queue(latest.key)
    try {
      await sleep(latest.delayMs)
    } finally {
      leave()
    }
  }

  /** Counts a delivery of this size. The size is not known before, so one delivery may exceed what is left. */
  charge(keys: BudgetKeys, bytes: number): void {
    this.#each(keys, (buckets, key) => buckets.charge(key, bytes))
  }

  #each<T>({ task, owner, host }: BudgetKeys, visit: (buckets: ByteBuckets, key: string) => T): [T, T, T] {
    const { task: tasks, owner: owners, host: hosts } = this.#buckets
    return [visit(tasks, task), visit(owners, owner), visit(hosts, host)]
  }
}

interface Bucket {
  /** When it is full again. */
  fullAt: number
  /** How long it takes to refill what was taken last, in ms. */
  lastMs: number
  /** How many deliveries wait for it. */
  waiting: number
}

/** Token buckets of bytes: each holds those of one minute. */
class ByteBuckets {
  readonly #bytesPerMinute: number
  readonly #clock: Clock
  /** The one that was charged last is the last. A bucket that is absent is full. */
  readonly #buckets = new Map<string, Bucket>()

  constructor(bytesPerMinute: number, clock: Clock) {
    this.#bytesPerMinute = bytesPerMinute
    this.#clock = clock
  }

  waitMs(key: string): number {
    const overdrawnMs = (this.#buckets.get(key)?.fullAt ?? 0) - elapsed(this.#clock) - MINUTE_MS
    return overdrawnMs < 0 ? 0 : Math.floor(overdrawnMs) + 1
  }

  /** When the turn of one more delivery comes, if those that wait are as large as the last one. */
  turnMs(key: string): number {
    const { waiting = 0, lastMs = 0 } = this.#buckets.get(key) ?? {}
    return this.waitMs(key) + waiting * lastMs
  }

  /** Counts a delivery as waiting, until the returned function is called. */
  queue(key: string): () => void {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return () => undefined
    bucket.waiting += 1
    return () => {
      bucket.waiting -= 1
    }
  }

  charge(key: string, bytes: number): void {
    const now = elapsed(this.#clock)
    const bucket = this.#buckets.get(key) ?? { fullAt: 0, lastMs: 0, waiting: 0 }
    bucket.lastMs = (bytes * MINUTE_MS) / this.#bytesPerMinute
    bucket.fullAt = Math.max(now, bucket.fullAt) + bucket.lastMs
    this.#buckets.delete(key)
    this.#buckets.set(key, bucket)
    this.#dropOldest(now)
  }

  #dropOldest(now: number): void {
    for (const [key, { fullAt }] of this.#buckets) {
      if (fullAt > now && this.#buckets.size <= MAX_KEYS) return
      this.#buckets.delete(key)
    }
  }
}
