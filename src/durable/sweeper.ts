/**
 * What has to be done to tasks that nobody asks for: recovering, timing out, removing.
 *
 * @module
 */
import { toUpdate } from '../core/commands.js'
import { canTransition, isInterrupted, isTerminal } from '../core/lifecycle.js'
import { randomId } from '../core/ports.js'
import { instantOf, type Deadline } from '../core/time.js'
import type { HeldTasks } from './held-tasks.js'
import type { RetentionRule } from './options.js'
import type { TaskMirror } from './task-mirror.js'
import type { EndedQuery, Orphan, TaskKey } from './task-store.js'
import type { Workshop } from './workshop.js'

/** How many tasks the store is asked for at a time. */
const BATCH = 100

/** What a task says whose process has died. */
const ABANDONED = 'The agent stopped before this task was finished'

export interface SweeperHost<S extends string> {
  /** Those who can work on a task again. */
  readonly workers: () => Iterable<HeldTasks<S>>
  /** Removes tasks, and tells of it. How many there were. */
  readonly remove: (keys: readonly TaskKey[]) => Promise<number>
}

export class Sweeper<S extends string> {
  readonly #shop: Workshop<S>
  readonly #host: SweeperHost<S>
  #deadline: Deadline | undefined
  #sweeping: Promise<void> | undefined
  #isClosed = false

  constructor(shop: Workshop<S>, host: SweeperHost<S>) {
    this.#shop = shop
    this.#host = host
    this.#arm()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#deadline !== undefined) this.#shop.timeline.remove(this.#deadline)
    await this.#sweeping
  }

  /** Removes what has been kept long enough. How many tasks there were. */
  async prune(): Promise<number> {
    let count = 0
    for (const [state, rule] of this.#shop.settings.retention) {
      for (const query of this.#queriesOf(state, rule)) count += await this.#remove(query)
    }
    return count
  }

  #arm(): void {
    const { timeline, settings } = this.#shop
    this.#deadline = timeline.add(settings.sweepIntervalMs, () => {
      this.#sweeping = this.#sweep()
    })
  }

  async #sweep(): Promise<void> {
    const { report } = this.#shop.access
    await this.#recover().catch(report)
    await this.#timeOut().catch(report)
    await this.prune().catch(report)
    if (!this.#isClosed) this.#arm()
  }

  async #recover(): Promise<void> {
    const { access, settings } = this.#shop
    const orphans = (): Promise<readonly Orphan[]> =>
      access.once('orphans', () => settings.store.orphans(BATCH))
    await this.#eachBatch(orphans, async (orphan) => {
      await this.#recoverOne(orphan).catch(access.report)
    })
  }

  /** As long as there are more, and other ones than before. */
  async #eachBatch<T extends TaskKey | Orphan>(
    ask: () => Promise<readonly T[]>,
    job: (each: T) => Promise<void>,
  ): Promise<void> {
    const seen = new Set<string>()
    for (;;) {
      const batch = await ask()
      const others = batch.filter((each) => !seen.has('key' in each ? each.key.id : each.id))
      for (const each of others) {
        if (this.#isClosed) return
        seen.add('key' in each ? each.key.id : each.id)
        await job(each)
      }
      if (batch.length < BATCH || others.length === 0) return
    }
  }

  async #recoverOne({ key, leaseId, note }: Orphan): Promise<void> {
    const { settings, mirrors, access } = this.#shop
    const { store, leaseMs, restarts } = settings
    const workers = [...this.#host.workers()]
    // Its lease ran out while this process stood still: it is renewed next.
    if (workers.some((worker) => worker.holds(key))) return
    await mirrors.use(key.id, true, async (mirror) => {
      if (mirror.key.createdAt !== key.createdAt || (await this.#isNobodys(mirror, leaseId))) return
      const [worker] = workers
      if (restarts && worker === undefined) return
      const lease = { id: randomId(), ttlMs: leaseMs, note }
      const taken = await access.once('acquire', () => store.acquire(key, lease))
      // Its holder lives after all, or another process was faster.
      if (taken !== lease.id) return
      // What the holder before did is known then.
      await mirror.refresh()
      if (mirror.isGone || (await this.#isNobodys(mirror, lease.id))) return
      if (restarts) worker?.adopt(mirror, lease.id, note)
      else await this.#fail(mirror, lease.id)
    })
  }

  /** Whether the task needs nobody: it has ended, or waits for the user, who may be answered by another process. */
  async #isNobodys({ key, record }: TaskMirror<S>, leaseId: string): Promise<boolean> {
    const { settings, access } = this.#shop
    const { store, lifecycle } = settings
    const { state, generation } = record.task
    if (!isInterrupted(state, lifecycle)) return isTerminal(state, lifecycle)
    // The user may have answered by now: then it is for the next time.
    await access.once('release', () => store.release(key, leaseId, generation))
    return true
  }

  async #fail(mirror: TaskMirror<S>, leaseId: string): Promise<void> {
    const { settings, decideFor, access } = this.#shop
    const { lifecycle, store } = settings
    // The protocol's own lifecycle has it, and another that has none leaves the task as it is.
    const state = 'failed' as S
    if (lifecycle.states.includes(state) && canTransition(mirror.record.task.state, state, lifecycle)) {
      const command = toUpdate<S>({ state, message: ABANDONED }, settings)
      await mirror.execute(decideFor(command), () => undefined, { leaseId }).stored
    } else {
      await access.once('release', () => store.release(mirror.key, leaseId))
    }
  }

  async #timeOut(): Promise<void> {
    const { settings, mirrors, access, decideFor } = this.#shop
    const { taskTimeoutMs, store } = settings
    if (taskTimeoutMs === undefined || !Number.isFinite(taskTimeoutMs)) return
    const before = this.#ago(taskTimeoutMs)
    const late = (): Promise<readonly TaskKey[]> => access.once('unended', () => store.unended(before, BATCH))
    await this.#eachBatch(late, async ({ id, createdAt }) => {
      const end = mirrors.use(id, true, async (mirror) => {
        // Another task may have its id by now.
        if (mirror.key.createdAt !== createdAt) return
        await mirror.execute(decideFor({ type: 'timeout' }), () => undefined).stored
      })
      // Somebody else may have ended it meanwhile: nobody is told of that.
      await end.catch(access.report)
    })
  }

  /** By the clock itself: a timeline remembers a moment that never was, and tasks would end and go before their time. */
  #ago(ms: number): string {
    const { clock } = this.#shop.settings
    return instantOf(Math.max(0, Math.min(clock.now(), this.#shop.timeline.now().ms) - ms)).iso
  }

  #queriesOf(state: S, { maxAgeMs, maxCount }: RetentionRule): EndedQuery[] {
    const queries: EndedQuery[] = []
    if (maxAgeMs !== undefined) {
      queries.push({ state, limit: BATCH, updatedBefore: this.#ago(maxAgeMs) })
    }
    if (maxCount !== undefined) queries.push({ state, limit: BATCH, beyond: maxCount })
    return queries
  }

  async #remove(query: EndedQuery): Promise<number> {
    const { access, settings } = this.#shop
    let count = 0
    while (!this.#isClosed) {
      const keys = await access.insist('ended', () => settings.store.ended(query))
      if (keys.length > 0) count += await this.#host.remove(keys)
      if (keys.length < BATCH) break
    }
    return count
  }
}
