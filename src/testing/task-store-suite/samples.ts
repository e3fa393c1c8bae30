/**
 * Sample tasks, and builders of creations and commits.
 *
 * @module
 */
import { evolve } from '../../core/evolve.js'
import type { TaskCreated, TaskEvent } from '../../core/events.js'
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

/** The moment in ms since 1970 at which the clock of every test begins. */
export const START = 1_767_225_600_000

/** So many ms later, as a timestamp. */
export function at(ms: number): string {
  return new Date(START + ms).toISOString()
}

export interface CreationTraits {
  readonly createdAt?: string
  /** Where it differs from `createdAt`, the task has a second event. */
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

/** An id that no other commit has. */
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
  const events: TaskEvent<string>[] = [created]
  if (updatedAt !== createdAt) events.push(outputEvent(id, 2, updatedAt, 'second'))
  const task = events.reduce<Snapshot | undefined>(evolve, undefined) ?? evolve(undefined, created)
  return {
    ...{ task, events, head: headOf(task), commitId: traits.commitId ?? commitId() },
    ...(lease && { lease }),
  }
}

export interface ChangeTraits {
  /** One event for each. Default is one, which says the generation. */
  readonly outputs?: readonly JsonValue[]
  /** Comes last, as an event of its own. */
  readonly state?: TaskState
  readonly updatedAt?: string
  /** Whether the commit has the whole task. */
  readonly checkpoint?: boolean
  readonly commitId?: string
  readonly leaseId?: string
}

/** A commit, and the task that comes of it. */
export interface Change extends Commit {
  readonly task: Snapshot
}

export function change(before: Snapshot, traits: ChangeTraits = {}): Change {
  const { id, generation, state: from } = before
  const { outputs = [generation + 1], state, updatedAt = at(generation), leaseId } = traits
  const events: TaskEvent<string>[] = outputs.map((output, index) =>
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
  }
}

/** Creates a task that is not there yet. */
export async function put(store: TaskStore, id: string, traits?: CreationTraits): Promise<Creation> {
  const created = creation(id, traits)
  if (await store.create(created)) return created
  throw new Error(`create() of ${JSON.stringify(id)}, which is not there yet: expected true, but got false`)
}

/** Changes a task that is at the generation of `before`. */
export async function move(store: TaskStore, before: Snapshot, traits?: ChangeTraits): Promise<Change> {
  const made = change(before, traits)
  const result = await store.commit(made)
  if (result === 'committed') return made
  const place = `${JSON.stringify(before.id)}, which is at generation ${before.generation}`
  throw new Error(`commit() to ${place}: expected "committed", but got "${result}"`)
}

/** The lease that the task has after this. */
export async function holder(acquiring: Promise<Grant | undefined>): Promise<string | undefined> {
  return (await acquiring)?.leaseId
}

/** What `get` gives when no commit since the creation had a checkpoint. */
export function storedOf({ task }: Creation, ...changes: readonly Commit[]): StoredTask {
  return { checkpoint: task, events: changes.flatMap(({ events }) => events) }
}

function headOf(task: Snapshot): TaskHead {
  const { generation, state, updatedAt } = task
  return { ...keyOf(task), generation, state, hasEnded: ENDED.includes(state), updatedAt }
}

function outputEvent(
  taskId: string,
  generation: number,
  timestamp: string,
  output: JsonValue,
): TaskEvent<string> {
  return { type: 'output', taskId, generation, timestamp, output }
}

/** Too varied to be compressed. */
const LONG = String.fromCharCode(...Array.from({ length: 1_023 }, (_, n) => 0x4e00 + ((n * 7_919) % 20_000)))

/** Names that mean something to SQL, Lua, patterns, paths or keys, or that are easily lost. */
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

/** No JSON: whoever writes it as such fails. */
export const UNWRITABLE = { toJSON: refuse } as unknown as JsonValue // As which it is given to a store all the same.

function refuse(): never {
  throw new Error('This value cannot be written as JSON')
}
