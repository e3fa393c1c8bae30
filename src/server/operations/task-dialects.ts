/**
 * The dialect in which each task was created.
 *
 * Some methods have the same name and the same parameters in several dialects: `tasks/get` belongs to 0.3, 0.1 and KAOS.
 * A request that names no version is answered in the dialect in which the client created the task.
 *
 * @module
 */
import type { TaskDocument, TaskDocuments } from '../../core/managers.js'
import { hasLoneSurrogate } from '../../core/json.js'
import type { TaskSnapshot } from '../../core/task.js'
import { ORIGIN } from '../../runtime/document-kinds.js'
import type { Dialect } from '../../wire/dialect.js'
import type { AcceptedMessage } from '../schedule/active-run.js'
import type { Settings } from '../options.js'
import { isShared, lastSeen } from '../tasks.js'
import { ownedBy, type Caller, type Principal } from '../caller.js'
import { keptId } from '../chosen-ids.js'

type Needed = 'tasks' | 'dialects' | 'onError' | 'clock'

/** The dialect of a task, as it is stored. */
interface Origin {
  /** The `version` of the dialect. */
  readonly dialect: string
  readonly principalId: string | null
}

/** A cached answer of the storage: `origin` is `undefined` for a task that has none. */
interface CachedOrigin {
  readonly createdAt: string
  readonly origin: Origin | undefined
}

const MAX_CACHED = 10_000
const MAX_ID = 1_024
/** The dialect of a task is stored after the task; at this age of the task, in ms, it is there or never will be. */
const STORED_AFTER_MS = 60_000

/** Stores dialects in a document beside each task, with a cache in front of a store. */
export class TaskDialects {
  readonly #settings: Pick<Settings, Needed>
  readonly #documents: TaskDocuments
  /** Over a store: the ids of tasks that were created, and whose dialect is not stored yet. */
  readonly #pending = new WeakMap<Caller, string>()
  /** By task id, the oldest entry first. */
  readonly #cache = new Map<string, CachedOrigin>()
  #isClosed = false

  constructor(settings: Pick<Settings, Needed>, documents: TaskDocuments) {
    this.#settings = settings
    this.#documents = documents
  }

  /**
   * Notes that the caller creates a task. Callers that name their version, or use the preferred dialect, are answered
   * correctly without a note.
   */
  note(taskId: string, caller: Caller): void {
    if (caller.namesVersion || caller.dialect === this.#settings.dialects[0]) return
    if (isShared(this.#settings.tasks)) this.#pending.set(caller, taskId)
    // Not at once: the removal of an earlier task with this id may not have reached the documents yet.
    else void Promise.resolve().then(() => this.#store(taskId, caller))
  }

  /** Over a store: resolves as `accepting` does, after what was noted for its task is stored. */
  async afterStoring(accepting: Promise<AcceptedMessage>, caller: Caller): Promise<AcceptedMessage> {
    const accepted = await accepting
    const taskId = this.#pending.get(caller)
    if (accepted.type === 'task' && accepted.taskId === taskId) await this.#store(taskId, caller)
    return accepted
  }

  /** Never rejects. */
  async #store(taskId: string, caller: Caller): Promise<void> {
    try {
      await this.#put(taskId, caller)
    } catch (error) {
      // The task exists, and clients that name their version are not affected.
      this.#settings.onError(error, { during: 'SendMessage', taskId })
    }
  }

  /** The dialect of a task; `undefined` also for tasks of other principals, so that nothing is revealed. */
  async of(taskId: string, principal: Principal | undefined): Promise<Dialect | undefined> {
    // The id has not been validated, and no store has such ids.
    if (this.#isClosed || taskId === '' || taskId.length > MAX_ID || hasLoneSurrogate(taskId))
      return undefined
    const isOwn = (origin: Origin | undefined): boolean =>
      (origin?.principalId ?? undefined) === principal?.id
    let origin = await this.#originOf(taskId)
    const kept = keptId(ownedBy(principal, undefined), taskId)
    if (kept !== taskId && (origin === undefined || !isOwn(origin))) origin = await this.#originOf(kept)
    if (origin === undefined || !isOwn(origin)) return undefined
    return this.#settings.dialects.find(({ version }) => version === origin.dialect)
  }

  /** From now on no task has a dialect. */
  close(): void {
    this.#isClosed = true
    this.#cache.clear()
  }

  async #put(taskId: string, { dialect, principal }: Caller): Promise<void> {
    const { tasks } = this.#settings
    const task = lastSeen(tasks, taskId) ?? (await tasks.peekTask(taskId))
    if (task === null) return
    const { createdAt } = task
    const origin = { dialect: dialect.version, principalId: principal?.id ?? null }
    const document = { key: { id: taskId, createdAt }, kind: ORIGIN, id: ORIGIN, value: origin }
    await this.#documents.putDocument(document, 0)
    this.#remember(taskId, { createdAt, origin })
  }

  async #originOf(taskId: string): Promise<Origin | undefined> {
    const { tasks, clock } = this.#settings
    // A task that was just removed elsewhere may still be seen here: one answer is then in its dialect.
    const seen = this.#cached(lastSeen(tasks, taskId))
    if (seen !== undefined) return seen.origin
    const task = await tasks.peekTask(taskId)
    if (task === null) return undefined
    const cached = this.#cached(task)
    if (cached !== undefined) return cached.origin
    const { createdAt } = task
    const [found] = await this.#documents.documents({ id: taskId, createdAt }, ORIGIN)
    const origin = found && toOrigin(found)
    const isOld = clock.now() - Date.parse(createdAt) > STORED_AFTER_MS
    if (origin !== undefined || isOld) this.#remember(taskId, { createdAt, origin })
    return origin
  }

  /** The entry for this very task, not for an earlier one with the same id. */
  #cached(task: TaskSnapshot | undefined): CachedOrigin | undefined {
    const cached = task && this.#cache.get(task.id)
    return cached?.createdAt === task?.createdAt ? cached : undefined
  }

  #remember(taskId: string, entry: CachedOrigin): void {
    // Documents in memory are found as quickly, and are removed with their task.
    if (!isShared(this.#settings.tasks)) return
    this.#cache.set(taskId, entry)
    const [oldest] = this.#cache.keys()
    if (this.#cache.size > MAX_CACHED && oldest !== undefined) this.#cache.delete(oldest)
  }
}

function toOrigin({ value }: TaskDocument): Origin {
  // Only `#put` writes documents of this kind.
  return value as unknown as Origin
}
