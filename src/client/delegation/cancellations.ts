/**
 * Cancellation at their agents of delegated tasks that have ended while no process followed them.
 *
 * @module
 */
import { isTerminal } from '../../core/lifecycle.js'
import { A2AError } from '../../core/errors.js'
import { allDocuments } from '../../runtime/all-documents.js'
import type { SharedTasks, TaskDocument } from '../../core/managers.js'
import { keyOf } from '../../core/task.js'
import type { Clock } from '../../runtime/clock.js'
import { SENT_TASK } from '../../runtime/document-kinds.js'
import type { Position } from './positions.js'
import { POSITION } from './stored-document.js'

/** Pause between two searches, in ms. */
const INTERVAL_MS = 15_000
/** How long after its end the process that followed a task may take to cancel it, in ms. */
const GRACE_MS = 15_000
/** How long after the end of a task its agent is asked to cancel it, in ms. */
const GIVE_UP_MS = 600_000

export interface Canceler {
  /** Cancels the task of `position` at its agent, if this process knows the agent. Resolves to whether it has ended there. */
  cancel(position: Position): Promise<boolean>
}

/** Searches run until the manager is destroyed, one for each manager, whose latest client cancels. */
const cancelersByManager = new WeakMap<SharedTasks, { current: Canceler }>()

/** Cancels tasks whose process has died before it could: their positions are still stored after their end. */
export function cancelAbandoned(tasks: SharedTasks, canceler: Canceler, clock: Clock): void {
  const known = cancelersByManager.get(tasks)
  if (known !== undefined) {
    known.current = canceler
    return
  }
  const latest = { current: canceler }
  cancelersByManager.set(tasks, latest)
  searchEnded(tasks, SENT_TASK, clock, ({ value }) => {
    // All documents of this kind are positions.
    return latest.current.cancel(value as unknown as Position)
  })
}

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
