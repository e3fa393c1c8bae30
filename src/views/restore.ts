/**
 * Restoring saved tasks: their validation.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import {
  readGeneration,
  readName,
  readNames,
  readTimestamp,
  requireArtifact,
  requireKnownKeys,
  requireMessage,
  requireObject,
  requireState,
  readElements,
} from '../core/validate.js'
import { JsonReader } from '../core/json.js'
import { describe } from '../runtime/describe.js'
import type { JsonObject, JsonValue } from '../core/json-types.js'
import { canTransition, isTerminal, type Lifecycle, type TaskState } from '../core/lifecycle.js'
import type { LocalTasks, MaybePromise, SharedTasks } from '../core/managers.js'
import type { Settings } from '../core/options.js'
import { readJournal, readTagMark, type ReadJournal, type SavedJournal } from './saved-journal.js'
import { requirePort } from './room.js'
import { TaskRecord } from '../core/task-record.js'
import type { StateTransition, Task, TaskFailure, TaskSnapshot } from '../core/task.js'
import { instantOf, type Instant } from '../core/timeline.js'
import { usageOf } from '../core/sizes.js'

/** A task that `restoreTasks` accepts: an element of what `saveTasks` returns, or a task of an older version with fewer properties. */
export interface SavedTask<S extends string = TaskState> extends Partial<
  Omit<TaskSnapshot<S>, 'id' | 'state' | 'skill' | 'createdAt'>
> {
  readonly id: string
  readonly skill: string
  readonly state: S
  readonly createdAt: string
  /** As {@link SavedJournal}. */
  readonly recorded?: SavedJournal['recorded']
  readonly rewritten?: SavedJournal['rewritten']
  readonly redriven?: SavedJournal['redriven']
}

const NO_LIMIT = { subject: 'Task', option: 'restoreTasks', maxBytes: Infinity }
const KEYS = [
  'id',
  'contextId',
  'skill',
  'state',
  'input',
  'output',
  'message',
  'messages',
  'artifacts',
  'metadata',
  'history',
  'referenceTaskIds',
  'owner',
  'turn',
  'failure',
  'signals',
  'recorded',
  'rewritten',
  'redriven',
  'generation',
  'createdAt',
  'updatedAt',
]
/** The levels that `{ messages: [message] }` adds around the values that `maxDepth` limits. */
const ENVELOPE_DEPTH = 2
/** Leaves room to count on within the safe integers. */
const MAX_GENERATION = 2 ** 52

/**
 * Adds saved tasks with their journals to a manager, without events. Over memory, all or none are added, before this returns; a
 * request handler that is created afterwards continues their unfinished turns, as far as these have recorded something.
 *
 * Over a store, all are checked before the first is stored, and stored one after the other. After a failure, call it again:
 * those that it has stored stay, and are completed. When a task with other content has an id, those before it stay stored.
 * Unfinished turns continue in any process.
 *
 * The logs of restored tasks start empty: subscribing from an earlier cursor yields a `resync`. An earlier cursor is valid only
 * if its event was part of the saved task; if saves can lag behind, subscribe without a cursor.
 *
 * @throws {TypeError} for a manager that is not of this package.
 * @throws {A2AError} `INVALID_PARAMS` with the path of the invalid value, or of an id that is in use; over memory
 *   `TASK_LIMIT_REACHED`; over a store `STORE_FAILED`. As a rejection over a store.
 */
export function restoreTasks<S extends string>(tasks: LocalTasks<S>, saved: Iterable<SavedTask<S>>): void
export function restoreTasks<S extends string>(
  tasks: SharedTasks<S>,
  saved: Iterable<SavedTask<S>>,
): Promise<void>
export function restoreTasks<S extends string>(
  tasks: LocalTasks<S> | SharedTasks<S>,
  saved: Iterable<SavedTask<S>>,
): MaybePromise<void>
export function restoreTasks<S extends string>(
  tasks: LocalTasks<S> | SharedTasks<S>,
  saved: Iterable<SavedTask<S>>,
): MaybePromise<void> {
  const port = requirePort<S>(tasks, 'restoreTasks')
  const restore = (): MaybePromise<void> => {
    const now = port.now()
    return port.restore(toRecords(saved, port.settings, now), now)
  }
  return 'documents' in tasks ? Promise.resolve().then(restore) : restore()
}

/** Records of saved tasks with their journals, each checked. Timestamps after `now` are set to `now`. */
function toRecords<S extends string>(
  saved: Iterable<SavedTask<S>>,
  settings: Settings<S>,
  now: Instant,
): TaskRecord<S>[] {
  const given: unknown = saved
  // Strings are iterable too, but contain no tasks.
  if (typeof given !== 'object' || given === null || !(Symbol.iterator in given)) {
    throw invalidParams('tasks', `must be an array of tasks, got ${describe(given)}`)
  }
  const ids = new Set<string>()
  return Array.from(saved, (each, index) => {
    const path = `tasks[${index}]`
    const { task, journal } = toTask(each, path, settings, now)
    if (!isTerminal(task.state, settings.lifecycle) && journal.turn !== undefined) task.turn = journal.turn
    if (ids.has(task.id)) throw invalidParams(`${path}.id`, `is taken: ${task.id}`)
    ids.add(task.id)
    const created = task.createdAt === now.iso ? now : instantOf(Date.parse(task.createdAt))
    const record = new TaskRecord(task, created, usageOf(task), task.generation)
    if (journal.recorded.length > 0) record.resume(journal.recorded, journal.rewritten)
    if (journal.redriven !== undefined) record.redriven = { taskId: journal.redriven, isMade: true }
    if (task.state === 'canceled') record.endReason = 'TASK_CANCELED'
    return record
  })
}

function toTask<S extends string>(
  saved: SavedTask<S>,
  root: string,
  settings: Settings<S>,
  now: Instant,
): { readonly task: Task<S>; readonly journal: ReadJournal } {
  const { lifecycle, limits } = settings
  const json = new JsonReader(NO_LIMIT, Math.max(3, limits.maxDepth + ENVELOPE_DEPTH)).readObject(saved, root)
  requireKnownKeys(json, KEYS, root)
  const { id, skill, message, referenceTaskIds, owner, contextId = id, input = null, output = null } = json
  const createdAt = timestamp(json['createdAt'], `${root}.createdAt`, now)
  const updatedAt = timestamp(json['updatedAt'] ?? createdAt, `${root}.updatedAt`, now)
  const task: Task<S> = {
    id: readName(id, `${root}.id`),
    contextId: readName(contextId, `${root}.contextId`),
    skill: readName(skill, `${root}.skill`),
    state: requireState(json['state'], `${root}.state`, lifecycle.states),
    input,
    output,
    messages: readElements(json, 'messages', root).map((each, index) =>
      requireMessage(each, `${root}.messages[${index}]`),
    ),
    artifacts: readElements(json, 'artifacts', root).map((each, i) =>
      requireArtifact(each, `${root}.artifacts[${i}]`),
    ),
    metadata: requireObject(json['metadata'] ?? {}, `${root}.metadata`),
    history: [],
    generation: 1,
    createdAt,
    updatedAt,
  }
  task.history = toHistory(json, root, task, lifecycle, now)
  task.generation = toGeneration(json, root, task.history.length)
  refuseRepeatedIds(task, root)
  if (message !== undefined) {
    task.message = typeof message === 'string' ? message : requireMessage(message, `${root}.message`)
  }
  if (referenceTaskIds !== undefined)
    task.referenceTaskIds = readNames(referenceTaskIds, `${root}.referenceTaskIds`)
  if (owner !== undefined) task.owner = readName(owner, `${root}.owner`)
  const signals = readElements(json, 'signals', root).map((each, index) => {
    const path = `${root}.signals[${index}]`
    const { name, value = null, tagged } = requireObject(each, path)
    const mark = readTagMark(tagged, value, path)
    return { name: readName(name, `${path}.name`), value, ...mark }
  })
  if (signals.length > 0) task.signals = signals
  if (json['failure'] !== undefined) task.failure = toFailure(json['failure'], `${root}.failure`)
  return { task, journal: readJournal(json, root, task.id, task.generation) }
}

function toFailure(value: JsonValue, path: string): TaskFailure {
  const { reason, count, error, worker } = requireObject(value, path)
  if (reason !== 'error' && reason !== 'restarts')
    throw invalidParams(`${path}.reason`, 'must be "error" or "restarts"')
  if (typeof count !== 'number') throw invalidParams(`${path}.count`, 'must be a number')
  const failure: TaskFailure = {
    ...{ reason, count },
    ...(worker !== undefined && { worker: readName(worker, `${path}.worker`) }),
  }
  if (error === undefined) return failure
  const { name, message } = requireObject(error, `${path}.error`)
  if (typeof name === 'string' && typeof message === 'string') return { ...failure, error: { name, message } }
  throw invalidParams(`${path}.error`, 'must have a name and a message')
}

/**
 * A legal path that ends in the task's state. For a task saved without a history: its state, entered at its last
 * change.
 */
function toHistory<S extends string>(
  json: JsonObject,
  root: string,
  { state, updatedAt }: Task<S>,
  lifecycle: Lifecycle<S>,
  now: Instant,
): StateTransition<S>[] {
  const history = readElements(json, 'history', root).map((each, index) => {
    const path = `${root}.history[${index}]`
    const entry = requireObject(each, path)
    return {
      state: requireState(entry['state'], `${path}.state`, lifecycle.states),
      timestamp: timestamp(entry['timestamp'], `${path}.timestamp`, now),
    }
  })
  if (history.length === 0) return [{ state, timestamp: updatedAt }]
  const [first] = history
  // A task that was once saved without a history has a single entry.
  if (history.length > 1 && first?.state !== lifecycle.initial) {
    throw invalidParams(`${root}.history[0].state`, `must be ${lifecycle.initial}, in which tasks begin`)
  }
  for (const [index, entry] of history.entries()) {
    const before = history[index - 1]?.state
    if (before !== undefined && !canTransition(before, entry.state, lifecycle)) {
      throw invalidParams(`${root}.history[${index}]`, `cannot be ${entry.state} after ${before}`)
    }
  }
  const last = history.at(-1)?.state
  if (last !== state)
    throw invalidParams(`${root}.history`, `must end with ${state}, the task's state, not ${last}`)
  return history
}

/** Entering a state takes at least one event. */
function toGeneration(json: JsonObject, root: string, states: number): number {
  const path = `${root}.generation`
  const generation = readGeneration(json['generation'], path) ?? states
  if (generation >= states && generation <= MAX_GENERATION) return generation
  throw invalidParams(
    path,
    `must be from ${states}, the number of states it went through, to 2^52, got ${generation}`,
  )
}

function refuseRepeatedIds({ artifacts }: Task<string>, root: string): void {
  const seen = new Set<string>()
  for (const [index, { artifactId }] of artifacts.entries()) {
    if (artifactId === undefined) continue
    if (seen.has(artifactId))
      throw invalidParams(`${root}.artifacts[${index}].artifactId`, 'is that of another artifact')
    seen.add(artifactId)
  }
}

/** Timestamps after `now`, from the clock of another machine, become `now`. */
function timestamp(value: JsonValue | undefined, path: string, now: Instant): string {
  const ms = readTimestamp(value, path)
  return ms >= now.ms ? now.iso : new Date(ms).toISOString()
}
