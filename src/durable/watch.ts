/**
 * Looking for what other processes did to tasks that somebody here follows.
 *
 * @module
 */
import type { Deadline, Timeline } from '../core/time.js'
import type { Mirrors } from './mirrors.js'
import type { DurableSettings } from './options.js'
import type { StoreAccess } from './store-access.js'

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
  readonly #unpublished = new Set<string>()
  #publishing: Promise<void> | undefined
  #isClosed = false

  constructor(settings: DurableSettings<S>, access: StoreAccess, mirrors: Mirrors<S>, timeline: Timeline) {
    this.#settings = settings
    this.#access = access
    this.#mirrors = mirrors
    this.#timeline = timeline
  }

  /** Somebody follows a task: from now on there is something to look for. */
  begin(): void {
    if (this.#isClosed) return
    this.#deadline ??= this.#timeline.add(this.#settings.pollIntervalMs, () => void this.#poll())
    const { hints } = this.#settings.store
    if (hints === undefined || this.#listening !== undefined) return
    const listen = async (): Promise<() => Promise<void>> => {
      const stop = await hints.listen(
        (taskId) => this.#look(taskId),
        () => void this.#lookAtAll(),
      )
      // What was done before was not heard of.
      void this.#lookAtAll()
      return stop
    }
    this.#listening = this.#access.once('listen', listen).catch((error: unknown) => {
      // At the next look it may be possible.
      this.#listening = undefined
      this.#access.report(error)
      return undefined
    })
  }

  /** Lets others know that there is something to look at. */
  publish(taskId: string): void {
    if (this.#settings.store.hints === undefined || this.#isClosed) return
    this.#unpublished.add(taskId)
    this.#publishing ??= this.#publish()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#deadline !== undefined) this.#timeline.remove(this.#deadline)
    const listening = this.#listening
    this.#listening = undefined
    await this.#publishing
    const stop = await listening
    await stop?.().catch(this.#access.report)
  }

  /** One call at a time: what gathers meanwhile goes together. */
  async #publish(): Promise<void> {
    while (this.#unpublished.size > 0) {
      const taskIds = [...this.#unpublished]
      this.#unpublished.clear()
      const publish = (): Promise<void> => this.#settings.store.hints?.publish(taskIds) ?? Promise.resolve()
      await this.#access.once('publish', publish).catch(this.#access.report)
    }
    this.#publishing = undefined
  }

  #look(taskId: string): void {
    const mirror = this.#mirrors.get(taskId)
    if (mirror === undefined || !mirror.isInUse || this.#isClosed) return
    mirror.refresh().catch(this.#access.report)
  }

  async #poll(): Promise<void> {
    this.#deadline = undefined
    await this.#lookAtAll()
    if (this.#mirrors.inUse().length > 0) this.begin()
  }

  async #lookAtAll(): Promise<void> {
    const mirrors = this.#mirrors.inUse()
    for (let start = 0; start < mirrors.length && !this.#isClosed; start += PAGE) {
      const page = mirrors.slice(start, start + PAGE)
      try {
        const ids = page.map(({ key }) => key.id)
        const heads = await this.#access.once('heads', () => this.#settings.store.heads(ids))
        const byId = new Map(heads.map((head) => [head.id, head]))
        const moved = page.filter(({ key, record }) => {
          const head = byId.get(key.id)
          return head?.createdAt !== key.createdAt || head.generation !== record.task.generation
        })
        await Promise.all(moved.map((mirror) => mirror.refresh()))
      } catch (error) {
        this.#access.report(error)
      }
    }
  }
}
