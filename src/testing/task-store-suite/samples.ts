/**
 * Sample tasks, and builders of creations and commits.
 *
 * @module
 */
import { evolve } from '../../core/evolve.js'
import type { JournalRecorded, TaskCreated, TaskEvent } from '../../core/events.js'
import type { TaskState } from '../../core/lifecycle.js'
import { TERMINAL_STATES } from '../../core/states.js'
import { keyOf, type TaskSnapshot } from '../../core/task.js'
import type { JsonValue } from '../../core/json-types.js'
import type {
  Commit,
  Creation,
  Grant,
  Lease,
  StoredTask,
  TaskHead,
  TaskStore,
} from '../../durable/task-store.js'

const ENDED: readonly string[] = [...TERMINAL_STATES]

type Snapshot = TaskSnapshot<string>

/** The time at which the clock of every test begins, in ms since 1970. */
export const START = 1_767_225_600_000

/** The timestamp `ms` after the start. */
export function at(ms: number): string {
  return new Date(START + ms).toISOString()
}

export interface CreationTraits {
  readonly createdAt?: string
  /** If it differs from `createdAt`, the task has a second event. */
  readonly updatedAt?: string
  readonly skill?: string
  readonly contextId?: string
  readonly owner?: string
  readonly state?: TaskState
  readonly input?: JsonValue
  readonly commitId?: string
  readonly lease?: Lease
}

let commits = 0

/** Returns a unique commit id. */
export function commitId(): string {
  commits += 1
  return `commit-${commits}`
}

export function creation(id: string, traits: CreationTraits = {}): Creation {
  const {
    createdAt = at(0),
    updatedAt = createdAt,
    owner,
    state = 'working',
    input = `Input of ${id}`,
  } = traits
  const { skill = 'echo', contextId = 'context', lease } = traits
  const created: TaskCreated<string> = {
    ...{ type: 'created', taskId: id, generation: 1, timestamp: createdAt },
    ...{ state, contextId, skill, input, metadata: {} },
    ...(owner !== undefined && { owner }),
  }
  const events: SampleEvent[] = [created]
  if (updatedAt !== createdAt) events.push(outputEvent(id, 2, updatedAt, 'second'))
  const task = events.reduce<Snapshot | undefined>(evolve, undefined) ?? evolve(undefined, created)
  return {
    ...{ task, events, head: headOf(task), commitId: traits.commitId ?? commitId() },
    ...(lease && { lease }),
  }
}

export interface ChangeTraits {
  /** One event for each. Default is a single output, the generation. */
  readonly outputs?: readonly JsonValue[]
  /** Adds a status event at the end. */
  readonly state?: TaskState
  readonly updatedAt?: string
  /** Whether the commit includes a checkpoint. */
  readonly checkpoint?: boolean
  readonly commitId?: string
  readonly leaseId?: string
  readonly expires?: string
}

/** An event that has one type, in a store and for a manager. */
type SampleEvent = Exclude<TaskEvent<string>, JournalRecorded>

/** A commit, and the task that results from it. */
export interface Change extends Commit {
  readonly task: Snapshot
}

export function change(before: Snapshot, traits: ChangeTraits = {}): Change {
  const { id, generation, state: from } = before
  const { outputs = [generation + 1], state, updatedAt = at(generation), leaseId, expires } = traits
  const events: SampleEvent[] = outputs.map((output, index) =>
    outputEvent(id, generation + 1 + index, updatedAt, output),
  )
  if (state !== undefined) {
    const next = generation + 1 + events.length
    events.push({ type: 'status', taskId: id, generation: next, timestamp: updatedAt, from, to: state })
  }
  const task = events.reduce<Snapshot>(evolve, before)
  return {
    ...{ key: keyOf(before), expectedGeneration: generation, events, head: headOf(task), task },
    commitId: traits.commitId ?? commitId(),
    ...(traits.checkpoint === true && { checkpoint: task }),
    ...(leaseId !== undefined && { leaseId }),
    ...(expires !== undefined && { expires }),
  }
}

/** Creates a task, and fails if it exists. */
export async function put(store: TaskStore, id: string, traits?: CreationTraits): Promise<Creation> {
  const created = creation(id, traits)
  if (await store.create(created)) return created
  throw new Error(`create() of ${JSON.stringify(id)}, which is not there yet: expected true, but got false`)
}

/** Changes a task whose generation is that of `before`, and fails if it is not. */
export async function move(store: TaskStore, before: Snapshot, traits?: ChangeTraits): Promise<Change> {
  const made = change(before, traits)
  const result = await store.commit(made)
  if (result === 'committed') return made
  const subject = `${JSON.stringify(before.id)}, which is at generation ${before.generation}`
  throw new Error(`commit() to ${subject}: expected "committed", but got "${result}"`)
}

/** Resolves to the id of the lease that the task has afterwards. */
export async function holder(acquiring: Promise<Grant | undefined>): Promise<string | undefined> {
  return (await acquiring)?.leaseId
}

/** The expected result of `get` when no commit since the creation had a checkpoint. */
export function storedOf({ task }: Creation, ...changes: readonly Commit[]): StoredTask {
  return { checkpoint: task, events: changes.flatMap(({ events }) => events) }
}

function headOf(task: Snapshot): TaskHead {
  const { generation, state, updatedAt } = task
  return { ...keyOf(task), generation, state, hasEnded: ENDED.includes(state), updatedAt }
}

function outputEvent(taskId: string, generation: number, timestamp: string, output: JsonValue): SampleEvent {
  return { type: 'output', taskId, generation, timestamp, output }
}

/** Too varied to be compressed. */
const LONG = String.fromCharCode(...Array.from({ length: 1_023 }, (_, n) => 0x4e00 + ((n * 7_919) % 20_000)))

/** Names with a meaning in SQL, Lua, patterns, paths or keys, and names that drivers tend to lose. */
export const HOSTILE_NAMES: readonly string[] = [
  ...[
    "'",
    '"',
    ';',
    '%',
    '_',
    '*',
    '?',
    '[',
    ']',
    '[a-z]',
    '\\',
    '\\\\',
    ':',
    '::',
    '/',
    '.',
    '..',
    '{',
    '}',
    '{}',
    '$1',
  ],
  ...[
    ' ',
    '  ',
    '\t',
    '\n',
    '\r\n',
    '\u0000',
    '\u0000\u0000',
    'a\u0000',
    'a\u0000b',
    'a',
    'A',
    'á',
    'a\u0301',
  ],
  ...[
    'null',
    'undefined',
    'true',
    '0',
    '00',
    '-1',
    '1e3',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
  ],
  ...[
    "'; DROP TABLE tasks; --",
    '%s',
    '\\x00',
    '\\u0000',
    '\\n',
    'ß',
    'ss',
    '\ufeff',
    '\uffff',
    '\u{10ffff}',
    '😀',
    '👩‍👩‍👧',
  ],
  ...[
    `${LONG}x`,
    `${LONG}y`,
    'x'.repeat(1_024),
    `${'x'.repeat(1_023)}y`,
    '😀'.repeat(512),
    '\u0000'.repeat(1_024),
  ],
]

/** A value that fails when a store serializes it as JSON. The cast lets tests pass it to a store anyway. */
export const UNWRITABLE = { toJSON: refuse } as unknown as JsonValue

function refuse(): never {
  throw new Error('This value cannot be written as JSON')
}
