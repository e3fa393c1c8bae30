/**
 * Acquisition of the lease of a task, without missing a message that is sent under it.
 *
 * @module
 */
import { terminal } from '../../core/decide.js'
import { taskNotFound } from '../../core/errors.js'
import type { TaskEvent } from '../../core/events.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import type { AcquireResult } from '../../core/managers.js'
import { randomId } from '../../runtime/ids.js'
import type { TaskKey } from '../../core/task.js'
import type { CachedTask } from '../cache/cached-task.js'
import type { DurableContext } from '../context.js'
import type { Grant } from '../task-store.js'
import { failAbandoned } from './fail-abandoned.js'
import { fromStoredNote, NO_NOTE, PARKED, toStoredNote, type LeaseNote } from './lease-note.js'
import { countRestarts, restartedNote } from './restarts.js'
import { replaceNote } from './store-note.js'

/** Registers acquired leases. From its calls on, the holder receives changes itself. */
interface GrantHandler<S extends string> {
  /** @param changes - The changes of other callers under this lease so far. */
  onGranted(cached: CachedTask<S>, leaseId: string, changes: readonly TaskEvent<S>[]): AcquireResult<S>
  /** The task's previous holder has died. */
  onRecovered(cached: CachedTask<S>, leaseId: string, note: LeaseNote): AcquireResult<S>
}

/** One that failed without an answer may have been granted: its own id shows this. */
interface Attempt {
  readonly id: string
  /** In ms, by the clock of the store's client. */
  readonly madeAt: number
}

type Replaced = NonNullable<Grant['replaced']>

/** How often other processes may park a task that is about to be acquired. */
const MAX_ATTEMPTS = 10

export class LeaseAcquirer<S extends string> {
  readonly #context: DurableContext<S>
  readonly #pending = new Map<string, Promise<AcquireResult<S>>>()
  /** The changes of other callers that were received while a lease is being acquired. */
  readonly #received = new Map<CachedTask<S>, TaskEvent<S>[]>()

  constructor(context: DurableContext<S>) {
    this.#context = context
  }

  onChanged(cached: CachedTask<S>, events: readonly TaskEvent<S>[]): void {
    this.#received.get(cached)?.push(...events)
  }

  /**
   * Concurrent calls for one task share one request and its result.
   *
   * @param isTaken - Whether to take a parked task in any state. Default is only one that waits for the user.
   */
  acquire(
    taskId: string,
    note: LeaseNote,
    handler: GrantHandler<S>,
    isTaken = false,
  ): Promise<AcquireResult<S>> {
    const pending = this.#pending.get(taskId)
    if (pending !== undefined) return pending
    const acquired = this.#context.cache
      .use(taskId, true, (cached) => this.#acquire(cached, note, handler, isTaken))
      .finally(() => this.#pending.delete(taskId))
    this.#pending.set(taskId, acquired)
    return acquired
  }

  async #acquire(
    cached: CachedTask<S>,
    note: LeaseNote,
    handler: GrantHandler<S>,
    isTaken: boolean,
  ): Promise<AcquireResult<S>> {
    const { key, record } = cached
    const received: TaskEvent<S>[] = []
    this.#received.set(cached, received)
    const attempts: Attempt[] = []
    let since = record.task.generation
    let grant: Grant | undefined
    try {
      grant = await this.#request(cached, note, attempts, isTaken)
      const isLatest = grant?.leaseId === attempts.at(-1)?.id
      if (grant !== undefined && isLatest) since = grant.generation
      // Reads what the previous holder did.
      await cached.refresh()
      if (cached.isGone) throw taskNotFound(key.id)
      const { state } = cached.record.task
      if (grant === undefined || isTerminal(state, this.#context.settings.lifecycle))
        throw terminal({ id: key.id, state }, 'update')
      const { leaseId } = grant
      if (!(await this.#isOwn(cached, leaseId, attempts))) return { type: 'elsewhere', leaseId }
      const left = leftBehind(cached, note, grant, attempts)
      const recovered = left && (await this.#recover(cached, leaseId, left, note, handler))
      if (recovered !== undefined) return recovered
      const changes = received.filter(({ generation }) => generation > since)
      return handler.onGranted(cached, leaseId, changes)
    } catch (error) {
      await this.#giveBack(cached, leftBehind(cached, note, grant, attempts), attempts, since)
      throw error
    } finally {
      this.#received.delete(cached)
    }
  }

  /** @param attempts - Receives each attempt before it is made. */
  async #request(
    { key, record }: CachedTask<S>,
    note: LeaseNote,
    attempts: Attempt[],
    isTaken: boolean,
  ): Promise<Grant | undefined> {
    const { storeClient, settings } = this.#context
    const { store, leaseMs, lifecycle } = settings
    const acquire = (): Promise<Grant | undefined> =>
      storeClient.callWithRetry('acquire', () => {
        const id = randomId()
        attempts.push({ id, madeAt: storeClient.now() })
        return store.acquire(key, { id, ttlMs: leaseMs, note: toStoredNote(note) })
      })
    const isWaiting = (grant: Grant | undefined): boolean =>
      grant?.leaseId === PARKED && (isTaken || isInterrupted(record.task.state, lifecycle))
    let grant = await acquire()
    // The turn also waits for a time or a signal. The answer does not wait for that. Maintenance may park the task again.
    for (let left = MAX_ATTEMPTS; isWaiting(grant); left -= 1) {
      if (left === 0) throw new Error('Maintenance parks the task again and again')
      await storeClient.callWithRetry('renew', () => store.renew([{ key, id: PARKED }], 0))
      grant = await acquire()
    }
    return grant
  }

  /** Whether one of the attempts has the lease. One that was made longer ago than a lease lasts may have lost it again. */
  async #isOwn({ key }: CachedTask<S>, id: string, attempts: readonly Attempt[]): Promise<boolean> {
    const { storeClient, settings } = this.#context
    const { store, leaseMs } = settings
    const granted = attempts.find((attempt) => attempt.id === id)
    if (granted === undefined || storeClient.now() - granted.madeAt < leaseMs) return granted !== undefined
    const renewed = await storeClient.callWithRetry('renew', () => store.renew([{ key, id }], leaseMs))
    return renewed.includes(id)
  }

  /**
   * Recovers a task whose holder has died, as maintenance would have done later, so that the new request does not displace
   * the unfinished one. Resolves to `undefined` when nothing is unfinished, or the task should fail and cannot.
   */
  async #recover(
    cached: CachedTask<S>,
    leaseId: string,
    { note: leftNote }: Replaced,
    { worker }: LeaseNote,
    handler: GrantHandler<S>,
  ): Promise<AcquireResult<S> | undefined> {
    const { storeClient, settings } = this.#context
    const { store, leaseMs: ttlMs, maxRestarts, lifecycle } = settings
    if (isInterrupted(cached.record.task.state, lifecycle)) return undefined
    const left = fromStoredNote(leftNote)
    if (left.worker !== worker) return await this.#putBack(cached, leaseId, left)
    const replaced = await countRestarts(this.#context, cached, left)
    if (replaced.restarts >= maxRestarts) {
      if (!(await failAbandoned(this.#context, cached, leaseId, replaced))) return undefined
      throw terminal(cached.record.task, 'update')
    }
    // A process has it now, so it waits in no queue. If this process dies, it is handed out soon.
    const restarted = { ...restartedNote(cached, replaced), handedOut: undefined }
    const { key } = cached
    await replaceNote(this.#context, key, { id: leaseId, ttlMs, note: toStoredNote(restarted) })
    const renew = (): Promise<readonly string[]> => store.renew([{ key, id: leaseId }], ttlMs)
    const [renewed] = await storeClient.callWithRetry('renew', renew)
    if (renewed === undefined) return { type: 'elsewhere', leaseId }
    return handler.onRecovered(cached, leaseId, restarted)
  }

  /** Lets the lease expire again, with the note of the dead holder: another worker recovers the task. */
  async #putBack({ key }: CachedTask<S>, leaseId: string, replaced: LeaseNote): Promise<AcquireResult<S>> {
    await replaceNote(this.#context, key, { id: leaseId, ttlMs: 1, note: toStoredNote(replaced) })
    return { type: 'elsewhere', leaseId }
  }

  /** Ends the attempts with these ids. Released, the task of a dead holder would look as if nothing were left to do. */
  async #giveBack(
    cached: CachedTask<S>,
    left: Replaced | undefined,
    attempts: readonly Attempt[],
    since: number,
  ): Promise<void> {
    const { report } = this.#context.storeClient
    const end = async (id: string): Promise<unknown> =>
      left === undefined
        ? await this.#releaseUnused(cached.key, id, since)
        : await this.#putBack(cached, id, fromStoredNote(left.note)).catch(report)
    await Promise.all(attempts.map(({ id }) => end(id)))
  }

  /**
   * Releases a lease that nothing will be done under, so that other processes need not wait until it expires. When a message
   * was sent under it, the lease expires instead, and maintenance recovers the task.
   */
  async #releaseUnused(key: TaskKey, leaseId: string, since: number): Promise<void> {
    const { storeClient, settings } = this.#context
    const release = (): Promise<boolean> => settings.store.release(key, leaseId, since)
    await storeClient.call('release', release).catch(storeClient.report)
  }
}

/**
 * What a dead holder has left. Where the answer that said so was lost, its note is lost too, but the log shows whether a turn is
 * open.
 */
function leftBehind<S extends string>(
  { record: { task } }: CachedTask<S>,
  { worker }: LeaseNote,
  grant: Grant | undefined,
  attempts: readonly Attempt[],
): Replaced | undefined {
  const isAnswered = grant !== undefined && grant.leaseId === attempts.at(-1)?.id
  if (isAnswered || task.turn === undefined) return grant?.replaced
  return { note: toStoredNote({ ...NO_NOTE, worker }) }
}
