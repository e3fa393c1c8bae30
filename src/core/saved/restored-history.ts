/**
 * The document beside a restored task in a store, whose log begins later than its history.
 *
 * @module
 */
import type { HistoryRecorded, TaskEvent } from '../events.js'
import { apply, thawTask } from '../evolve.js'
import { freezeDeep } from '../json.js'
import type { TaskDocuments } from '../managers.js'
import type { Artifact, DeepReadonly, TaskKey, TaskSnapshot } from '../task.js'

/** The kind and the id of the document. */
export const RESTORED = 'restored'

export interface RestoredHistory {
  /** That of the task when it was restored: its log begins after it. */
  readonly generation: number
  readonly recorded: readonly HistoryRecorded[]
  /** Those of the task at that generation. */
  readonly artifacts: readonly DeepReadonly<Artifact>[]
}

/** @throws {A2AError} `STORE_FAILED`, as a rejection. */
export async function restoredOf(
  documents: Pick<TaskDocuments, 'documents'>,
  key: TaskKey,
): Promise<RestoredHistory | undefined> {
  const [document] = await documents.documents(key, RESTORED)
  // `restore` of the manager wrote it.
  return freezeDeep(document?.value) as RestoredHistory | undefined
}

/**
 * The artifacts that events after `generation` have written, as they were at it; `undefined` for those that they created.
 *
 * @param events - The events since the artifacts were `base`.
 */
export function artifactsBefore<S extends string>(
  task: TaskSnapshot<S>,
  events: readonly TaskEvent<S>[],
  generation: number,
  base: readonly DeepReadonly<Artifact>[],
): Map<string, DeepReadonly<Artifact> | undefined> {
  const writes = events.filter((event) => event.type === 'artifact')
  const later = writes.filter((event) => event.generation > generation)
  const written = new Set(later.flatMap(({ artifact: { artifactId } }) => artifactId ?? []))
  if (written.size === 0) return new Map()
  const before = thawTask({ ...task, messages: [], history: [], artifacts: base })
  for (const event of writes) if (event.generation <= generation) apply(before, event)
  const known = new Map(before.artifacts.map((artifact) => [artifact.artifactId, artifact]))
  return new Map([...written].map((id) => [id, known.get(id)]))
}
