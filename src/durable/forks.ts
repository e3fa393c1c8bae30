/**
 * Forks of tasks in a store.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound } from '../core/errors.js'
import { requireDeadLetter, toFork, toRedrive, type Fork, type ForkOptions } from '../core/history/fork.js'
import type { TaskDocuments } from '../core/managers.js'
import type { RequireRoom } from '../core/queries.js'
import { recordOf } from '../core/task-record.js'
import { REDRIVE } from '../runtime/document-kinds.js'
import { keyOf, type Task, type TaskKey } from '../core/task.js'
import { copyOf } from './cache/change.js'
import { LogReader } from './cache/log-reader.js'
import type { DurableContext } from './context.js'
import { requireUnused } from './create-task.js'
import { NO_NOTE, PARKED, toStoredNote } from './leases/lease-note.js'

/** The id of the document beside a dead letter that names the task which continues it. */
const ID = 'task'

interface Claim {
  readonly taskId: string
  /** Whether the task is known to be stored. Until then, the dead letter stays in the list. */
  readonly isMade?: boolean | undefined
}

/** The document of a dead letter that was redriven: its kind, its id and its value. */
export function madeClaim(taskId: string): [kind: string, id: string, value: Claim] {
  return [REDRIVE, ID, { taskId, isMade: true }]
}

/** The task that continues a dead letter. */
export async function redrivenAs(
  documents: Pick<TaskDocuments, 'documents'>,
  key: TaskKey,
): Promise<string | undefined> {
  const claim = await claimOf(documents, key)
  return claim?.isMade === true ? claim.taskId : undefined
}

async function claimOf(
  documents: Pick<TaskDocuments, 'documents'>,
  key: TaskKey,
): Promise<Claim | undefined> {
  const [document] = await documents.documents(key, REDRIVE)
  // This file wrote it.
  return document?.value as Claim | undefined
}

export class StoredForks<S extends string> {
  readonly #context: DurableContext<S>
  readonly #documents: TaskDocuments
  readonly #recoverSoon: () => void

  /** @param recoverSoon - Continues the work of expired leases in this process. */
  constructor(context: DurableContext<S>, documents: TaskDocuments, recoverSoon: () => void) {
    this.#context = context
    this.#documents = documents
    this.#recoverSoon = recoverSoon
  }

  async fork(taskId: string, options: ForkOptions, requireRoom: RequireRoom): Promise<Task<S>> {
    const log = await new LogReader<S>(this.#context, taskId, { after: 0 }).rest()
    return await this.#make(toFork(log, options, this.#context.settings), requireRoom)
  }

  /**
   * First the id of the new task is stored beside the dead letter, then the task is created under this id. So calls at once
   * create one task, and a call after the death of a process completes what that one began.
   */
  async redrive(taskId: string, requireRoom: RequireRoom): Promise<Task<S>> {
    const { settings, cache } = this.#context
    const letter = await cache.read(taskId, copyOf)
    if (letter === null) throw taskNotFound(taskId)
    requireDeadLetter(letter)
    const key = keyOf(letter)
    const { taskId: id, isMade = false } = await this.#claim(key)
    if (!isMade) {
      const log = await new LogReader<S>(this.#context, taskId, { after: 0 }).rest()
      const made = await this.#makeOnce(toRedrive(log, id, settings), requireRoom)
      const value = { taskId: id, isMade: true }
      await this.#documents.putDocument({ key, kind: REDRIVE, id: ID, value }, 1)
      if (made !== undefined) return made
    }
    const present = await cache.read(id, copyOf)
    if (present === null) throw invalidParams('taskId', `was redriven as ${id}, which has been removed since`)
    return present
  }

  async redriven(tasks: readonly TaskKey[]): Promise<ReadonlySet<string>> {
    const ids = await Promise.all(tasks.map((task) => redrivenAs(this.#documents, keyOf(task))))
    return new Set(tasks.flatMap(({ id }, index) => (ids[index] === undefined ? [] : [id])))
  }

  /** The id of the task that continues the dead letter: the one that is stored, or a new one. */
  async #claim(key: TaskKey): Promise<Claim> {
    const known = await claimOf(this.#documents, key)
    if (known !== undefined) return known
    const value = { taskId: this.#context.settings.generateId() }
    await this.#documents.putDocument({ key, kind: REDRIVE, id: ID, value }, 0)
    // Another call may have been faster, and a repeated write is refused after the first attempt succeeded.
    const stored = await claimOf(this.#documents, key)
    if (stored === undefined) throw taskNotFound(key.id)
    return stored
  }

  /** `undefined` when there is a task with the id already. */
  async #makeOnce(fork: Fork<S>, requireRoom: RequireRoom): Promise<Task<S> | undefined> {
    try {
      return await this.#make(fork, requireRoom)
    } catch (error) {
      if (A2AError.is(error, 'INVALID_PARAMS') && error.data.path === 'id') return undefined
      throw error
    }
  }

  /** Stores the task with an expired lease, so that any process continues it, as it does a task that has slept. */
  async #make({ id, log, isWorking }: Fork<S>, requireRoom: RequireRoom): Promise<Task<S>> {
    const { settings, timeline, cache, observers, storeClient } = this.#context
    storeClient.requireOpen()
    await requireUnused(cache, id)
    const now = timeline.now()
    const events = log(now.iso)
    const [{ owner = null }] = events
    await requireRoom({ owner }, isWorking)
    const record = recordOf(events, now, settings.eventLogSize, false)
    const note = toStoredNote({ ...NO_NOTE, restarts: -1, trace: observers.trace() })
    const lease = isWorking ? { id: PARKED, ttlMs: 0, note } : undefined
    const task = await cache.create(record, events, lease).created
    if (isWorking) this.#recoverSoon()
    return task
  }
}
