/**
 * The search for tasks that have ended while no process followed them at their agents.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import { isTerminal } from '../core/lifecycle.js'
import type { SharedTasks, TaskDocument } from '../core/managers.js'
import { keyOf, type TaskSnapshot } from '../core/task.js'
import { allDocuments } from '../runtime/all-documents.js'
import type { Clock } from '../runtime/clock.js'
import { POSITION } from './stored-document.js'

/** Pause between two searches, in ms. */
const INTERVAL_MS = 15_000
/** How long after its end the process that followed a task may take to cancel it, in ms. */
const GRACE_MS = 15_000
/** How long after the end of a task its agent is asked to cancel it, in ms. */
const GIVE_UP_MS = 600_000

interface EndedSearch {
  readonly tasks: SharedTasks
  readonly clock: Clock
  /** The documents of tasks for which an agent may be at work. */
  readonly documents: () => AsyncIterable<TaskDocument>
  /** Called with a task that has ended. Resolves to whether its document is done with, and is to be deleted. */
  readonly settle: (document: TaskDocument, task: TaskSnapshot) => Promise<boolean>
}

/**
 * Searches for tasks that have ended and still have a document, until the manager is destroyed.
 *
 * @returns A function that ends the search.
 */
export function searchEnded(given: EndedSearch): () => void {
  const { clock, documents } = given
  let isStopped = false
  let stopTimer: () => void = () => undefined
  const schedule = (): void => {
    if (!isStopped) stopTimer = clock.schedule(() => void search(), INTERVAL_MS)
  }
  const search = async (): Promise<void> => {
    try {
      for await (const document of documents()) {
        if (isStopped) return
        await settleIfEnded(given, document).catch(throwIfGeneral)
      }
    } catch (error) {
      if (A2AError.is(error, 'MANAGER_DESTROYED')) return
      // The next search finds what this one has missed.
    }
    schedule()
  }
  schedule()
  return () => {
    isStopped = true
    stopTimer()
  }
}

/**
 * Searches for tasks that have ended and still have a position of the kind, and gives them up after ten minutes.
 *
 * @param cancel - Resolves to whether the position is done with, and is to be deleted.
 * @returns A function that ends the search.
 */
export function cancelEnded(
  tasks: SharedTasks,
  kind: string,
  clock: Clock,
  cancel: (position: TaskDocument) => Promise<boolean>,
): () => void {
  return searchEnded({
    tasks,
    clock,
    documents: () => allDocuments(tasks.documents, kind),
    settle: async (document, task) => {
      // Earlier builds stored other documents under one of the kinds.
      if (document.id !== POSITION) return false
      return clock.now() > Date.parse(task.updatedAt) + GIVE_UP_MS || (await cancel(document))
    },
  })
}

async function settleIfEnded({ tasks, clock, settle }: EndedSearch, document: TaskDocument): Promise<void> {
  const { key, kind, id } = document
  const task = await tasks.peekTask(key.id)
  if (task?.createdAt !== key.createdAt || !isTerminal(task.state)) return
  if (clock.now() < Date.parse(task.updatedAt) + GRACE_MS) return
  if (await settle(document, task)) await tasks.documents.deleteDocument({ key: keyOf(key), kind, id })
}

/** What fails for one task may succeed for the next, unless the manager or its store is out of reach. */
function throwIfGeneral(error: unknown): void {
  if (A2AError.is(error, 'MANAGER_DESTROYED') || A2AError.is(error, 'STORE_FAILED')) throw error
}
