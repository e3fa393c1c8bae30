/**
 * Documents beside tasks in memory.
 *
 * @module
 */
import { copyJson, freezeDeep } from '../core/json.js'
import type { LocalTasks, DocumentCursor, TaskDocument, TaskDocuments } from '../core/managers.js'
import type { TaskKey, TaskSnapshot } from '../core/task.js'

/**
 * Documents that live as long as their task in a manager in memory.
 *
 * They are kept here and not by `TaskManager`, so that programs without a server do not load this code.
 */
export class MemoryDocuments implements TaskDocuments {
  readonly #tasks: LocalTasks
  /** By task id; the documents of one task all have the same key. */
  readonly #byTask = new Map<string, TaskDocument[]>()
  #isListening = false

  constructor(tasks: LocalTasks) {
    this.#tasks = tasks
  }

  putDocument(
    document: Pick<TaskDocument, 'key' | 'kind' | 'id' | 'value'>,
    expectedVersion: number,
  ): Promise<boolean> {
    const { key, kind, id, value } = document
    const all = this.#of(key)
    const index = all.findIndex((one) => one.kind === kind && one.id === id)
    const isExpected = (all[index]?.version ?? 0) === expectedVersion
    if (!isExpected || !this.#hasTask(key)) return Promise.resolve(false)
    const written = freezeDeep(copyJson({ key, kind, id, value, version: expectedVersion + 1 }))
    if (index === -1) all.push(written)
    else all[index] = written
    this.#byTask.set(key.id, all)
    this.#listen()
    return Promise.resolve(true)
  }

  deleteDocument({ key, kind, id }: Pick<TaskDocument, 'key' | 'kind' | 'id'>): Promise<boolean> {
    const all = this.#of(key)
    const left = all.filter((one) => one.kind !== kind || one.id !== id)
    if (left.length === all.length) return Promise.resolve(false)
    if (left.length === 0) this.#byTask.delete(key.id)
    else this.#byTask.set(key.id, left)
    return Promise.resolve(true)
  }

  documents(key: TaskKey, kind: string): Promise<readonly TaskDocument[]> {
    const found = this.#of(key).filter((one) => one.kind === kind)
    return Promise.resolve(found.sort((a, b) => byText(a.id, b.id)))
  }

  allDocuments(
    kind: string,
    after: DocumentCursor | undefined,
    limit: number,
  ): Promise<readonly TaskDocument[]> {
    const found: TaskDocument[] = []
    for (const all of this.#byTask.values()) {
      if (all[0] !== undefined && !this.#hasTask(all[0].key)) continue
      for (const one of all) {
        if (one.kind === kind && (after === undefined || byPlace(after, cursorOf(one)) < 0)) found.push(one)
      }
    }
    return Promise.resolve(found.sort((a, b) => byPlace(cursorOf(a), cursorOf(b))).slice(0, limit))
  }

  /** Removes the listeners from the manager. */
  close(): void {
    this.#tasks.off('task:expired', this.#forget)
    this.#tasks.off('task:evicted', this.#forget)
  }

  /** The documents of this very task, not of an earlier one with the same id. */
  #of({ id, createdAt }: TaskKey): TaskDocument[] {
    const all = this.#byTask.get(id) ?? []
    return all[0]?.key.createdAt === createdAt ? all : []
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
    if (this.#of({ id, createdAt }).length > 0) this.#byTask.delete(id)
  }
}

function cursorOf({ key, id }: TaskDocument): DocumentCursor {
  return { taskId: key.id, createdAt: key.createdAt, id }
}

function byPlace(a: DocumentCursor, b: DocumentCursor): number {
  return byText(a.taskId, b.taskId) || byText(a.createdAt, b.createdAt) || byText(a.id, b.id)
}

function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
