/**
 * Small pieces of JSON beside a task, for whoever serves tasks.
 *
 * @module
 */
import type { TaskDocuments } from '../core/documents.js'
import type { OpenAccess } from './open-access.js'
import type { TaskStore } from './task-store.js'

/** The documents in a store. Methods reject with `STORE_FAILED` when it fails for longer than `storeRetryMs`. */
export function documentsOf(store: TaskStore, { insist }: OpenAccess): TaskDocuments {
  return {
    // Put again after it was put, it is refused: whoever writes a document reads it again then.
    putDocument: (document, version) => insist('putDocument', () => store.putDocument(document, version)),
    deleteDocument: (document) => insist('deleteDocument', () => store.deleteDocument(document)),
    documents: (key, kind) => insist('documents', () => store.documents(key, kind)),
    allDocuments: (kind, after, limit) =>
      insist('allDocuments', () => store.allDocuments(kind, after, limit)),
  }
}
