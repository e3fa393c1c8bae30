/**
 * What has to be done to tasks that nobody asks for: recovering, timing out, removing.
 *
 * @module
 */
import { A2AError, ended } from '../core/errors.js'
import { isInterrupted, isTerminal } from '../core/lifecycle.js'
import { randomId } from '../runtime/ids.js'
import type { TaskRecord } from '../core/task-record.js'
import type { TaskSnapshot, TaskKey } from '../core/task.js'
import { instantOf, type Deadline } from '../core/timeline.js'
import { failAbandoned } from './leases/fail-abandoned.js'
import type { HeldTasks } from './leases/lease-holder.js'
import { fromStoredNote, toStoredNote } from './leases/lease-note.js'
import type { RetentionRule } from './options.js'
import type { TaskMirror } from './cache/cached-task.js'
import type { EndedQuery, Grant, Orphan } from './task-store.js'
import type { Workshop } from './context.js'

/** How many tasks the store is asked for at a time. */
const BATCH = 100
/** How many that cannot be timed out, or recovered here, are looked past. */
const MAX_STUCK = 500
/** How many batches of each kind a sweep removes: tasks whose process died are not to wait for all of them. */
const BATCHES_PER_SWEEP = 5

export interface SweeperHost<S extends string> {
  /** Those who can work on a task again. */
  readonly workers: () => Iterable<HeldTasks<S>>
  /** Whether anybody wants to know what is removed. */
  readonly isHeard: () => boolean
  /** Tells of what has been removed. */
  readonly onExpired: (tasks: readonly TaskSnapshot<S>[]) => void
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

  /** Removes what has been kept long enough, so many batches of each kind. How many tasks there were. */
  async prune(batches = Infinity): Promise<number> {
    let count = 0
    for (const [state, rule] of this.#shop.settings.retention) {
      for (const query of this.#queriesOf(state, rule)) count += await this.#remove(query, batches)
    }
    return count
  }

  #arm(): void {
    const { timeline, settings } = this.#shop
    if (settings.sweepIntervalMs === false) return
    this.#deadline = timeline.add(settings.sweepIntervalMs, () => {
      this.#sweeping = this.#sweep()
    })
  }

  async #sweep(): Promise<void> {
    const { report } = this.#shop.access
    await this.#recover().catch(report)
    await this.#timeOut().catch(report)
    await this.prune(BATCHES_PER_SWEEP).catch(report)
    if (!this.#isClosed) this.#arm()
  }

  async #recover(): Promise<void> {
    const { access, settings } = this.#shop
    const orphans = (stuck: number): Promise<readonly Orphan[]> =>
      access.once('orphans', () => settings.store.orphans(BATCH + stuck))
    await this.#eachBatch(orphans, async (orphan) => {
      return await this.#recoverOne(orphan).catch((error: unknown) => this.#putOff(orphan, error))
    })
  }

  /**
   * As long as there are more, and other ones than before. `ask` is told how many are not done with, and come again, and
   * `job` whether one is.
   */
  async #eachBatch<T extends TaskKey | Orphan>(
    ask: (stuck: number) => Promise<readonly T[]>,
    job: (each: T) => Promise<boolean>,
  ): Promise<void> {
    const seen = new Set<string>()
    for (let stuck = 0; stuck <= MAX_STUCK;) {
      const batch = await ask(stuck)
      const others = batch.filter((each) => !seen.has(idOf(each)))
      for (const each of others) {
        if (this.#isClosed) return
        seen.add(idOf(each))
        if (!(await job(each))) stuck += 1
      }
      if (batch.length < BATCH || others.length === 0) return
    }
  }

  /** `false`: it is left to another process, and comes again. */
  async #recoverOne({ key, leaseId, note: stored }: Orphan): Promise<boolean> {
    const { settings, mirrors, access } = this.#shop
    const { store, leaseMs, maxRestarts } = settings
    const { restarts, note } = fromStoredNote(stored)
    const workers = [...this.#host.workers()]
    // Its lease ran out while this process stood still: it is renewed next.
    if (workers.some((worker) => worker.holds(key))) return false
    return await mirrors.use(key.id, true, async (mirror) => {
      if (mirror.key.createdAt !== key.createdAt || (await this.#isNobodys(mirror, leaseId))) return true
      const isRestarted = restarts < maxRestarts
      const worker = isRestarted ? workers.find(({ hasRoom }) => hasRoom) : undefined
      // Another process may have somebody.
      if (isRestarted && worker === undefined) return false
      const noted = { restarts: isRestarted ? restarts + 1 : restarts, note }
      const lease = { id: randomId(), ttlMs: leaseMs, note: toStoredNote(noted) }
      const taken = await access.once('acquire', () => store.acquire(key, lease))
      // Its holder lives after all, or another process was faster.
      if (taken?.leaseId !== lease.id) return true
      // What the holder before did is known then.
      await mirror.refresh()
      if (mirror.isGone || (await this.#isNobodys(mirror, lease.id))) return true
      if (worker !== undefined) worker.adopt(mirror, lease.id, noted)
      else if (!(await failAbandoned(this.#shop, mirror, lease.id))) {
        await access.once('release', () => store.release(key, lease.id))
      }
      return true
    })
  }

  /** One that cannot be recovered comes again, behind the others: those that ran out longest ago are the first. */
  async #putOff({ key, note }: Orphan, error: unknown): Promise<boolean> {
    const { settings, access } = this.#shop
    access.report(error)
    const lease = { id: randomId(), ttlMs: settings.leaseMs, note }
    const acquire = (): Promise<Grant | undefined> => settings.store.acquire(key, lease)
    const grant = await access.once('acquire', acquire).catch(access.report)
    return grant !== undefined
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

  async #timeOut(): Promise<void> {
    const { settings, mirrors, access, decideFor } = this.#shop
    const { taskTimeoutMs, store } = settings
    if (taskTimeoutMs === undefined || !Number.isFinite(taskTimeoutMs)) return
    const before = this.#ago(taskTimeoutMs)
    const late = (stuck: number): Promise<readonly TaskKey[]> =>
      access.once('unended', () => store.unended(before, BATCH + stuck))
    await this.#eachBatch(late, async ({ id, createdAt }) => {
      const end = mirrors.use(id, true, async (mirror) => {
        // Another task may have its id by now.
        if (mirror.key.createdAt !== createdAt) return
        await mirror.execute(decideFor({ type: 'timeout' }), () => undefined).stored
      })
      return await end.then(
        () => true,
        (error: unknown) => {
          access.report(error)
          // Somebody else may have ended it meanwhile: nobody is told of that.
          return !A2AError.is(error, 'STORE_FAILED')
        },
      )
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

  async #remove(query: EndedQuery, batches: number): Promise<number> {
    const { access, settings } = this.#shop
    let count = 0
    for (let batch = 0; batch < batches && !this.#isClosed; batch += 1) {
      const keys = await access.insist('ended', () => settings.store.ended(query))
      if (keys.length > 0) count += await this.#delete(keys)
      if (keys.length < BATCH) break
    }
    return count
  }

  async #delete(keys: readonly TaskKey[]): Promise<number> {
    const { settings, mirrors, access } = this.#shop
    const isHeard = this.#host.isHeard()
    const tasks = isHeard ? await Promise.all(keys.map((key) => this.#peek(key))) : []
    const removed = await access.insist('delete', () => settings.store.delete(keys))
    // What somebody else has removed he tells of.
    const gone = new Set(removed.map(({ id }) => id))
    for (const { id, createdAt } of keys) {
      const mirror = mirrors.get(id)
      if (mirror?.key.createdAt === createdAt) mirror.drop(ended('TASK_EXPIRED', id))
    }
    this.#host.onExpired(tasks.filter((task) => task !== undefined).filter(({ id }) => gone.has(id)))
    return removed.length
  }

  /** One that cannot be read shall not stay for ever. */
  async #peek({ id, createdAt }: TaskKey): Promise<TaskSnapshot<S> | undefined> {
    const { mirrors, access } = this.#shop
    const show = (record: TaskRecord<S>): TaskSnapshot<S> | null =>
      record.task.createdAt === createdAt ? record.show() : null
    return (await mirrors.read(id, show).catch(access.report)) ?? undefined
  }
}

function idOf(each: TaskKey | Orphan): string {
  return 'key' in each ? each.key.id : each.id
}
