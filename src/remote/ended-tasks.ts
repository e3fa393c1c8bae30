/**
 * The search for tasks that have ended while no process followed them at their agents.
 *
 * @module
 */
import { isTerminal } from '../core/lifecycle.js'
import { A2AError } from '../core/errors.js'
import { allDocuments } from '../runtime/all-documents.js'
import type { SharedTasks, TaskDocument } from '../core/managers.js'
import { keyOf } from '../core/task.js'
import type { Clock } from '../runtime/clock.js'
import { POSITION } from './stored-document.js'

/** Pause between two searches, in ms. */
const INTERVAL_MS = 15_000
/** How long after its end the process that followed a task may take to cancel it, in ms. */
const GRACE_MS = 15_000
/** How long after the end of a task its agent is asked to cancel it, in ms. */
const GIVE_UP_MS = 600_000

/**
 * Searches for tasks that have ended and still have a position of the kind, until the manager is destroyed.
 *
 * @param cancel - Resolves to whether the document is done with, and is to be deleted.
 * @returns A function that ends the search.
 */
export function searchEnded(
  tasks: SharedTasks,
  kind: string,
  clock: Clock,
  cancel: (document: TaskDocument) => Promise<boolean>,
): () => void {
  let isStopped = false
  let stopTimer: () => void = () => undefined
  const schedule = (): void => {
    if (!isStopped) stopTimer = clock.schedule(() => void search(), INTERVAL_MS)
  }
  const search = async (): Promise<void> => {
    try {
      for await (const document of allDocuments(tasks.documents, kind)) {
        if (isStopped) return
        // Earlier builds stored other documents under one of the kinds.
        if (document.id !== POSITION) continue
        await cancelIfEnded(tasks, document, cancel, clock)
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

async function cancelIfEnded(
  tasks: SharedTasks,
  document: TaskDocument,
  cancel: (document: TaskDocument) => Promise<boolean>,
  clock: Clock,
): Promise<void> {
  const { key, kind, id } = document
  const task = await tasks.peekTask(key.id)
  if (task?.createdAt !== key.createdAt || !isTerminal(task.state)) return
  const endedMs = clock.now() - Date.parse(task.updatedAt)
  if (endedMs < GRACE_MS) return
  if (endedMs > GIVE_UP_MS || (await cancel(document))) {
    await tasks.documents.deleteDocument({ key: keyOf(key), kind, id })
  }
}
