/**
 * Redrive: a dead letter continues in a new task.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound } from '../core/errors.js'
import type { TaskDocuments, TaskReader } from '../core/managers.js'
import type { ManagerPort } from '../core/port.js'
import type { RedriveClaim } from '../core/task-record.js'
import { keyOf, type Task, type TaskKey, type TaskSnapshot } from '../core/task.js'
import { claimsOf, type Claims } from './claims.js'
import { toRedrive, wholeLog } from './fork.js'
import { requirePort, requireRoomFor } from './room.js'

/** The manager of dead letters. */
export interface LetterTasks<S extends string> extends Pick<
  TaskReader<S>,
  'lifecycle' | 'events' | 'peekTask' | 'getTask' | 'pageTasks'
> {
  /** Over a store only. */
  readonly documents?: TaskDocuments
}

/**
 * Continues a dead letter in a new task, as {@link fork} does. Steps that are done stay done. The failed step that ended the
 * last attempt is done again, with the same `key`. Attempts and restarts count from the start. The dead letter stays
 * `failed`, and leaves `deadLetters`. Calls for one dead letter, in any process and at any time, make one task.
 *
 * @returns A copy of the new task: of the present one when the dead letter was redriven before.
 * @throws {TypeError} As a rejection, for a manager that is not of this package.
 * @throws {A2AError} As a rejection: those of `fork`; `INVALID_PARAMS` for a task that is not a dead letter;
 *   `UNSUPPORTED_OPERATION` for a task of a gateway.
 */
export async function redrive<S extends string>(tasks: LetterTasks<S>, taskId: string): Promise<Task<S>> {
  const port = requirePort<S>(tasks, 'redrive')
  const claims = claimsOf(tasks)
  const letter = await tasks.peekTask(taskId)
  if (letter === null || claims === undefined) throw taskNotFound(taskId)
  requireDeadLetter(letter)
  const key = keyOf(letter)
  // The id comes first: a call after a failure completes what this one has begun.
  const { taskId: id, isMade = false } = await claimed(claims, key, port)
  if (!isMade) {
    const made = await makeOnce(tasks, port, letter, id)
    await claims.complete(key, id)
    if (made !== undefined) return made
  }
  const present = await tasks.getTask(id)
  if (present === null) throw invalidParams('taskId', `was redriven as ${id}, which has been removed since`)
  return present
}

/** The claim of the dead letter: the one that is known, or a new one. */
async function claimed<S extends string>(
  claims: Claims,
  key: TaskKey,
  { settings }: ManagerPort<S>,
): Promise<RedriveClaim> {
  const known = await claims.of(key)
  if (known !== undefined) return known
  await claims.begin(key, settings.generateId())
  // Another call may have been faster, and a repeated write is refused after the first attempt succeeded.
  const claim = await claims.of(key)
  if (claim === undefined) throw taskNotFound(key.id)
  return claim
}

/** `undefined` when there is a task with the id already. */
async function makeOnce<S extends string>(
  tasks: LetterTasks<S>,
  port: ManagerPort<S>,
  letter: TaskSnapshot<S>,
  id: string,
): Promise<Task<S> | undefined> {
  const added = toRedrive(wholeLog(await tasks.events(letter.id)), id, port.settings)
  if ((await tasks.peekTask(id)) !== null) return undefined
  await requireRoomFor(port, letter.owner, added)
  try {
    return await port.add(added)
  } catch (error) {
    if (A2AError.is(error, 'INVALID_PARAMS') && error.data.path === 'id') return undefined
    throw error
  }
}

/** @throws {A2AError} `INVALID_PARAMS`; `UNSUPPORTED_OPERATION` for work that is not that of a request handler. */
function requireDeadLetter({ state, failure }: TaskSnapshot<string>): void {
  if (failure === undefined) throw invalidParams('taskId', `is no dead letter: the task is ${state}`)
  if (failure.worker === undefined) return
  const text = `Only tasks of a request handler can be redriven, and this one was worked on by "${failure.worker}"`
  throw new A2AError('UNSUPPORTED_OPERATION', text, { operation: 'redrive' })
}
