/**
 * What has to be done to tasks that nobody asks for: recovering, timing out, removing.
 *
 * @module
 */
import { toUpdate } from '../core/commands.js'
import { A2AError } from '../core/errors.js'
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
export const ABANDONED = 'The agent stopped before this task was finished'

export interface SweeperHost<S extends string> {
  /** Those who can work on a task again. */
  readonly workers: () => Iterable<HeldTasks<S>>
  /** Tells of tasks before they are removed, and forgets them. */
  readonly onRemove: (keys: readonly TaskKey[]) => Promise<void>
}

export class Sweeper<S extends string> {
  readonly #shop: Workshop<S>
  readonly #host: SweeperHost<S>
  #deadline: Deadline | undefined
  #isClosed = false

  constructor(shop: Workshop<S>, host: SweeperHost<S>) {
    this.#shop = shop
    this.#host = host
    this.#arm()
  }

  close(): void {
    this.#isClosed = true
    if (this.#deadline !== undefined) this.#shop.timeline.remove(this.#deadline)
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
    this.#deadline = timeline.add(settings.sweepIntervalMs, () => void this.#sweep())
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
    const orphans = await access.once('orphans', () => settings.store.orphans(BATCH))
    for (const orphan of orphans) {
      if (this.#isClosed) return
      await this.#recoverOne(orphan).catch(access.report)
    }
  }

  async #recoverOne({ key, leaseId, note }: Orphan): Promise<void> {
    const { settings, mirrors, access } = this.#shop
    const { store, lifecycle, leaseMs, restarts } = settings
    await mirrors.use(key.id, true, async (mirror) => {
      const { state } = mirror.record.task
      if (mirror.key.createdAt !== key.createdAt || isTerminal(state, lifecycle)) return
      // It waits for the user, who need not know that he is answered by another process.
      if (isInterrupted(state, lifecycle)) {
        await access.once('release', () => store.release(key, leaseId))
        return
      }
      const [worker] = this.#host.workers()
      if (restarts && worker === undefined) return
      const lease = { id: randomId(), ttlMs: leaseMs, note }
      const taken = await access.once('acquire', () => store.acquire(key, lease))
      // Its holder lives after all, or another process was faster.
      if (taken !== lease.id) return
      if (restarts) worker?.adopt(mirror, lease.id, note)
      else await this.#fail(mirror, lease.id)
    })
  }

  async #fail(mirror: TaskMirror<S>, leaseId: string): Promise<void> {
    const { settings, decideFor, access } = this.#shop
    const { lifecycle, store } = settings
    // The protocol's own lifecycle has it, and another that has none leaves the task as it is.
    const state = 'failed' as S
    if (lifecycle.states.includes(state) && canTransition(mirror.record.task.state, state, lifecycle)) {
      const command = toUpdate<S>({ state, message: ABANDONED }, settings)
      await mirror.execute(decideFor(command), leaseId, () => undefined).stored
    } else {
      await access.once('release', () => store.release(mirror.key, leaseId))
    }
  }

  async #timeOut(): Promise<void> {
    const { settings, timeline, mirrors, access, decideFor } = this.#shop
    const { taskTimeoutMs, store } = settings
    if (taskTimeoutMs === undefined || !Number.isFinite(taskTimeoutMs)) return
    const before = instantOf(timeline.now().ms - taskTimeoutMs).iso
    const late = await access.once('unended', () => store.unended(before, BATCH))
    for (const { id } of late) {
      const end = mirrors.use(id, true, (mirror) => {
        if (isTerminal(mirror.record.task.state, settings.lifecycle)) return
        return mirror.execute(decideFor({ type: 'timeout' }), undefined, () => undefined).stored
      })
      await end.catch((error: unknown) => {
        // Somebody else has ended it meanwhile.
        if (!A2AError.is(error, 'TASK_TERMINAL') && !A2AError.is(error, 'TASK_NOT_FOUND'))
          access.report(error)
      })
    }
  }

  #queriesOf(state: S, { maxAgeMs, maxCount }: RetentionRule): EndedQuery[] {
    const queries: EndedQuery[] = []
    if (maxAgeMs !== undefined) {
      const updatedBefore = instantOf(this.#shop.timeline.now().ms - maxAgeMs).iso
      queries.push({ state, limit: BATCH, updatedBefore })
    }
    if (maxCount !== undefined) queries.push({ state, limit: BATCH, beyond: maxCount })
    return queries
  }

  async #remove(query: EndedQuery): Promise<number> {
    const { access, settings } = this.#shop
    let count = 0
    while (!this.#isClosed) {
      const keys = await access.once('ended', () => settings.store.ended(query))
      if (keys.length === 0) break
      await this.#host.onRemove(keys)
      count += await access.once('delete', () => settings.store.delete(keys))
      if (keys.length < BATCH) break
    }
    return count
  }
}
