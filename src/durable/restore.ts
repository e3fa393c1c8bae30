/**
 * Saved tasks that are restored to a store with their journals.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import type { JsonObject } from '../core/json-types.js'
import { isTerminal } from '../core/lifecycle.js'
import { putClaim } from '../core/saved/redrive-claim.js'
import type { TaskRecord } from '../core/task-record.js'
import { keyOf, type Artifact, type DeepReadonly, type TaskSnapshot } from '../core/task.js'
import { RESTORED } from '../runtime/document-kinds.js'
import { isRecord } from '../runtime/unread.js'
import { hashOf } from '../runtime/hash.js'
import { headOf, toCheckpoint } from './cache/checkpoint.js'
import type { DurableContext } from './context.js'
import { NO_NOTE, NO_RESTART, PARKED, toStoredNote } from './leases/lease-note.js'
import { documentsOf } from './store-client.js'
import { toStored } from './stored-events.js'

/**
 * Stores the tasks one after the other.
 *
 * @param recoverSoon - Continues the work of expired leases in this process.
 */
export async function restoreRecords<S extends string>(
  context: DurableContext<S>,
  records: readonly TaskRecord<S>[],
  recoverSoon: () => void,
): Promise<void> {
  context.storeClient.requireOpen()
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
  if (recorded.length > 0 || artifacts.length > 0) {
    // All of it is JSON.
    const value = { generation, recorded: toStored(recorded), artifacts } as object as JsonObject
    await documents.putDocument({ key, kind: RESTORED, id: RESTORED, value }, 0)
  }
  if (redriven !== undefined) await putClaim(documents, key, redriven, 0)
  if (!isOpen) return true
  const [head] = await storeClient.callForUser('heads', () => store.heads([key.id]))
  // A task that has changed since is continued already, or needs no more.
  if (head?.generation !== generation) return true
  // As if its process had died: a sweep of any process continues the turn.
  const lease = { id: PARKED, ttlMs: 0, note: toStoredNote({ ...NO_NOTE, restarts: NO_RESTART }) }
  await storeClient.callForUser('acquire', () => store.acquire(key, lease))
  return true
}

/**
 * An id made of the content of a saved task and its journal. The times of changes do not count: those that are later than the
 * clock of this process were set to its time.
 */
function contentId<S extends string>(
  task: TaskSnapshot<S>,
  { task: { artifacts }, journal, redriven: claim }: TaskRecord<S>,
): string {
  const states = task.history.map(({ state }) => state)
  const redriven = claim?.taskId
  const content = {
    ...task,
    updatedAt: '',
    history: states,
    all: artifacts,
    recorded: toStored(journal),
    redriven,
  }
  const sorted = (_: string, value: unknown): unknown =>
    isRecord(value)
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
