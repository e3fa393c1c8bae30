/**
 * Ids of tasks that clients choose, for each owner apart.
 *
 * Clients of some dialects choose the ids of their tasks. Two owners may choose the same id: each has its own task,
 * and learns nothing about the other's. A task of an owner is kept under an id that is derived from the owner and the
 * chosen id, and is shown to clients under the chosen one. Tasks without an owner are kept under the chosen id.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound } from '../core/errors.js'
import type { StatusChanged } from '../core/events.js'
import type { MaybePromise } from '../core/managers.js'
import type { OwnerFilter } from '../core/queries.js'
import type { Message, TaskSnapshot } from '../core/task.js'
import { hashOf } from '../runtime/hash.js'
import type { GenerateId } from '../runtime/ids.js'
import type {
  Operation,
  Requests,
  Results,
  SendRequest,
  StreamEntry,
  TaskPushConfig,
} from '../wire/dialect.js'
import { isPromise, type ServedTasks } from './tasks.js'

/** In hexadecimal digits. */
const HASH_LENGTH = 40
/** The owner's part of an id. */
const PART = `~[\\da-f]{${HASH_LENGTH}}~`
const KEPT = new RegExp(`^${PART}`)
const ANY_KEPT = new RegExp(PART)
const ALL_KEPT = new RegExp(PART, 'g')
const KEPT_LENGTH = HASH_LENGTH + 2
/** Together with the owner's part it fits into the 1024 characters of an id. */
const MAX_CHOSEN = 980

/** The id under which the task of this owner is kept. */
export function keptId({ owner = null }: OwnerFilter, chosen: string): string {
  // Without an owner, an id that looks like one of an owner must not become one.
  return owner === null && !KEPT.test(chosen)
    ? chosen
    : `~${hashOf(owner ?? '').slice(0, HASH_LENGTH)}~${chosen}`
}

/** @throws {A2AError} `INVALID_PARAMS` for an id that is too long. */
function requireChosenId(owner: OwnerFilter, chosen: string): string {
  const kept = keptId(owner, chosen)
  if (kept === chosen || chosen.length <= MAX_CHOSEN) return kept
  throw invalidParams('id', `must have at most ${MAX_CHOSEN} characters, got ${chosen.length}`)
}

/** The task of this owner with this id, whether the agent or the client chose it; `null` if there is none. */
export function findOwn(
  tasks: ServedTasks,
  id: string,
  owner: OwnerFilter,
): MaybePromise<TaskSnapshot | null> {
  const byId = tasks.peekTask(id, owner)
  const orKept = (task: TaskSnapshot | null): MaybePromise<TaskSnapshot | null> => {
    const kept = task === null && id.length <= MAX_CHOSEN ? keptId(owner, id) : id
    return kept === id ? task : tasks.peekTask(kept, owner)
  }
  return isPromise(byId) ? byId.then(orKept) : orKept(byId)
}

/**
 * The task, if it belongs to the caller.
 *
 * @throws {A2AError} At once or as a rejection: `TASK_NOT_FOUND`, the same for a task of another owner as for none
 *   (A2A 1.0 §3.3.2).
 */
export function requireVisible(
  tasks: ServedTasks,
  id: string,
  owner: OwnerFilter,
): MaybePromise<TaskSnapshot> {
  const found = (task: TaskSnapshot | null): TaskSnapshot => {
    if (task === null) throw taskNotFound(id)
    return task
  }
  const task = findOwn(tasks, id, owner)
  return isPromise(task) ? task.then(found) : found(task)
}

/** As {@link findOwn}, for an id that the client chose: the agent's own ids come second. */
export function findChosen(
  tasks: ServedTasks,
  chosen: string,
  owner: OwnerFilter,
): MaybePromise<TaskSnapshot | null> {
  const byKept = tasks.peekTask(requireChosenId(owner, chosen), owner)
  const orById = (task: TaskSnapshot | null): MaybePromise<TaskSnapshot | null> =>
    task ?? tasks.peekTask(chosen, owner)
  return isPromise(byKept) ? byKept.then(orById) : orById(byKept)
}

/** The request with its message's id, and with the task that the client's chosen id belongs to, if it exists. */
export function identified(
  { generateId, tasks }: { readonly generateId: GenerateId; readonly tasks: ServedTasks },
  given: Requests['SendMessage'],
  owner: OwnerFilter,
): MaybePromise<SendRequest> {
  const { message, chosenId } = given
  const complete = { ...message, messageId: message.messageId ?? generateId() }
  const request = { ...given, message: complete }
  if (chosenId === undefined) return request
  const kept = requireChosenId(owner, chosenId)
  // The context of a task without one is the chosen id, and not the one that it is kept under.
  const inContext = kept === chosenId ? complete : { ...complete, contextId: complete.contextId ?? chosenId }
  // Clients that choose ids may send a new context with every message: the task's own counts.
  const withTask = (task: TaskSnapshot | null): SendRequest =>
    task === null
      ? { ...request, chosenId: kept, message: inContext }
      : { ...given, message: { ...complete, taskId: task.id, contextId: task.contextId } }
  const known = findChosen(tasks, chosenId, owner)
  return isPromise(known) ? known.then(withTask) : withTask(known)
}

/** The id of a task as clients see it. */
export function shownId(taskId: string): string {
  return KEPT.test(taskId) ? taskId.slice(KEPT_LENGTH) : taskId
}

/** The task as clients see it. */
export function shownTask(task: TaskSnapshot): TaskSnapshot {
  const { id, messages, message } = task
  if (!KEPT.test(id)) return task
  return {
    ...task,
    id: shownId(id),
    messages: messages.map(shownMessage),
    ...(message !== undefined && { message: shownMessage(message) }),
  }
}

function shownMessage<M extends string | Pick<Message, 'taskId'> | null | undefined>(message: M): M {
  if (typeof message !== 'object' || message?.taskId === undefined) return message
  return { ...message, taskId: shownId(message.taskId) }
}

/** An entry of a stream as clients see it. */
export function shownEntry<E extends StreamEntry>(entry: E): E
export function shownEntry(entry: StreamEntry): StreamEntry {
  if (entry.type === 'message') return entry
  if (entry.type === 'task') {
    const task = shownTask(entry.task)
    return task === entry.task ? entry : { ...entry, task }
  }
  const { event, source } = entry
  if (!KEPT.test(event.taskId)) return entry
  const shown = { ...event, taskId: shownId(event.taskId) }
  const ofTask = (): TaskSnapshot | undefined => {
    const task = source?.task()
    return task && shownTask(task)
  }
  return {
    ...entry,
    event: shown.type === 'status' ? shownStatus(shown) : shown,
    ...(source && { source: { task: ofTask } }),
  }
}

function shownStatus(event: StatusChanged): StatusChanged {
  return event.message === undefined ? event : { ...event, message: shownMessage(event.message) }
}

/** The result of an operation as clients see it. */
export function shownResult(result: Results[Operation]): Results[Operation] {
  if (result === null) return null
  if ('task' in result) return { ...result, task: shownTask(result.task) }
  if ('tasks' in result) {
    return { ...result, tasks: result.tasks.map((view) => ({ ...view, task: shownTask(view.task) })) }
  }
  if ('configs' in result) return { ...result, configs: result.configs.map(shownConfig) }
  return 'taskId' in result ? shownConfig(result) : result
}

function shownConfig({ taskId, config }: TaskPushConfig): TaskPushConfig {
  return { taskId: shownId(taskId), config }
}

/** An error as clients see it. */
export function shownError(error: A2AError): A2AError {
  const { message, data, code } = error
  const isOfKept = [message, ...Object.values<unknown>(data)].some(
    (value) => typeof value === 'string' && ANY_KEPT.test(value),
  )
  if (!isOfKept) return error
  const show = (value: unknown): unknown => (typeof value === 'string' ? value.replace(ALL_KEPT, '') : value)
  const shown = Object.fromEntries(Object.entries(data).map(([key, value]) => [key, show(value)]))
  // The data keep their type: only texts are shorter.
  return new A2AError(code, message.replace(ALL_KEPT, ''), shown as typeof data, { cause: error })
}
