/**
 * One document beside a task, which the process that works on the task writes.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { JsonValue } from '../core/json-types.js'
import type { TaskDocument, TaskDocuments } from '../core/managers.js'
import { keyOf, type TaskKey } from '../core/task.js'

/** The id of the document. A task has one of each kind at most. */
export const POSITION = 'position'

/** The last value that this process has read or written. Writes are made one after the other. */
export class StoredDocument<T> {
  readonly #documents: TaskDocuments
  readonly #document: Pick<TaskDocument, 'key' | 'kind' | 'id'>
  #value: T | undefined
  #version: number
  #writing: Promise<unknown> = Promise.resolve()

  private constructor(
    documents: TaskDocuments,
    document: Pick<TaskDocument, 'key' | 'kind' | 'id'>,
    stored: TaskDocument | undefined,
  ) {
    this.#documents = documents
    this.#document = document
    this.#version = stored?.version ?? 0
    // All documents of this kind are made by `toJson`.
    this.#value = stored && (stored.value as unknown as T)
  }

  static async open<T>(documents: TaskDocuments, task: TaskKey, kind: string): Promise<StoredDocument<T>> {
    const key = keyOf(task)
    const found = await documents.documents(key, kind)
    return new StoredDocument(
      documents,
      { key, kind, id: POSITION },
      found.find(({ id }) => id === POSITION),
    )
  }

  get value(): T | undefined {
    return this.#value
  }

  /**
   * @param change - Returns the new value from the one that is stored when this write begins.
   * @throws {A2AError} As a rejection: `LEASE_LOST` when another process has written the document; `STORE_FAILED`.
   */
  update(change: (value: T | undefined) => T): Promise<void> {
    return this.#write(() => this.#put(change(this.#value)))
  }

  /** @throws {A2AError} As a rejection: `STORE_FAILED`. */
  delete(): Promise<void> {
    return this.#write(async () => {
      await this.#documents.deleteDocument(this.#document)
      this.#version = 0
      this.#value = undefined
    })
  }

  /** Resolves when all writes so far have succeeded or failed. */
  async settled(): Promise<void> {
    await this.#writing
  }

  #write(job: () => Promise<void>): Promise<void> {
    const written = this.#writing.then(job)
    this.#writing = written.catch(() => undefined)
    return written
  }

  async #put(given: T): Promise<void> {
    const { key, kind, id } = this.#document
    const value = toJson(given)
    if (!(await this.#documents.putDocument({ key, kind, id, value }, this.#version))) {
      // A repeated write is refused where the first attempt succeeded.
      const found = await this.#documents.documents(key, kind)
      const stored = found.find((each) => each.id === id)
      if (JSON.stringify(stored?.value) !== JSON.stringify(value)) throw taken(key.id)
    }
    this.#version += 1
    this.#value = given
  }
}

function toJson(value: unknown): JsonValue {
  // The values are plain JSON.
  return JSON.parse(JSON.stringify(value)) as JsonValue
}

function taken(taskId: string): A2AError<'LEASE_LOST'> {
  return new A2AError('LEASE_LOST', `Another process has taken over task ${taskId}`, { taskId })
}
