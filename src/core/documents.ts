/**
 * Documents: small JSON values stored beside a task and removed with it.
 *
 * @module
 */
import type { TaskKey } from './task.js'
import type { JsonValue } from './json-types.js'

/** One JSON value that belongs to a task. */
export interface TaskDocument {
  readonly key: TaskKey
  /** The purpose of the document. Documents of different kinds are independent. */
  readonly kind: string
  /** Unique among the task's documents of this kind. */
  readonly id: string
  readonly value: JsonValue
  /** 1 when the document is created, one more with every write. */
  readonly version: number
}

/** The position of a document among those of its kind, for {@link TaskDocuments.allDocuments}. */
export type DocumentCursor = { readonly taskId: string; readonly createdAt: string; readonly id: string }

/** Documents with optimistic concurrency: a write names the version that it replaces. */
export interface TaskDocuments {
  /**
   * Creates the document (`expectedVersion` 0) or replaces the version `expectedVersion`.
   *
   * @returns `false`, with nothing changed, when the document is at another version, or there is no such task.
   */
  putDocument(
    document: Pick<TaskDocument, 'key' | 'kind' | 'id' | 'value'>,
    expectedVersion: number,
  ): Promise<boolean>
  /** @returns `false` when there was no such document. */
  deleteDocument(document: Pick<TaskDocument, 'key' | 'kind' | 'id'>): Promise<boolean>
  /** The documents of one task and kind, in the order of their ids. Empty when there is no such task. */
  documents(key: TaskKey, kind: string): Promise<readonly TaskDocument[]>
  /**
   * One page of the documents of all tasks, in a fixed order of the store's choice.
   *
   * @param after - The position of the last document that was read; `undefined` for the first page.
   */
  allDocuments(
    kind: string,
    after: DocumentCursor | undefined,
    limit: number,
  ): Promise<readonly TaskDocument[]>
}
