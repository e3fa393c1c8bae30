/**
 * Detection of changes that other processes make to the tasks in use here: polling, and hints where the store has them.
 *
 * @module
 */
import type { Deadline, Timeline } from '../../core/timeline.js'
import type { TaskCache } from './task-cache.js'
import type { DurableSettings } from '../options.js'
import type { StoreClient } from '../store-client.js'
import type { CachedTask } from './cached-task.js'
import type { Hint } from '../task-store.js'

/** The most tasks in one request. */
const PAGE = 500
/** The generation of a hint that says that the turn of a task waits for a process. No task has it. */
const DUE = 0

/** Polls every `pollIntervalMs` while tasks are in use. A hint refreshes one task earlier. */
export class ChangeWatcher<S extends string> {
  readonly #settings: DurableSettings<S>
  readonly #storeClient: StoreClient
  readonly #cache: TaskCache<S>
  readonly #timeline: Timeline
  #deadline: Deadline | undefined
  #listening: Promise<(() => Promise<void>) | undefined> | undefined
  readonly #unpublished = new Map<string, number>()
  /** Tasks whose turns wait for a process that takes them, and that no hint has named. */
  readonly #due = new Set<string>()
  #onDue = (): void => {}
  #publishing: Promise<void> | undefined
  #isPolling = false
  #isCheckDue = false
  #checking: Promise<void> | undefined
  /** When the last comparison of all tasks in use began that succeeded, or when the first task was in use. */
  #comparedAt: number | undefined
  readonly #followers = new Set<() => void>()
  #isClosed = false
  readonly #closing = new AbortController()

  constructor(
    settings: DurableSettings<S>,
    storeClient: StoreClient,
    cache: TaskCache<S>,
    timeline: Timeline,
  ) {
    this.#settings = settings
    this.#storeClient = storeClient
    this.#cache = cache
    this.#timeline = timeline
  }

  /** A task is in use: starts to poll, and to listen for hints. */
  begin(): void {
    if (this.#isClosed) return
    this.#comparedAt ??= this.#storeClient.now()
    // A poll that is under way schedules the next one when it ends.
    if (!this.#isPolling) {
      this.#deadline ??= this.#timeline.add(this.#settings.pollIntervalMs, () => void this.#poll())
    }
    const { hints } = this.#settings.store
    if (hints === undefined || this.#listening !== undefined) return
    const listen = async (): Promise<() => Promise<void>> => {
      const stop = await hints.listen(
        (hint) => this.#onHint(hint),
        () => {
          this.#notifyFollowers()
          void this.#requestCheck()
        },
        this.#closing.signal,
      )
      if (this.#isClosed) {
        await stop()
        return () => Promise.resolve()
      }
      // Hints that were published before are lost.
      this.#notifyFollowers()
      void this.#requestCheck()
      return stop
    }
    // No time limit: some drivers wait until they can connect, and polling works without hints.
    this.#listening = this.#storeClient.call('listen', listen, Infinity).catch((error: unknown) => {
      // The next call of `begin` tries again.
      this.#listening = undefined
      this.#storeClient.report(error)
      return undefined
    })
  }

  /**
   * Calls `onNews` once when any task may have changed: at a hint, at a change of this process, and at the latest after
   * `pollIntervalMs`. Returns a function that stops this.
   */
  follow(onNews: () => void): () => void {
    this.#followers.add(onNews)
    this.begin()
    return () => void this.#followers.delete(onNews)
  }

  /** The time since the last comparison with the store that succeeded, in ms; 0 while no task is in use. */
  get lagMs(): number {
    return this.#comparedAt === undefined ? 0 : Math.max(0, this.#storeClient.now() - this.#comparedAt)
  }

  /** Publishes a hint that this process has changed the task. */
  publish({ taskId, generation }: Hint): void {
    this.#notifyFollowers()
    if (this.#settings.store.hints === undefined || this.#isClosed) return
    this.#unpublished.set(taskId, generation)
    this.#publishing ??= this.#publish()
  }

  /** Calls `onDue` when the turn of a task waits for a process that takes it. */
  whenDue(onDue: () => void): void {
    this.#onDue = onDue
  }

  notifyDue(): void {
    if (!this.#isClosed) this.#onDue()
  }

  /** Publishes a hint that the turn of the task waits for a process that takes it. */
  publishDue(taskId: string): void {
    this.notifyDue()
    if (this.#settings.store.hints === undefined || this.#isClosed) return
    this.#due.add(taskId)
    this.#publishing ??= this.#publish()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#deadline !== undefined) this.#timeline.remove(this.#deadline)
    const listening = this.#listening
    this.#listening = undefined
    this.#closing.abort()
    await Promise.all([this.#publishing, this.#checking])
    const stop = await listening
    if (stop !== undefined) await this.#storeClient.call('listen', stop).catch(this.#storeClient.report)
  }

  /** Publishes with one call at a time. Hints that gather during a call go together into the next. */
  async #publish(): Promise<void> {
    while (this.#unpublished.size + this.#due.size > 0) {
      const due = [...this.#due].map((taskId) => ({ taskId, generation: DUE }))
      const changed = [...this.#unpublished].map(([taskId, generation]) => ({ taskId, generation }))
      const hints = [...changed, ...due]
      this.#unpublished.clear()
      this.#due.clear()
      const publish = (): Promise<void> => this.#settings.store.hints?.publish(hints) ?? Promise.resolve()
      await this.#storeClient.call('publish', publish).catch(this.#storeClient.report)
    }
    this.#publishing = undefined
  }

  #notifyFollowers(): void {
    for (const notify of this.#followers) notify()
    this.#followers.clear()
  }

  #onHint({ taskId, generation }: Hint): void {
    if (generation === DUE) {
      this.notifyDue()
      return
    }
    this.#notifyFollowers()
    const cached = this.#cache.get(taskId)
    if (cached === undefined || !cached.isInUse || this.#isClosed) return
    // The hints that this process publishes come back to it.
    if (cached.record.task.generation >= generation) return
    cached.refresh().catch(this.#storeClient.report)
  }

  async #poll(): Promise<void> {
    this.#deadline = undefined
    this.#isPolling = true
    await this.#requestCheck()
    this.#isPolling = false
    this.#notifyFollowers()
    if (this.#cache.inUse().length > 0) this.begin()
    else this.#comparedAt = undefined
  }

  /** Checks all tasks in use, one pass at a time. A request during a pass starts another one after it. */
  #requestCheck(): Promise<void> {
    this.#isCheckDue = true
    this.#checking ??= this.#checkWhileDue()
    return this.#checking
  }

  async #checkWhileDue(): Promise<void> {
    while (this.#isCheckDue && !this.#isClosed) {
      this.#isCheckDue = false
      await this.#checkAll()
    }
    this.#checking = undefined
  }

  async #checkAll(): Promise<void> {
    const tasks = this.#cache.inUse()
    const startedAt = this.#storeClient.now()
    let isComplete = true
    for (let start = 0; start < tasks.length && !this.#isClosed; start += PAGE) {
      const isChecked = await this.#check(tasks.slice(start, start + PAGE)).then(
        () => true,
        (error: unknown) => {
          this.#storeClient.report(error)
          return false
        },
      )
      isComplete &&= isChecked
    }
    if (isComplete) this.#comparedAt = startedAt
  }

  async #check(tasks: readonly CachedTask<S>[]): Promise<void> {
    const ids = tasks.map(({ key }) => key.id)
    const heads = await this.#storeClient.call('heads', () => this.#settings.store.heads(ids))
    if (this.#isClosed) return
    const byId = new Map(heads.map((head) => [head.id, head]))
    const moved = tasks.filter(({ key, record, isBusy }) => {
      // A commit detects conflicts by itself, and a refresh would wait for it.
      if (isBusy) return false
      const head = byId.get(key.id)
      return head?.createdAt !== key.createdAt || head.generation !== record.task.generation
    })
    await Promise.all(moved.map((cached) => cached.refresh()))
  }
}
