/**
 * Histories of tasks in a store, and tasks that are saved and restored with theirs.
 *
 * @module
 */
import { A2AError, invalidParams } from '../core/errors.js'
import type { JournalRecorded, TaskEvent, TaskStreamEvent } from '../core/events.js'
import type { JsonObject } from '../core/json-types.js'
import { undoneArtifacts } from '../core/history/undone-artifacts.js'
import { isTerminal } from '../core/lifecycle.js'
import { toRecords, type SavedTask } from '../core/restore.js'
import { entriesOf, logAfter, type HeldLog } from '../core/saved/restored-journal.js'
import type { SavedJournal } from '../core/saved/saved-journal.js'
import type { TaskRecord } from '../core/task-record.js'
import { keyOf, type Artifact, type DeepReadonly, type TaskSnapshot } from '../core/task.js'
import { RESTORED } from '../runtime/document-kinds.js'
import { hashOf } from '../runtime/hash.js'
import { headOf, toCheckpoint } from './cache/checkpoint.js'
import { LogReader } from './cache/log-reader.js'
import type { DurableContext } from './context.js'
import { madeClaim, redrivenAs } from './forks.js'
import { NO_NOTE, PARKED, toStoredNote } from './leases/lease-note.js'
import { documentsOf } from './store-client.js'
import { toStored } from './stored-events.js'

/** A task that {@link restoreTasks} accepts. */
export type Saved<S extends string> = TaskSnapshot<S> & SavedJournal

/** The entries of the task's journal after a generation, oldest first, frozen. */
export async function journalOf<S extends string>(
  context: DurableContext<S>,
  taskId: string,
  after = 0,
): Promise<JournalRecorded[]> {
  return entriesOf(await readLog(context, taskId, after)).filter(({ generation }) => generation > after)
}

/** See {@link logAfter}. */
function readLog<S extends string>(
  context: DurableContext<S>,
  taskId: string,
  generation: number,
): Promise<HeldLog<S>> {
  const { settings, storeClient } = context
  const read = (after: number): Promise<TaskStreamEvent<S>[]> =>
    new LogReader<S>(context, taskId, { after }).rest()
  return logAfter(read, generation, documentsOf(settings.store, storeClient))
}

/** All tasks, oldest first, frozen: those whose turn is not over, and dead letters, with their journals. */
export async function savedTasks<S extends string>(context: DurableContext<S>): Promise<Saved<S>[]> {
  const saved: Saved<S>[] = []
  for (const task of await context.listing.all({}, 'snapshot')) {
    const isOver = task.turn === undefined && task.failure === undefined
    saved.push(isOver ? task : await withJournal(context, task))
  }
  return saved
}

async function withJournal<S extends string>(
  context: DurableContext<S>,
  task: TaskSnapshot<S>,
): Promise<Saved<S>> {
  try {
    const log = await readLog(context, task.id, 0)
    // The task may have changed since it was listed.
    const isOld = ({ generation }: TaskEvent<S>): boolean => generation <= task.generation
    const recorded = entriesOf(log).filter(isOld)
    const { turn = 0 } = task
    const open = recorded.filter(({ generation, entry }) => generation >= turn && entry.kind !== 'signal')
    const isDead = task.failure !== undefined
    const written = isDead ? [] : undoneArtifacts({ ...log, events: log.events.filter(isOld) }, open)
    const rewritten = [...written].map(([artifactId, before = null]) => ({ artifactId, before }))
    const { settings, storeClient } = context
    const redriven = isDead && (await redrivenAs(documentsOf(settings.store, storeClient), keyOf(task)))
    return Object.freeze({
      ...{ ...task, recorded },
      ...(rewritten.length > 0 && { rewritten }),
      ...(typeof redriven === 'string' && { redriven }),
    })
  } catch (error) {
    if (A2AError.is(error, 'TASK_NOT_FOUND')) return task
    throw error
  }
}

/**
 * As `restore` of the manager.
 *
 * @param recoverSoon - Continues the work of expired leases in this process.
 */
export async function restoreTasks<S extends string>(
  context: DurableContext<S>,
  tasks: Iterable<SavedTask<S>>,
  recoverSoon: () => void,
): Promise<void> {
  const { storeClient, settings, timeline } = context
  storeClient.requireOpen()
  const records = toRecords(tasks, settings, timeline.now())
  try {
    for (const [index, record] of records.entries()) {
      const { id } = record.task
      if (!(await restore(context, record))) throw invalidParams(`tasks[${index}].id`, `is taken: ${id}`)
    }
  } finally {
    recoverSoon()
  }
}

/**
 * First creates the task, then stores what belongs to it. A task that an earlier call has created from the same content is
 * completed.
 *
 * @returns `false`, with nothing changed, when the id is in use by another task.
 */
async function restore<S extends string>(
  context: DurableContext<S>,
  record: TaskRecord<S>,
): Promise<boolean> {
  const { storeClient, settings } = context
  const { store, lifecycle } = settings
  const { journal: recorded, redriven } = record
  const { turn, state, generation } = record.task
  const isOpen = turn !== undefined && !isTerminal(state, lifecycle)
  const task = isOpen ? { ...record.task, artifacts: artifactsAtEntry(record) } : record.task
  const { artifacts } = task
  // By its id, a store knows a creation that is repeated, also after the task has changed.
  const commitId = contentId(task, record)
  const creation = { task: toCheckpoint(task), events: [], head: headOf(task, [], lifecycle), commitId }
  if (!(await storeClient.callForUser('create', () => store.create(creation)))) return false
  const key = keyOf(task)
  const documents = documentsOf(store, storeClient)
  const put = (kind: string, id: string, value: object): Promise<boolean> =>
    // All of it is JSON.
    documents.putDocument({ key, kind, id, value: value as JsonObject }, 0)
  if (recorded.length > 0 || artifacts.length > 0)
    await put(RESTORED, RESTORED, { generation, recorded: toStored(recorded), artifacts })
  if (redriven !== undefined) await put(...madeClaim(redriven))
  if (!isOpen) return true
  const [head] = await storeClient.callForUser('heads', () => store.heads([key.id]))
  // A task that has changed since is continued already, or needs no more.
  if (head?.generation !== generation) return true
  // As if its process had died: a sweep of any process continues the turn.
  const lease = { id: PARKED, ttlMs: 0, note: toStoredNote({ ...NO_NOTE, restarts: -1 }) }
  await storeClient.callForUser('acquire', () => store.acquire(key, lease))
  return true
}

/**
 * An id made of the content of a saved task and its journal. The times of changes do not count: those that are later than the
 * clock of this process were set to its time.
 */
function contentId<S extends string>(
  task: TaskSnapshot<S>,
  { task: { artifacts }, journal, redriven }: TaskRecord<S>,
): string {
  const states = task.history.map(({ state }) => state)
  const content = {
    ...task,
    updatedAt: '',
    history: states,
    all: artifacts,
    recorded: toStored(journal),
    redriven,
  }
  const sorted = (_: string, value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value
  return `restore ${hashOf(JSON.stringify(content, sorted))}`
}

/** The artifacts as they were at the latest entry of the journal: the turn shows again what came after it. */
function artifactsAtEntry<S extends string>({ task, rewritten }: TaskRecord<S>): DeepReadonly<Artifact>[] {
  const kept: DeepReadonly<Artifact>[] = []
  for (const artifact of task.artifacts) {
    const { artifactId = '' } = artifact
    const before = rewritten.has(artifactId) ? rewritten.get(artifactId) : artifact
    if (before !== null && before !== undefined) kept.push(before)
  }
  return kept
}
