/**
 * Saving tasks with the journals of their work.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { TaskEvent } from '../core/events.js'
import { writtenIn } from '../core/history/undone-artifacts.js'
import { freezeDeep } from '../core/json.js'
import type { LocalTasks, MaybePromise, SharedTasks } from '../core/managers.js'
import { claimOf } from '../core/saved/redrive-claim.js'
import { entriesOf, logAfter } from '../core/saved/restored-journal.js'
import type { TaskRecord } from '../core/task-record.js'
import { keyOf, type TaskSnapshot } from '../core/task.js'
import { requirePort } from './room.js'
import type { SavedJournal } from './saved-journal.js'

type Saved<S extends string> = TaskSnapshot<S> & SavedJournal

/**
 * All tasks, oldest first, frozen: plain JSON, for {@link restoreTasks}. Over memory with their journals, and as they are at
 * one moment. Over a store, those in a turn or failed have journals, and each task is as it is when it is read.
 *
 * @throws {TypeError} for a manager in memory that is not of this package.
 * @throws {A2AError} As a rejection, over a store: `STORE_FAILED`.
 */
export function saveTasks<S extends string>(tasks: LocalTasks<S>): Saved<S>[]
export function saveTasks<S extends string>(tasks: SharedTasks<S>): Promise<Saved<S>[]>
export function saveTasks<S extends string>(tasks: LocalTasks<S> | SharedTasks<S>): MaybePromise<Saved<S>[]>
export function saveTasks<S extends string>(tasks: LocalTasks<S> | SharedTasks<S>): MaybePromise<Saved<S>[]> {
  if ('documents' in tasks) return saveStored(tasks)
  return Array.from(requirePort<S>(tasks, 'saveTasks').table ?? [], toSaved)
}

/** The task with its journal. */
function toSaved<S extends string>(record: TaskRecord<S>): Saved<S> {
  const { journal, rewritten, redriven } = record
  const task = record.snapshot()
  const isRedriven = redriven?.isMade === true
  if (journal.length === 0 && !isRedriven) return task
  const written = [...rewritten].map(([artifactId, before]) => ({ artifactId, before }))
  return freezeDeep({
    ...task,
    ...(journal.length > 0 && { recorded: [...journal] }),
    ...(written.length > 0 && { rewritten: written }),
    ...(isRedriven && { redriven: redriven.taskId }),
  })
}

async function saveStored<S extends string>(tasks: SharedTasks<S>): Promise<Saved<S>[]> {
  const saved: Saved<S>[] = []
  for (const task of await tasks.listTasks()) {
    const isOver = task.turn === undefined && task.failure === undefined
    saved.push(freezeDeep(isOver ? task : await withHistory(tasks, task)))
  }
  return saved
}

async function withHistory<S extends string>(
  tasks: SharedTasks<S>,
  task: TaskSnapshot<S>,
): Promise<Saved<S>> {
  try {
    const log = await logAfter((after) => tasks.events(task.id, { after }), 0, tasks.documents)
    // The task may have changed since it was listed.
    const isOld = ({ generation }: TaskEvent<S>): boolean => generation <= task.generation
    const recorded = entriesOf(log).filter(isOld)
    const { turn = 0 } = task
    const open = recorded.filter(({ generation, entry }) => generation >= turn && entry.kind !== 'signal')
    const isDead = task.failure !== undefined
    const written = isDead ? [] : writtenIn({ ...log, events: log.events.filter(isOld) }, open).stale
    const rewritten = [...written].map(([artifactId, before = null]) => ({ artifactId, before }))
    const claim = isDead ? await claimOf(tasks.documents, keyOf(task)) : undefined
    return {
      ...{ ...task, recorded },
      ...(rewritten.length > 0 && { rewritten }),
      ...(claim?.isMade === true && { redriven: claim.taskId }),
    }
  } catch (error) {
    if (A2AError.is(error, 'TASK_NOT_FOUND')) return task
    throw error
  }
}
