/**
 * Documents beside tasks in memory.
 *
 * @module
 */
import { copyJson, freezeDeep, sizeOf } from '../core/json.js'
import type { LocalTasks, DocumentCursor, TaskDocument, TaskDocuments } from '../core/managers.js'
import type { TaskKey, TaskSnapshot } from '../core/task.js'

/**
 * Documents that live as long as their task in a manager in memory.
 *
 * They are kept here and not by `TaskManager`, so that programs without a server do not load this code.
 */
export class MemoryDocuments implements TaskDocuments {
  readonly #tasks: LocalTasks
  /**
   * By kind and task id; the documents of one task and kind all have the same key. Tasks come in the order of their first
   * document of the kind.
   */
  readonly #byKind = new Map<string, Map<string, TaskDocument[]>>()
  #isListening = false
  #cost = 0

  constructor(tasks: LocalTasks) {
    this.#tasks = tasks
  }

  /** The estimated bytes of heap of all documents. */
  get cost(): number {
    return this.#cost
  }

  putDocument(
    document: Pick<TaskDocument, 'key' | 'kind' | 'id' | 'value'>,
    expectedVersion: number,
  ): Promise<boolean> {
    const { key, kind, id, value } = document
    const all = this.#of(key, kind)
    const index = all.findIndex((one) => one.id === id)
    const isExpected = (all[index]?.version ?? 0) === expectedVersion
    if (!isExpected || !this.#hasTask(key)) return Promise.resolve(false)
    const written = freezeDeep(copyJson({ key, kind, id, value, version: expectedVersion + 1 }))
    if (index === -1) all.push(written)
    else all[index] = written
    this.#store(key, kind, all)
    this.#listen()
    return Promise.resolve(true)
  }

  deleteDocument({ key, kind, id }: Pick<TaskDocument, 'key' | 'kind' | 'id'>): Promise<boolean> {
    const all = this.#of(key, kind)
    const left = all.filter((one) => one.id !== id)
    if (left.length === all.length) return Promise.resolve(false)
    this.#store(key, kind, left)
    return Promise.resolve(true)
  }

  documents(key: TaskKey, kind: string): Promise<readonly TaskDocument[]> {
    return Promise.resolve(this.#of(key, kind).sort(byId))
  }

  /** The tasks come in the order of their first document of the kind. Nothing comes after a task that is gone. */
  allDocuments(
    kind: string,
    after: DocumentCursor | undefined,
    limit: number,
  ): Promise<readonly TaskDocument[]> {
    const found: TaskDocument[] = []
    let isPast = after === undefined
    for (const [taskId, all] of this.#byKind.get(kind) ?? []) {
      const isCursor = after?.taskId === taskId && after.createdAt === all[0]?.key.createdAt
      if (all[0] !== undefined && this.#hasTask(all[0].key)) {
        for (const one of [...all].sort(byId)) if (isPast || (isCursor && one.id > after.id)) found.push(one)
      }
      isPast ||= isCursor
      if (found.length >= limit) break
    }
    return Promise.resolve(found.slice(0, limit))
  }

  /** Removes the listeners from the manager. */
  close(): void {
    this.#tasks.off('task:expired', this.#forget)
    this.#tasks.off('task:evicted', this.#forget)
  }

  /** A copy of the list of this very task, not of an earlier one with the same id. */
  #of({ id, createdAt }: TaskKey, kind: string): TaskDocument[] {
    const all = this.#byKind.get(kind)?.get(id) ?? []
    return all[0]?.key.createdAt === createdAt ? [...all] : []
  }

  #store({ id, createdAt }: TaskKey, kind: string, documents: TaskDocument[]): void {
    const ofKind = this.#byKind.get(kind) ?? new Map<string, TaskDocument[]>()
    const present = ofKind.get(id) ?? []
    this.#cost += costOf(documents) - costOf(present)
    // An earlier task with this id has no place among the tasks any more.
    if (documents.length === 0 || present[0]?.key.createdAt !== createdAt) ofKind.delete(id)
    if (documents.length > 0) this.#byKind.set(kind, ofKind.set(id, documents))
  }

  #hasTask({ id, createdAt }: TaskKey): boolean {
    return this.#tasks.peekTask(id)?.createdAt === createdAt
  }

  #listen(): void {
    if (this.#isListening) return
    this.#isListening = true
    this.#tasks.on('task:expired', this.#forget)
    this.#tasks.on('task:evicted', this.#forget)
  }

  /** Writing takes a promise, so no document of a new task with the same id exists yet when this is called. */
  readonly #forget = ({ id, createdAt }: TaskSnapshot): void => {
    for (const kind of this.#byKind.keys()) {
      if (this.#of({ id, createdAt }, kind).length > 0) this.#store({ id, createdAt }, kind, [])
    }
  }
}

function costOf(documents: readonly TaskDocument[]): number {
  return documents.reduce((sum, { value }) => sum + sizeOf(value).cost, 0)
}

function byId({ id: a }: TaskDocument, { id: b }: TaskDocument): number {
  return a < b ? -1 : a > b ? 1 : 0
}
