/**
 * The document beside a dead letter in a store that names the task which continues it.
 *
 * @module
 */
import type { TaskDocuments } from '../managers.js'
import { REDRIVE } from '../../runtime/document-kinds.js'
import type { RedriveClaim } from '../task-record.js'
import type { TaskKey } from '../task.js'

const ID = 'task'

/** @returns `undefined` for a dead letter that no call has redriven. */
export async function claimOf(
  documents: Pick<TaskDocuments, 'documents'>,
  key: TaskKey,
): Promise<RedriveClaim | undefined> {
  const [document] = await documents.documents(key, REDRIVE)
  // This file wrote it.
  return document?.value as RedriveClaim | undefined
}

/** @returns `false`, with nothing changed, when the claim is at another version than the expected one. */
export async function putClaim(
  documents: Pick<TaskDocuments, 'putDocument'>,
  key: TaskKey,
  claim: RedriveClaim,
  expectedVersion: number,
): Promise<boolean> {
  return await documents.putDocument({ key, kind: REDRIVE, id: ID, value: { ...claim } }, expectedVersion)
}
