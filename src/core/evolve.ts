/**
 * Evolution of a task by its events. Pure: arguments never change.
 *
 * @module
 */
import { appendParts } from './artifacts/append-parts.js'
import type { ArtifactChanged, FailureEntry, JournalEntry, TaskCreated } from './events.js'
import type { TaskEvent, TaskStreamEvent } from './events.js'
import { copyJson, freezeDeep } from './json.js'
import type { TaskState } from './lifecycle.js'
import { mergedMetadata } from './metadata.js'
import type { Artifact, DeepReadonly, Message, StateTransition } from './task.js'
import type { Task, TaskFailure, TaskSnapshot } from './task.js'
import type { JsonObject, JsonValue } from './json-types.js'

/**
 * Applies `event` to `task` and returns the resulting task. A `created` event applies to `undefined`; a `snapshot` or
 * `resync` entry replaces the task. Pure: arguments stay unchanged, and the result shares with them what the event does
 * not change. Folding a log, or the entries of a subscription, results in the task.
 *
 * @throws {TypeError} when `event` is not the next one of this task.
 * @example
 * const task = tasks.events(id).reduce<TaskSnapshot | undefined>(evolve, undefined)
 */
export function evolve<S extends string = TaskState>(
  task: TaskSnapshot<S> | undefined,
  event: TaskStreamEvent<S>,
): TaskSnapshot<S> {
  if (event.type === 'snapshot') return event.task
  if (event.type === 'resync') return event.task
  if (task === undefined && event.type === 'created') return create(event)
  if (event.type === 'created' || event.taskId !== task?.id || event.generation !== task.generation + 1) {
    const present = task === undefined ? 'no task' : `task ${task.id} at generation ${task.generation}`
    throw new TypeError(
      `Event ${event.generation} ("${event.type}") of task ${event.taskId} does not follow ${present}`,
    )
  }
  const next = thawTask(task)
  apply(next, event)
  return next
}

/** A new task. It shares its JSON with the event. */
export function create<S extends string>(event: TaskCreated<S>): Task<S> {
  const { taskId, contextId, skill, state, input, metadata, referenceTaskIds, owner, timestamp } = event
  const task: Task<S> = {
    id: taskId,
    contextId,
    skill,
    state,
    input: shared<JsonValue>(input),
    output: null,
    messages: NONE,
    artifacts: NONE,
    metadata: shared<JsonObject>(metadata),
    history: [{ state, timestamp }],
    generation: event.generation,
    createdAt: timestamp,
    updatedAt: timestamp,
  }
  if (referenceTaskIds !== undefined) task.referenceTaskIds = [...referenceTaskIds]
  if (owner !== undefined) task.owner = owner
  return task
}

/**
 * Changes `task` in place. Costs O(size of the event); a pure step costs O(size of the task), which makes appending n
 * chunks O(n²). The caller must own `task` and all its arrays. Leaves are shared and never change.
 */
export function apply<S extends string>(task: Task<S>, event: TaskEvent<S>): void {
  switch (event.type) {
    case 'created':
      break
    case 'status':
      if (event.to !== event.from) {
        task.state = event.to
        task.history = appended(task.history, { state: event.to, timestamp: event.timestamp })
      }
      if (event.message === null) delete task.message
      else if (event.message !== undefined) task.message = shared<Message | string>(event.message)
      if (event.metadata !== undefined)
        task.metadata = shared<JsonObject>(mergedMetadata(task.metadata, event.metadata))
      break
    case 'output':
      task.output = shared<JsonValue>(event.output)
      break
    case 'artifact':
      applyArtifact(task, event)
      break
    case 'message':
      task.messages = appended(task.messages, shared<Message>(event.message))
      break
    case 'journal':
      if (event.entry.kind === 'turn') task.turn = event.generation
      else if (event.entry.kind === 'end') delete task.turn
      else if (event.entry.kind === 'failure') task.failure = failureOf(event.entry)
      else applySignal(task, event.entry)
      break
  }
  task.generation = event.generation
  task.updatedAt = event.timestamp
}

/** As {@link apply}, for the artifacts alone. */
export function applyArtifact(
  task: Pick<Task, 'artifacts'>,
  { artifact, append }: Pick<ArtifactChanged, 'artifact' | 'append'>,
): void {
  const known = findArtifact(task.artifacts, artifact.artifactId)
  const present = task.artifacts[known]
  if (present === undefined) {
    task.artifacts = appended(task.artifacts, ownArtifact(artifact))
    return
  }
  if (!append) {
    task.artifacts[known] = ownArtifact(artifact)
    return
  }
  const chunk = shared<Artifact>(artifact)
  const { parts, metadata } = chunk
  for (const key of Object.keys(chunk)) if (key !== 'parts' && key !== 'metadata') present[key] = chunk[key]
  if (parts !== undefined) {
    present.parts ??= []
    appendParts(present.parts, parts)
  }
  if (metadata !== undefined) present.metadata = { ...present.metadata, ...metadata }
}

/** Most of 100,000 tasks have no message and no artifact: they share one frozen empty array. */
const NONE: never[] = freezeDeep([])

/** `array` with `element` at its end; a new array if it is empty. Pushing to `[]` reserves 17 elements. */
function appended<T>(array: T[], element: T): T[] {
  if (array.length === 0) return [element]
  array.push(element)
  return array
}

/** The index of the artifact with this id, or -1. Searches from the end: most chunks continue the latest artifact. */
export function findArtifact(
  artifacts: readonly DeepReadonly<Artifact>[],
  artifactId: string | undefined,
): number {
  if (artifactId === undefined) return -1
  let index = artifacts.length - 1
  while (index >= 0 && artifacts[index]?.artifactId !== artifactId) index -= 1
  return index
}

/** An artifact whose own fields and `parts` can be changed in place. */
export function ownArtifact(artifact: DeepReadonly<Artifact>): Artifact {
  const own: Artifact = { ...shared<Artifact>(artifact) }
  if (own.parts !== undefined) own.parts = [...own.parts]
  return own
}

/**
 * A task whose arrays and artifacts can be changed in place. Its leaves (JSON, messages, parts) are shared with the
 * original. Costs O(number of messages, artifacts and parts), whatever their size.
 */
export function thawTask<S extends string>(snapshot: TaskSnapshot<S>): Task<S> {
  const task = writable(snapshot)
  return {
    ...task,
    messages: [...task.messages],
    artifacts: task.artifacts.map(ownArtifact),
    history: [...task.history],
  }
}

/** A deep copy that the caller owns. */
export function copyTask<S extends string>(snapshot: TaskSnapshot<S>): Task<S> {
  return copyWith(
    snapshot,
    snapshot.history.map(({ state, timestamp }) => ({ state, timestamp })),
  )
}

/** As {@link copyTask}, with a history that the caller owns. */
export function copyWith<S extends string>(
  snapshot: Omit<TaskSnapshot<S>, 'history'>,
  history: StateTransition<S>[],
): Task<S> {
  const task = snapshot as Omit<Task<S>, 'history'>
  const copy: Task<S> = {
    id: task.id,
    contextId: task.contextId,
    skill: task.skill,
    state: task.state,
    input: copyJson(task.input),
    output: copyJson(task.output),
    messages: task.messages.length === 0 ? [] : copyJson(task.messages),
    artifacts: task.artifacts.length === 0 ? [] : copyJson(task.artifacts),
    metadata: copyJson(task.metadata),
    history,
    generation: task.generation,
    createdAt: task.createdAt,
    updatedAt: task.updatedAt,
  }
  if (task.message !== undefined) copy.message = copyJson(task.message)
  if (task.referenceTaskIds !== undefined) copy.referenceTaskIds = [...task.referenceTaskIds]
  if (task.owner !== undefined) copy.owner = task.owner
  if (task.turn !== undefined) copy.turn = task.turn
  if (task.signals !== undefined) copy.signals = copyJson(task.signals)
  if (task.failure !== undefined) copy.failure = copyJson(task.failure)
  return copy
}

function failureOf({ reason, count, error, worker }: FailureEntry): TaskFailure {
  return { reason, count, ...(error && { error: { ...error } }), ...(worker !== undefined && { worker }) }
}

/** Drops `readonly` from the type of a shared leaf. Leaves never change, so only the type is writable. */
function shared<T>(value: DeepReadonly<T>): T {
  return value as T
}

/** Drops `readonly` from the type of a task that is only read, to build writable tasks from its properties. */
function writable<S extends string>(task: TaskSnapshot<S>): Task<S> {
  return task as Task<S>
}

/** The name of the signal that a wait is for: that of the wait without its occurrence. */
export function signalNameOf(wait: string): string {
  return wait.slice(0, wait.lastIndexOf('#'))
}

/** The entry that ends a wait; `undefined` while there is no signal for it. */
export function receivedEntry(
  { signals = [] }: TaskSnapshot<string>,
  wait: string,
): Extract<JournalEntry, { kind: 'received' }> | undefined {
  const name = signalNameOf(wait)
  const signal = signals.find((each) => each.name === name)
  if (signal === undefined) return undefined
  const { value, tagged } = signal
  return { kind: 'received', name: wait, value, ...(tagged && { tagged }) }
}

/** Keeps a signal, or removes the one that was received. The arrays of `task` are not changed. */
function applySignal(task: Task<string>, entry: JournalEntry): void {
  const { signals = [] } = task
  if (entry.kind === 'signal') {
    // Leaves never change, so only the type is writable.
    const { name, value, tagged } = entry
    task.signals = [...signals, { name, value: value as JsonValue, ...(tagged && { tagged }) }]
  } else if (entry.kind === 'received' && entry.isWithdrawn !== true) {
    const name = signalNameOf(entry.name)
    const first = signals.findIndex((signal) => signal.name === name)
    const left = signals.filter((_, index) => index !== first)
    if (left.length > 0) task.signals = left
    else delete task.signals
  }
}
