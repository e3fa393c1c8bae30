/**
 * Histories of saved tasks: their form, and their validation.
 *
 * @module
 */
import { invalidParams } from '../errors.js'
import type { HistoryEntry, HistoryRecorded } from '../events.js'
import { freezeDeep } from '../json.js'
import type { JsonObject, JsonValue } from '../json-types.js'
import type { UnfinishedListener } from '../managers.js'
import type { OwnerFilter } from '../queries.js'
import type { TaskRecord } from '../task-record.js'
import type { Artifact, DeepReadonly, TaskSnapshot } from '../task.js'
import {
  readGeneration,
  readName,
  readTimestamp,
  requireArray,
  requireArtifact,
  requireObject,
} from '../validate.js'

/** What is saved of the work on a task, beside the task. */
export interface SavedHistory {
  /** The entries of the task's history. Absent where there are none. */
  readonly recorded?: readonly HistoryRecorded[]
  /** What the artifacts held that an unfinished turn has written since its latest entry. Absent where there are none. */
  readonly rewritten?: readonly {
    readonly artifactId: string
    /** `null` for an artifact that the turn has created. */
    readonly before: DeepReadonly<Artifact> | null
  }[]
}

/** The task with its history. */
export function toSaved<S extends string>(record: TaskRecord<S>): TaskSnapshot<S> & SavedHistory {
  const { history, rewritten } = record
  const task = record.snapshot()
  if (history.length === 0) return task
  const written = [...rewritten].map(([artifactId, before]) => ({ artifactId, before }))
  return freezeDeep({ ...task, recorded: [...history], ...(written.length > 0 && { rewritten: written }) })
}

export interface ReadHistory {
  readonly recorded: readonly HistoryRecorded[]
  readonly rewritten: ReadonlyMap<string, DeepReadonly<Artifact> | null>
  /** The generation at which the open turn begins; `undefined` where there is none. */
  readonly turn: number | undefined
}

/** @throws {A2AError} `INVALID_PARAMS` with the path of what is not an entry of a history. */
export function readHistory(json: JsonObject, root: string, taskId: string, generation: number): ReadHistory {
  let last = 0
  const recorded = elements(json, 'recorded', root).map((each, index): HistoryRecorded => {
    const path = `${root}.recorded[${index}]`
    const event = requireObject(each, path)
    const at = readGeneration(event['generation'], `${path}.generation`) ?? 0
    if (at <= last || at > generation)
      throw invalidParams(`${path}.generation`, 'must be after that of the entry before, and within the task')
    last = at
    const timestamp = new Date(readTimestamp(event['timestamp'], `${path}.timestamp`)).toISOString()
    return {
      type: 'history',
      taskId,
      generation: at,
      timestamp,
      entry: readEntry(event['entry'], `${path}.entry`),
    }
  })
  const rewritten = elements(json, 'rewritten', root).map((each, index) => {
    const path = `${root}.rewritten[${index}]`
    const { artifactId, before = null } = requireObject(each, path)
    const artifact = before === null ? null : requireArtifact(before, `${path}.before`)
    return [readName(artifactId, `${path}.artifactId`), artifact] as const
  })
  const turn = readGeneration(json['turn'], `${root}.turn`)
  // A task of an older version has no history: its turn is lost.
  const isOpen = recorded.some((event) => event.generation === turn && event.entry.kind === 'turn')
  return { recorded, rewritten: new Map(rewritten), turn: isOpen ? turn : undefined }
}

/** The properties of each kind of entry that code relies on. Values are any JSON. */
const ENTRIES: Readonly<Record<HistoryEntry['kind'], readonly (readonly [key: string, type: string])[]>> = {
  turn: [['messageId', 'string']],
  step: [
    ['name', 'string'],
    ['attempts', 'number'],
  ],
  question: [['name', 'string']],
  answer: [
    ['name', 'string'],
    ['messageId', 'string'],
  ],
  sleep: [
    ['name', 'string'],
    ['dueAt', 'string'],
  ],
  wake: [['name', 'string']],
  signal: [['name', 'string']],
  wait: [['name', 'string']],
  received: [['name', 'string']],
  delegate: [
    ['name', 'string'],
    ['handle', 'object'],
  ],
  handle: [
    ['name', 'string'],
    ['handle', 'object'],
  ],
  delegated: [
    ['name', 'string'],
    ['result', 'object'],
  ],
  value: [['name', 'string']],
  change: [['name', 'string']],
  attempt: [
    ['number', 'number'],
    ['error', 'object'],
  ],
  failure: [
    ['reason', 'string'],
    ['count', 'number'],
  ],
  end: [],
}

function readEntry(value: JsonValue | undefined, path: string): HistoryEntry {
  const entry = requireObject(value, path)
  const { kind } = entry
  if (typeof kind !== 'string' || !Object.hasOwn(ENTRIES, kind))
    throw invalidParams(`${path}.kind`, 'must be the kind of an entry of a history')
  // The line before checks that it is a key.
  for (const [key, type] of ENTRIES[kind as HistoryEntry['kind']]) {
    if (typeof entry[key] !== type) throw invalidParams(`${path}.${key}`, `must be of type ${type}`)
  }
  // The kind and what belongs to it were checked.
  return entry as unknown as HistoryEntry
}

function elements(json: JsonObject, key: string, root: string): JsonValue[] {
  const value = json[key] ?? []
  requireArray(value, `${root}.${key}`)
  return value
}

/** Unfinished turns of the tasks of a manager in memory, for request handlers that continue them. */
export class UnfinishedTurns<S extends string> {
  readonly #find: (taskId: string) => TaskRecord<S>
  readonly #waiting = new Set<string>()
  readonly #listeners = new Set<UnfinishedListener>()

  constructor(find: (taskId: string) => TaskRecord<S>) {
    this.#find = find
  }

  /** Restored tasks, which the next listener continues. */
  add(records: readonly TaskRecord<S>[]): void {
    for (const { task } of records) if (task.turn !== undefined) this.#waiting.add(task.id)
  }

  /** Continues the turn of a new task: at once where there is a listener. */
  begin(taskId: string): void {
    const [listener] = this.#listeners
    if (listener === undefined) this.#waiting.add(taskId)
    else listener.continueTurn(taskId)
  }

  /** Requires that the turn of a new task can begin. */
  requireRoom(owner: OwnerFilter): void {
    for (const listener of [...this.#listeners].slice(0, 1)) listener.requireRoom(owner)
  }

  /**
   * Registers what continues turns, and hands it those that wait. The first listener continues all.
   *
   * @returns A function that removes the listener.
   */
  listen(listener: UnfinishedListener): () => void {
    this.#listeners.add(listener)
    const ids = [...this.#waiting]
    this.#waiting.clear()
    for (const taskId of ids) listener.continueTurn(taskId)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * The artifacts that the turn of the task has written since the latest entry of its history, by id: what they held then;
   * `null` for those that it created.
   */
  rewritten(taskId: string): ReadonlyMap<string, DeepReadonly<Artifact> | null> {
    return this.#find(taskId).rewritten
  }
}
