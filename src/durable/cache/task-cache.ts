/**
 * The mirrors that this process has, and how long it keeps them.
 *
 * @module
 */
import { A2AError, ended, invalidParams, taskNotFound } from '../../core/errors.js'
import { describe } from '../../runtime/describe.js'
import { TaskRecord } from '../../core/task-record.js'
import { instantOf } from '../../core/timeline.js'
import { usageOf } from '../../core/sizes.js'
import { Checkpoints, endingOf, unfold, unreadable } from './checkpoint.js'
import { TaskMirror, type MirrorHost } from './cached-task.js'
import type { TaskKey } from '../../core/task.js'

/** How many are looked at, to find one that nobody needs, for each that is added. */
const LOOKED_AT = 8
/** How often a change is refused before it is told. */
const MAX_TRIES = 100
/** How often a task is looked for that is gone each time that it is found. */
const MAX_FINDS = 10

export class Mirrors<S extends string> {
  readonly #host: MirrorHost<S>
  /** Least recently used first. */
  readonly #byId = new Map<string, TaskMirror<S>>()
  #isClosed = false

  constructor(host: MirrorHost<S>) {
    this.#host = host
  }

  /** The task, if it is in memory. */
  get(taskId: string): TaskMirror<S> | undefined {
    return this.#byId.get(taskId)
  }

  all(): TaskMirror<S>[] {
    return [...this.#byId.values()]
  }

  /** Those that somebody follows, or works on. */
  inUse(): TaskMirror<S>[] {
    return this.all().filter((mirror) => mirror.isStored && mirror.isInUse)
  }

  add(mirror: TaskMirror<S>): void {
    this.#byId.set(mirror.key.id, mirror)
    let looks = 0
    for (const [id, oldest] of this.#byId) {
      if (this.#byId.size <= this.#host.settings.maxCached || looks++ >= LOOKED_AT) return
      this.#byId.delete(id)
      if (oldest.isInUse || oldest === mirror) this.#byId.set(id, oldest)
    }
  }

  /**
   * Whether a task of this id is in use here, or being created. One that is only remembered may be gone: the store knows.
   *
   * @throws {A2AError} `MANAGER_DESTROYED`.
   */
  isTaken(taskId: string): boolean {
    this.#requireOpen(taskId)
    const known = this.#byId.get(taskId)
    return known !== undefined && !known.isGone && known.isInUse
  }

  remove(mirror: TaskMirror<S>): void {
    if (this.#byId.get(mirror.key.id) === mirror) this.#byId.delete(mirror.key.id)
  }

  close(): void {
    this.#isClosed = true
    this.#byId.clear()
  }

  /**
   * Does something with a task, which stays in memory meanwhile.
   *
   * @param isFresh - Whether it has to know all that others had done before this was called.
   * @throws {A2AError} `TASK_NOT_FOUND`, `STORE_FAILED`, as a rejection.
   */
  async use<T>(taskId: string, isFresh: boolean, job: (mirror: TaskMirror<S>) => T | Promise<T>): Promise<T> {
    const mirror = await this.take(taskId, isFresh)
    if (mirror === undefined) throw taskNotFound(taskId)
    try {
      this.#requireOpen(taskId)
      // Others have had their turn since it was found.
      if (mirror.isGone) throw taskNotFound(taskId)
      return await job(mirror)
    } finally {
      mirror.uses -= 1
    }
  }

  /** What `job` makes of the task as it is now; `null` when there is none. */
  async read<T>(taskId: string, job: (record: TaskRecord<S>) => T | null): Promise<T | null> {
    const mirror = await this.take(taskId, true)
    if (mirror === undefined) return null
    mirror.uses -= 1
    return job(mirror.record)
  }

  /**
   * Changes a task. What is refused is tried again when all is known that others had done by then.
   *
   * @param make - Throws when the change is refused, and otherwise promises that it is stored.
   */
  async change<T>(taskId: string, make: (mirror: TaskMirror<S>) => Promise<T>): Promise<T> {
    for (;;) {
      const wasKnown = this.#byId.has(taskId)
      try {
        return await this.use(taskId, false, (mirror) => tryAgain(mirror, make))
      } catch (error) {
        // Another task may have its id by now.
        if (!wasKnown || !A2AError.is(error, 'TASK_NOT_FOUND')) throw error
      }
    }
  }

  /** Counted as in use, by the caller: between finding it and using it there may be turns of others. */
  async take(taskId: string, isFresh: boolean): Promise<TaskMirror<S> | undefined> {
    if (typeof taskId !== 'string') throw invalidParams('taskId', `must be a string, got ${describe(taskId)}`)
    for (let finds = 0; finds < MAX_FINDS; finds += 1) {
      this.#requireOpen(taskId)
      const known = this.#use(this.#byId.get(taskId)) ?? (await this.#load(taskId))
      if (known === undefined) return undefined
      try {
        const isStillThere = await isUsable(known, isFresh)
        this.#requireOpen(taskId)
        if (isStillThere) return this.#touch(known)
      } catch (error) {
        known.uses -= 1
        throw error
      }
      known.uses -= 1
      this.remove(known)
    }
    throw unreadable(`The store gives task ${taskId}, and says that it is not there`)
  }

  /** The task, counted as in use, if it has been followed here all the time: then all is known that others did. */
  takeFollowed(key: TaskKey): TaskMirror<S> | undefined {
    const known = this.#byId.get(key.id)
    const isFollowed = known?.key.createdAt === key.createdAt && known.isStored && known.isInUse
    return isFollowed ? this.#use(known) : undefined
  }

  #requireOpen(taskId: string): void {
    if (this.#isClosed) throw ended('MANAGER_DESTROYED', taskId)
  }

  #use(mirror: TaskMirror<S> | undefined): TaskMirror<S> | undefined {
    if (mirror !== undefined) mirror.uses += 1
    return mirror
  }

  /** It is the latest used now. */
  #touch(mirror: TaskMirror<S>): TaskMirror<S> {
    this.#byId.delete(mirror.key.id)
    this.#byId.set(mirror.key.id, mirror)
    return mirror
  }

  /** Counted as in use already: others that are loaded shall not push it out before it is used. */
  async #load(taskId: string): Promise<TaskMirror<S> | undefined> {
    const { settings, access } = this.#host
    const stored = await access.insist('get', () => settings.store.get(taskId))
    if (stored === undefined) return undefined
    const task = unfold(stored, settings.lifecycle)
    const created = instantOf(Date.parse(task.createdAt))
    const record = new TaskRecord(task, created, usageOf(task), task.generation)
    record.over = endingOf(task)
    const other = this.#use(this.#byId.get(taskId))
    // Somebody else has loaded it meanwhile, earlier or later: nobody knows.
    if (other !== undefined) return other
    const mirror = new TaskMirror(this.#host, record, new Checkpoints(stored.checkpoint, stored.events))
    mirror.uses = 1
    this.add(mirror)
    return mirror
  }
}

async function tryAgain<S extends string, T>(
  mirror: TaskMirror<S>,
  make: (mirror: TaskMirror<S>) => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    let stored: Promise<T>
    try {
      stored = make(mirror)
    } catch (error) {
      if (mirror.isGone || tries > MAX_TRIES || !(await hasMoved(mirror))) throw error
      continue
    }
    return await stored
  }
}

/** Whether the task is not what it was, once what was on its way has arrived and what others did is known. */
async function hasMoved<S extends string>(mirror: TaskMirror<S>): Promise<boolean> {
  const { isBusy } = mirror
  const { generation } = mirror.tip.task
  await mirror.settle()
  await mirror.refresh()
  return isBusy || mirror.record.task.generation !== generation
}

async function isUsable<S extends string>(mirror: TaskMirror<S>, isFresh: boolean): Promise<boolean> {
  // It may be being created.
  if (!mirror.isStored) await mirror.settle()
  if (isFresh && !mirror.isGone) await mirror.refresh()
  return !mirror.isGone
}
