/**
 * Tasks that come back from where they were saved.
 *
 * @module
 */
import { requireObject, requireObjects, takeGeneration, takeName, takeNames } from './commands.js'
import { invalidParams } from './errors.js'
import { JsonTaker } from './json.js'
import type { Settings } from './limits.js'
import { TaskRecord } from './task-record.js'
import type { JsonObject, JsonValue, Message, StateTransition, Task, TaskSnapshot } from './task.js'
import { instantOf, type Instant } from './time.js'
import { usageOf } from './usage.js'

/** What `restore` takes: a task as `snapshot()` gives it, or one saved before it had all of today's properties. */
export interface SavedTask<S extends string> extends Partial<
  Omit<TaskSnapshot<S>, 'id' | 'state' | 'skill'>
> {
  readonly id: string
  readonly skill: string
  readonly state: S
}

const NO_LIMIT = { subject: 'Task', option: 'restore', maxBytes: Infinity }

/** The records of saved tasks, checked one by one. A task made after `now` counts as made now. */
export function toRecords<S extends string>(
  saved: Iterable<SavedTask<S>>,
  settings: Settings<S>,
  now: Instant,
): TaskRecord<S>[] {
  return Array.from(saved, (task, index) => {
    const restored = toTask(task, `tasks[${index}]`, settings)
    const created = Date.parse(restored.createdAt)
    return new TaskRecord(restored, created >= now.ms ? now : instantOf(created), usageOf(restored))
  })
}

function toTask<S extends string>(saved: SavedTask<S>, root: string, settings: Settings<S>): Task<S> {
  const { lifecycle, limits } = settings
  const json = new JsonTaker(NO_LIMIT, limits.maxDepth).takeObject(saved, root)
  const { state } = json
  // Checked in the same breath.
  if (!lifecycle.states.includes(state as S)) {
    throw invalidParams(`${root}.state`, `must be one of ${lifecycle.states.join(', ')}`)
  }
  const { createdAt, updatedAt = createdAt ?? null, message, referenceTaskIds, owner } = json
  const history = objectsOf<StateTransition<S>>(json, 'history', root)
  for (const [index, entry] of history.entries()) {
    if (lifecycle.states.includes(entry.state)) continue
    throw invalidParams(`${root}.history[${index}].state`, `must be one of ${lifecycle.states.join(', ')}`)
  }
  const task: Task<S> = {
    id: takeName(json['id'], `${root}.id`),
    contextId: takeName(json['contextId'] ?? json['id'], `${root}.contextId`),
    skill: takeName(json['skill'], `${root}.skill`),
    state: state as S,
    input: json['input'] ?? null,
    output: json['output'] ?? null,
    messages: objectsOf(json, 'messages', root),
    artifacts: objectsOf(json, 'artifacts', root),
    metadata: requireObject(json['metadata'] ?? {}, `${root}.metadata`),
    history,
    generation: takeGeneration(json['generation'], `${root}.generation`) ?? Math.max(1, history.length),
    createdAt: timestamp(createdAt ?? null, `${root}.createdAt`),
    updatedAt: timestamp(updatedAt, `${root}.updatedAt`),
  }
  if (task.history.length === 0) task.history.push({ state: task.state, timestamp: task.updatedAt })
  if (typeof message === 'string') task.message = message
  else if (message !== undefined)
    task.message = requireObject(message, `${root}.message`) as unknown as Message
  if (referenceTaskIds !== undefined)
    task.referenceTaskIds = takeNames(referenceTaskIds, `${root}.referenceTaskIds`)
  if (owner !== undefined) task.owner = takeName(owner, `${root}.owner`)
  return task
}

/** What a snapshot found in its arrays; that they hold objects is as far as this looks. */
function objectsOf<T>(json: JsonObject, key: string, root: string): T[] {
  return requireObjects(json[key] ?? [], `${root}.${key}`) as T[]
}

function timestamp(value: JsonValue, path: string): string {
  const ms = typeof value === 'string' ? Date.parse(value) : NaN
  if (Number.isNaN(ms)) throw invalidParams(path, 'must be an ISO 8601 timestamp')
  return new Date(ms).toISOString()
}
