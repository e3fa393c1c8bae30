/**
 * Periodic maintenance of the store: recovering abandoned tasks, timing out late ones, and removing old ones.
 *
 * @module
 */
import { requireEnded } from '../core/decide.js'
import { A2AError, endError, taskNotFound } from '../core/errors.js'
import { isInterrupted, isTerminal } from '../core/lifecycle.js'
import { randomId } from '../runtime/ids.js'
import type { TaskRecord } from '../core/task-record.js'
import type { TaskSnapshot, TaskKey } from '../core/task.js'
import { instantOf, type Deadline } from '../core/timeline.js'
import { toLine, type ArchiveOptions } from './archive.js'
import type { CachedTask } from './cache/cached-task.js'
import type { DurableContext } from './context.js'
import { failAbandoned } from './leases/fail-abandoned.js'
import type { LeaseHolder } from './leases/lease-holder.js'
import { releaseInterrupted } from './leases/interrupted.js'
import { fromStoredNote, NO_RESTART, toStoredNote, type LeaseNote } from './leases/lease-note.js'
import { countRestarts, restartedNote, wokenNote } from './leases/restarts.js'
import type { RetentionRule } from './options.js'
import type { EndedQuery, Orphan } from './task-store.js'

/** The most tasks in one request. */
const BATCH = 100
/** How many tasks that stay in a result, because they cannot be timed out or recovered here, are skipped over. */
const MAX_STUCK = 500
/** Limits the removals per sweep and query, so that recovery in the next sweep is not delayed. */
const BATCHES_PER_SWEEP = 5

/**
 * What has become of a task of a batch. `stuck`: it stays in the result, as it is left to another process. `skipped`: it comes
 * again in this pass. `over`: the pass ends before it.
 */
type Outcome = 'done' | 'stuck' | 'skipped' | 'over'

/** Receives the tasks that maintenance removes. */
export interface ExpiryObserver<S extends string> {
  /** Without listeners, removed tasks are not read. */
  hasListeners(): boolean
  onExpired(tasks: readonly TaskSnapshot<S>[]): void
}

export class Maintenance<S extends string> {
  readonly #context: DurableContext<S>
  readonly #holders: ReadonlySet<LeaseHolder<S>>
  readonly #observer: ExpiryObserver<S>
  #deadline: Deadline | undefined
  /** Whether the store took no change of the latest recovery. */
  #isRefused = false
  #sweeping: Promise<void> | undefined
  #recovering: Promise<void> | undefined
  #isRecoveryDue = false
  #isClosed = false

  /** @param holders - Can restart the work on abandoned tasks. */
  constructor(context: DurableContext<S>, holders: ReadonlySet<LeaseHolder<S>>, observer: ExpiryObserver<S>) {
    this.#context = context
    this.#holders = holders
    this.#observer = observer
    this.#schedule()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#deadline !== undefined) this.#context.timeline.remove(this.#deadline)
    await Promise.all([this.#sweeping, this.#recovering])
  }

  /**
   * Removes the tasks that `retention` no longer keeps, at most `batches` batches of each kind.
   *
   * @returns How many were removed.
   */
  async prune(batches = Infinity): Promise<number> {
    let count = 0
    for (const [state, rule] of this.#context.settings.retention) {
      for (const query of this.#queriesOf(state, rule)) count += await this.#remove(query, batches)
    }
    return count
  }

  /**
   * Writes the tasks that ended before `olderThanMs`, and removes those that are written.
   *
   * @returns How many were removed.
   */
  async archive({ olderThanMs, write }: ArchiveOptions): Promise<number> {
    const updatedBefore = this.#ago(olderThanMs)
    let count = 0
    for (const state of this.#context.settings.lifecycle.terminal) {
      const query = { state, limit: BATCH, updatedBefore }
      count += await this.#remove(query, Infinity, (keys) => this.#archive(keys, write))
    }
    return count
  }

  /** Those that were written before a failure are removed, too. */
  async #archive(keys: readonly TaskKey[], write: ArchiveOptions['write']): Promise<number> {
    const written: TaskKey[] = []
    let count = 0
    try {
      for (const key of keys) {
        const line = await toLine(this.#context, key)
        if (line === undefined) continue
        await write(line)
        written.push(key)
      }
    } finally {
      if (written.length > 0) count = await this.#delete(written)
    }
    return count
  }

  /**
   * Removes a task that has ended.
   *
   * @throws {A2AError} `TASK_NOT_FOUND`, also if another call has removed it first; `INVALID_TRANSITION`.
   */
  async deleteEnded(taskId: string): Promise<void> {
    const { cache, settings } = this.#context
    const key = await cache.use(taskId, true, (cached) => {
      requireEnded(cached.record.task, settings.lifecycle)
      return cached.key
    })
    if ((await this.#delete([key])) === 0) throw taskNotFound(taskId)
  }

  /** Continues the work of expired leases now, as far as this process can. One pass at a time, and another one after it. */
  recoverSoon(): void {
    this.#isRecoveryDue = true
    this.#recovering ??= this.#recoverWhileDue()
  }

  /** Whether this process can continue the work of one more expired lease. */
  get hasRoom(): boolean {
    return [...this.#holders].some((holder) => holder.hasRoom)
  }

  async #recoverWhileDue(): Promise<void> {
    // Several calls in one tick are one pass.
    await Promise.resolve()
    while (this.#isRecoveryDue && this.hasRoom && !this.#isClosed) {
      this.#isRecoveryDue = false
      const dispersal = new Dispersal()
      await this.#recover(dispersal).catch(this.#context.storeClient.report)
      this.#isRecoveryDue ||= dispersal.hasSkipped
    }
    this.#recovering = undefined
  }

  #schedule(): void {
    const { timeline, settings } = this.#context
    if (settings.sweepIntervalMs === false) return
    this.#deadline = timeline.add(settings.sweepIntervalMs, () => {
      this.#sweeping = this.#sweep()
    })
  }

  async #sweep(): Promise<void> {
    const { report } = this.#context.storeClient
    await this.#recover().catch(report)
    await this.#timeOut().catch(report)
    await this.prune(BATCHES_PER_SWEEP).catch(report)
    await this.#trimFeed().catch(report)
    if (!this.#isClosed) this.#schedule()
  }

  async #trimFeed(): Promise<void> {
    const { storeClient, settings } = this.#context
    const { feed } = settings.store
    if (feed !== undefined) await storeClient.call('feed', () => feed.trim())
  }

  /** @param dispersal - For a pass that other processes make at the same time. It ends when this process has no more room. */
  async #recover(dispersal?: Dispersal): Promise<void> {
    const { storeClient, settings } = this.#context
    const orphans = (stuck: number): Promise<readonly Orphan[]> =>
      storeClient.call('orphans', () => settings.store.orphans(BATCH + stuck))
    const wasRefused = this.#isRefused
    this.#isRefused = false
    await this.#eachBatch(orphans, async (orphan) => {
      if (dispersal !== undefined && !this.hasRoom) return 'over'
      if (dispersal?.skips() === true) return 'skipped'
      const id = randomId()
      // Its holder may have waited for the store as well, and continues first.
      if (wasRefused) return await this.#postpone(orphan, id)
      return await this.#recoverOne(orphan, id, dispersal).catch(async (error: unknown) => {
        storeClient.report(error)
        return await this.#postpone(orphan, id)
      })
    })
  }

  /**
   * Processes batches until a batch is short or brings nothing new. `fetch` receives how many processed tasks are still in the
   * result.
   */
  async #eachBatch<T extends TaskKey | Orphan>(
    fetch: (stuck: number) => Promise<readonly T[]>,
    job: (each: T) => Promise<Outcome>,
  ): Promise<void> {
    const processed = new Set<string>()
    for (let stuck = 0; stuck <= MAX_STUCK;) {
      const batch = await fetch(stuck)
      const others = batch.filter((each) => !processed.has(idOf(each)))
      for (const each of others) {
        if (this.#isClosed) return
        const outcome = await job(each)
        if (outcome === 'over') return
        if (outcome === 'skipped') continue
        processed.add(idOf(each))
        if (outcome === 'stuck') stuck += 1
      }
      if (batch.length < BATCH || others.length === 0) return
    }
  }

  /** @param id - The id of the new lease. */
  async #recoverOne(
    { key, leaseId, note: stored }: Orphan,
    id: string,
    dispersal?: Dispersal,
  ): Promise<Outcome> {
    const { settings, cache, storeClient } = this.#context
    const { store, leaseMs, maxRestarts } = settings
    const left = fromStoredNote(stored)
    const holders = [...this.#holders]
    // The lease expired while this process was suspended. The next renewal revives it.
    if (holders.some((holder) => holder.holds(key))) return 'stuck'
    // There is nothing to find out about a task that was handed out.
    if (left.restarts === NO_RESTART && !holders.some((each) => each.worker === left.worker && each.hasRoom))
      return 'stuck'
    return await cache.use(key.id, true, async (cached): Promise<Outcome> => {
      if (await this.#isDone(cached, { key, leaseId }, left)) {
        dispersal?.after(false)
        return 'done'
      }
      const isWoken = isInterrupted(cached.record.task.state, settings.lifecycle)
      const note = await countRestarts(this.#context, cached, isWoken ? wokenNote(left) : left)
      const { restarts, worker } = note
      const isRestarted = restarts < maxRestarts
      const holder = isRestarted ? holders.find((each) => each.worker === worker && each.hasRoom) : undefined
      // A holder in another process may have room.
      if (isRestarted && holder === undefined) return 'stuck'
      const restarted = isRestarted ? restartedNote(cached, note) : note
      const lease = { id, ttlMs: leaseMs, note: toStoredNote(restarted) }
      const grant = await storeClient.call('acquire', () => store.acquire(key, lease))
      const isOwn = grant?.leaseId === lease.id
      dispersal?.after(isOwn)
      // The holder has renewed its lease, or another process was faster.
      if (!isOwn) return 'done'
      // Reads what the previous holder did.
      await cached.refresh()
      if (cached.isGone || (await this.#needsNoHolder(cached, lease.id, restarted))) return 'done'
      if (holder !== undefined) holder.adopt(cached, lease.id, restarted)
      else if (!(await failAbandoned(this.#context, cached, lease.id, note))) {
        await storeClient.call('release', () => store.release(key, lease.id))
      }
      return 'done'
    })
  }

  /** Whether another process has done the work, or removed the task, since the list was read. */
  async #isDone(
    cached: CachedTask<S>,
    { key, leaseId }: Omit<Orphan, 'note'>,
    note: LeaseNote,
  ): Promise<boolean> {
    return cached.key.createdAt !== key.createdAt || (await this.#needsNoHolder(cached, leaseId, note))
  }

  /**
   * Moves a task that cannot be recovered now behind the others, which are ordered by the expiry of their leases. Its lease is
   * renewed once, so a holder that waits for the store has time to renew it too. If the attempt has acquired the lease already,
   * the note is again the one before it: what did not begin is no restart.
   */
  async #postpone({ key, leaseId, note }: Orphan, id: string): Promise<Outcome> {
    const { settings, storeClient } = this.#context
    const { store, leaseMs } = settings
    const renew = (): Promise<readonly string[]> => store.renew([{ key, id: leaseId }], leaseMs)
    const renewed = await storeClient.call('renew', renew).catch(storeClient.report)
    if (renewed === undefined) this.#isRefused = true
    if (renewed === undefined) return 'stuck'
    if (renewed.length > 0) return 'done'
    const lease = { id, ttlMs: leaseMs, note }
    const release = (): Promise<boolean> => store.release(key, id, undefined, lease)
    const released = await storeClient.call('release', release).catch(storeClient.report)
    return released === undefined ? 'stuck' : 'done'
  }

  /**
   * Whether no process has to work on the task: it has ended, or waits for input and for nothing that is due. Then its lease
   * is released.
   */
  async #needsNoHolder(cached: CachedTask<S>, leaseId: string, note: LeaseNote): Promise<boolean> {
    const { lifecycle } = this.#context.settings
    const { state } = cached.record.task
    if (!isInterrupted(state, lifecycle)) return isTerminal(state, lifecycle)
    // Refused if the input has arrived by now: the next sweep then recovers the task.
    return await releaseInterrupted(this.#context, cached, leaseId, note)
  }

  async #timeOut(): Promise<void> {
    const { settings, cache, storeClient, decideFor } = this.#context
    const { taskTimeoutMs, store } = settings
    if (taskTimeoutMs === Infinity) return
    const before = this.#ago(taskTimeoutMs)
    const late = (stuck: number): Promise<readonly TaskKey[]> =>
      storeClient.call('unended', () => store.unended(before, BATCH + stuck))
    await this.#eachBatch(late, async ({ id, createdAt }) => {
      const end = cache.use(id, true, async (cached) => {
        // A new task may have the id.
        if (cached.key.createdAt !== createdAt) return
        await cached.execute(decideFor({ type: 'timeout' }), () => undefined).stored
      })
      return await end.then(
        (): Outcome => 'done',
        (error: unknown): Outcome => {
          storeClient.report(error)
          // Any other error means that the task has ended or is gone.
          return A2AError.is(error, 'STORE_FAILED') ? 'stuck' : 'done'
        },
      )
    })
  }

  /** Uses the earlier of clock and timeline: after a clock is set back, the timeline is ahead and tasks would expire early. */
  #ago(ms: number): string {
    const { clock } = this.#context.settings
    return instantOf(Math.max(0, Math.min(clock.now(), this.#context.timeline.now().ms) - ms)).iso
  }

  #queriesOf(state: S, { maxAgeMs, maxCount }: RetentionRule): EndedQuery[] {
    const queries: EndedQuery[] = []
    if (maxAgeMs !== undefined) {
      queries.push({ state, limit: BATCH, updatedBefore: this.#ago(maxAgeMs) })
    }
    if (maxCount !== undefined) queries.push({ state, limit: BATCH, beyond: maxCount })
    return queries
  }

  async #remove(
    query: EndedQuery,
    batches: number,
    remove = (keys: readonly TaskKey[]): Promise<number> => this.#delete(keys),
  ): Promise<number> {
    const { storeClient, settings } = this.#context
    let count = 0
    for (let batch = 0; batch < batches && !this.#isClosed; batch += 1) {
      const keys = await storeClient.callWithRetry('ended', () => settings.store.ended(query))
      if (keys.length > 0) count += await remove(keys)
      if (keys.length < BATCH) break
    }
    return count
  }

  async #delete(keys: readonly TaskKey[]): Promise<number> {
    const { settings, cache, storeClient } = this.#context
    const tasks = this.#observer.hasListeners() ? await Promise.all(keys.map((key) => this.#peek(key))) : []
    const removed = await storeClient.callWithRetry('delete', () => settings.store.delete(keys))
    // The process that removes a task emits the event, so tasks that another one removed first are left out.
    const gone = new Set(removed.map(({ id }) => id))
    for (const { id, createdAt } of keys) {
      const cached = cache.get(id)
      if (cached?.key.createdAt === createdAt) cached.drop(endError('TASK_EXPIRED', id))
    }
    this.#observer.onExpired(tasks.filter((task) => task !== undefined).filter(({ id }) => gone.has(id)))
    return removed.length
  }

  /** A task that cannot be read is reported and removed anyway. */
  async #peek({ id, createdAt }: TaskKey): Promise<TaskSnapshot<S> | undefined> {
    const { cache, storeClient } = this.#context
    const show = (record: TaskRecord<S>): TaskSnapshot<S> | null =>
      record.task.createdAt === createdAt ? record.snapshot() : null
    return (await cache.read(id, show).catch(storeClient.report)) ?? undefined
  }
}

/**
 * Has processes that take tasks from the same list at the same time go apart in it: one that comes second skips some tasks, and
 * more each time. It looks again afterwards.
 */
class Dispersal {
  #length = 0
  #left = 0
  hasSkipped = false

  after(isFirst: boolean): void {
    this.#length = isFirst ? 0 : 2 * this.#length + 1
    this.#left = this.#length
  }

  skips(): boolean {
    if (this.#left === 0) return false
    this.#left -= 1
    this.hasSkipped = true
    return true
  }
}

function idOf(each: TaskKey | Orphan): string {
  return 'key' in each ? each.key.id : each.id
}
