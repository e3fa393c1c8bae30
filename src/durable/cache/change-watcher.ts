/**
 * Looking for what other processes did to tasks that somebody here follows.
 *
 * @module
 */
import type { Deadline, Timeline } from '../../core/timeline.js'
import type { Mirrors } from './task-cache.js'
import type { DurableSettings } from '../options.js'
import type { StoreAccess } from '../store-client.js'
import type { TaskMirror } from './cached-task.js'
import type { Hint } from '../task-store.js'

/** Of how many tasks the store is asked at a time. */
const PAGE = 500

/** Polls; hints say where to look before it is time to. */
export class Watch<S extends string> {
  readonly #settings: DurableSettings<S>
  readonly #access: StoreAccess
  readonly #mirrors: Mirrors<S>
  readonly #timeline: Timeline
  #deadline: Deadline | undefined
  #listening: Promise<(() => Promise<void>) | undefined> | undefined
  readonly #unpublished = new Map<string, number>()
  #publishing: Promise<void> | undefined
  #isPolling = false
  #isDue = false
  #looking: Promise<void> | undefined
  #isClosed = false
  readonly #over = new AbortController()

  constructor(settings: DurableSettings<S>, access: StoreAccess, mirrors: Mirrors<S>, timeline: Timeline) {
    this.#settings = settings
    this.#access = access
    this.#mirrors = mirrors
    this.#timeline = timeline
  }

  /** Somebody follows a task: from now on there is something to look for. */
  begin(): void {
    if (this.#isClosed) return
    // The next poll comes after this one, however long that takes.
    if (!this.#isPolling) {
      this.#deadline ??= this.#timeline.add(this.#settings.pollIntervalMs, () => void this.#poll())
    }
    const { hints } = this.#settings.store
    if (hints === undefined || this.#listening !== undefined) return
    const listen = async (): Promise<() => Promise<void>> => {
      const stop = await hints.listen(
        (hint) => this.#look(hint),
        () => void this.#lookAtAll(),
        this.#over.signal,
      )
      if (this.#isClosed) {
        await stop()
        return () => Promise.resolve()
      }
      // What was done before was not heard of.
      void this.#lookAtAll()
      return stop
    }
    // Some drivers wait until they can: polling does meanwhile.
    this.#listening = this.#access.once('listen', listen, Infinity).catch((error: unknown) => {
      // At the next look it may be possible.
      this.#listening = undefined
      this.#access.report(error)
      return undefined
    })
  }

  /** Lets others know that there is something to look at. */
  publish({ taskId, generation }: Hint): void {
    if (this.#settings.store.hints === undefined || this.#isClosed) return
    this.#unpublished.set(taskId, generation)
    this.#publishing ??= this.#publish()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#deadline !== undefined) this.#timeline.remove(this.#deadline)
    const listening = this.#listening
    this.#listening = undefined
    this.#over.abort()
    await Promise.all([this.#publishing, this.#looking])
    const stop = await listening
    if (stop !== undefined) await this.#access.once('listen', stop).catch(this.#access.report)
  }

  /** One call at a time: what gathers meanwhile goes together. */
  async #publish(): Promise<void> {
    while (this.#unpublished.size > 0) {
      const hints = [...this.#unpublished].map(([taskId, generation]) => ({ taskId, generation }))
      this.#unpublished.clear()
      const publish = (): Promise<void> => this.#settings.store.hints?.publish(hints) ?? Promise.resolve()
      await this.#access.once('publish', publish).catch(this.#access.report)
    }
    this.#publishing = undefined
  }

  #look({ taskId, generation }: Hint): void {
    const mirror = this.#mirrors.get(taskId)
    if (mirror === undefined || !mirror.isInUse || this.#isClosed) return
    // One's own are heard, too.
    if (mirror.record.task.generation >= generation) return
    mirror.refresh().catch(this.#access.report)
  }

  async #poll(): Promise<void> {
    this.#deadline = undefined
    this.#isPolling = true
    await this.#lookAtAll()
    this.#isPolling = false
    if (this.#mirrors.inUse().length > 0) this.begin()
  }

  /** One look at a time; when another is asked for meanwhile, it comes after it. */
  #lookAtAll(): Promise<void> {
    this.#isDue = true
    this.#looking ??= this.#lookWhileDue()
    return this.#looking
  }

  async #lookWhileDue(): Promise<void> {
    while (this.#isDue && !this.#isClosed) {
      this.#isDue = false
      await this.#lookOnce()
    }
    this.#looking = undefined
  }

  async #lookOnce(): Promise<void> {
    const mirrors = this.#mirrors.inUse()
    for (let start = 0; start < mirrors.length && !this.#isClosed; start += PAGE) {
      await this.#lookAt(mirrors.slice(start, start + PAGE)).catch(this.#access.report)
    }
  }

  async #lookAt(mirrors: readonly TaskMirror<S>[]): Promise<void> {
    const ids = mirrors.map(({ key }) => key.id)
    const heads = await this.#access.once('heads', () => this.#settings.store.heads(ids))
    if (this.#isClosed) return
    const byId = new Map(heads.map((head) => [head.id, head]))
    const moved = mirrors.filter(({ key, record, isBusy }) => {
      // What is on its way finds out by itself, and may take long.
      if (isBusy) return false
      const head = byId.get(key.id)
      return head?.createdAt !== key.createdAt || head.generation !== record.task.generation
    })
    await Promise.all(moved.map((mirror) => mirror.refresh()))
  }
}
