/**
 * Marks on tasks that wait for other agents: documents, by which a process finds those that have ended without theirs.
 *
 * @module
 */
import { allDocuments } from '../../runtime/all-documents.js'
import { childKind } from '../../core/lineage/child-kind.js'
import type { TaskDocument, TaskDocuments } from '../../core/managers.js'
import { keyOf, type TaskKey } from '../../core/task.js'
import { RUN_DELEGATION, SENT_TASK } from '../../runtime/document-kinds.js'

/** The id of the only mark that a task has. */
const MARK = 'delegation'

export class DelegationMarks {
  readonly #documents: TaskDocuments

  constructor(documents: TaskDocuments) {
    this.#documents = documents
  }

  /**
   * Marks a stored task. Has no effect on one that is marked.
   *
   * @throws {A2AError} `STORE_FAILED`, as a rejection.
   */
  async put(task: TaskKey): Promise<void> {
    await this.#documents.putDocument({ ...markOf(task), value: {} }, 0)
  }

  /** Notes that a task was created for another one, by which `children` finds it. Never rejects: it is then not found. */
  async addChild(task: TaskKey, parentId: string): Promise<void> {
    const document = { key: keyOf(task), kind: childKind(parentId), id: 'parent', value: null }
    await this.#documents.putDocument(document, 0).catch(() => undefined)
  }

  /** Never rejects: marks that are left are removed after the task has ended. */
  async remove(task: TaskKey): Promise<void> {
    await this.#documents.deleteDocument(markOf(task)).catch(() => undefined)
  }

  /**
   * All marks, also those that earlier builds have stored among the documents of `sendTask`.
   *
   * @throws {A2AError} `STORE_FAILED`, `MANAGER_DESTROYED`, as a rejection.
   */
  async *all(): AsyncGenerator<TaskDocument, undefined> {
    for await (const earlier of allDocuments(this.#documents, SENT_TASK)) {
      if (earlier.id !== MARK) continue
      await this.#documents.putDocument({ ...markOf(earlier.key), value: earlier.value }, 0)
      await this.#documents.deleteDocument(earlier)
    }
    yield* allDocuments(this.#documents, RUN_DELEGATION)
  }
}

export function markOf(task: TaskKey): { readonly key: TaskKey; readonly kind: string; readonly id: string } {
  return { key: keyOf(task), kind: RUN_DELEGATION, id: MARK }
}
