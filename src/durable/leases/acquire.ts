/**
 * Taking the lease of a task, and hearing what others send under it from that very moment on.
 *
 * @module
 */
import { terminal } from '../../core/decide.js'
import { taskNotFound } from '../../core/errors.js'
import type { TaskEvent } from '../../core/events.js'
import { isInterrupted, isTerminal } from '../../core/lifecycle.js'
import { randomId } from '../../runtime/ids.js'
import type { JsonValue } from '../../core/json-types.js'
import type { TaskKey } from '../../core/task.js'
import { failAbandoned } from './fail-abandoned.js'
import { fromStoredNote, toStoredNote, type LeaseNote } from './lease-note.js'
import type { Taking } from '../../core/managers.js'
import type { TaskMirror } from '../cache/cached-task.js'
import type { Workshop } from '../context.js'

/** How a task comes to be held here: from then on it is heard what others do. */
interface Holder<S extends string> {
  /** @param news - What they did under the lease so far. */
  hold(mirror: TaskMirror<S>, leaseId: string, news: readonly TaskEvent<S>[]): Taking<S>
  /** Of a task whose holder has died. */
  adopt(mirror: TaskMirror<S>, leaseId: string, note: LeaseNote): Taking<S>
}

export class Takings<S extends string> {
  readonly #shop: Workshop<S>
  readonly #underWay = new Map<string, Promise<Taking<S>>>()
  /** What others do meanwhile. */
  readonly #heard = new Map<TaskMirror<S>, TaskEvent<S>[]>()

  constructor(shop: Workshop<S>) {
    this.#shop = shop
  }

  onNews(mirror: TaskMirror<S>, events: readonly TaskEvent<S>[]): void {
    this.#heard.get(mirror)?.push(...events)
  }

  /** Whoever wants a task that is being taken gets the same answer. */
  take(taskId: string, note: JsonValue, holder: Holder<S>): Promise<Taking<S>> {
    const present = this.#underWay.get(taskId)
    if (present !== undefined) return present
    const { mirrors } = this.#shop
    const taking = mirrors
      .use(taskId, true, (mirror) => this.#take(mirror, note, holder))
      .finally(() => this.#underWay.delete(taskId))
    this.#underWay.set(taskId, taking)
    return taking
  }

  async #take(mirror: TaskMirror<S>, note: JsonValue, holder: Holder<S>): Promise<Taking<S>> {
    const { access, settings } = this.#shop
    const { store, leaseMs, lifecycle } = settings
    const { key } = mirror
    const heard: TaskEvent<S>[] = []
    this.#heard.set(mirror, heard)
    // One whose answer was lost may have been carried out, some time since: each attempt has an id of its own, which tells.
    const ids: string[] = []
    let since = mirror.record.task.generation
    try {
      const grant = await access.insist('acquire', () => {
        const id = randomId()
        ids.push(id)
        return store.acquire(key, { id, ttlMs: leaseMs, note })
      })
      if (grant !== undefined && grant.leaseId === ids.at(-1)) since = grant.generation
      // What the holder before did is known then.
      await mirror.refresh()
      if (mirror.isGone) throw taskNotFound(key.id)
      const { state } = mirror.record.task
      if (grant === undefined || isTerminal(state, lifecycle)) throw terminal({ id: key.id, state }, 'update')
      const { leaseId } = grant
      if (!ids.includes(leaseId)) return { type: 'elsewhere', leaseId }
      if (grant.replaced !== undefined && !isInterrupted(state, lifecycle)) {
        const adopted = await this.#recover(mirror, leaseId, fromStoredNote(grant.replaced.note), holder)
        if (adopted !== undefined) return adopted
      }
      const news = heard.filter(({ generation }) => generation > since)
      return holder.hold(mirror, leaseId, news)
    } catch (error) {
      await Promise.all(ids.map((id) => this.#giveUp(key, id, since)))
      throw error
    } finally {
      this.#heard.delete(mirror)
    }
  }

  /**
   * Does what is done to a task whose holder has died, as nobody has come to it yet: what was asked of it before is not to
   * be forgotten over what is asked now. `undefined` where a task cannot fail.
   */
  async #recover(
    mirror: TaskMirror<S>,
    leaseId: string,
    { restarts, note }: LeaseNote,
    holder: Holder<S>,
  ): Promise<Taking<S> | undefined> {
    const { access, settings } = this.#shop
    const { store, leaseMs: ttlMs, maxRestarts } = settings
    if (restarts >= maxRestarts) {
      if (!(await failAbandoned(this.#shop, mirror, leaseId))) return undefined
      throw terminal(mirror.record.task, 'update')
    }
    const noted = { restarts: restarts + 1, note }
    const lease = { id: leaseId, ttlMs, note: toStoredNote(noted) }
    await access.insist('acquire', () => store.acquire(mirror.key, lease))
    return holder.adopt(mirror, leaseId, noted)
  }

  /** Nobody would work on it, nor anybody else be let to. One that was sent to is left to whoever finds the lease run out. */
  async #giveUp(key: TaskKey, leaseId: string, since: number): Promise<void> {
    const { access, settings } = this.#shop
    await access.once('release', () => settings.store.release(key, leaseId, since)).catch(access.report)
  }
}
