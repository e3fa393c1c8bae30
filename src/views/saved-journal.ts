/**
 * Histories of saved tasks: their form, and their validation.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import type { JournalEntry, JournalRecorded } from '../core/events.js'
import type { JsonObject, JsonValue } from '../core/json-types.js'
import { fromTagged } from '../core/tagged-json.js'
import type { Artifact, DeepReadonly } from '../core/task.js'
import {
  readGeneration,
  readName,
  readTimestamp,
  requireArtifact,
  requireMessage,
  requireObject,
  readElements,
} from '../core/validate.js'

/** The saved journal of the work on a task. */
export interface SavedJournal {
  /** The entries of the task's journal. Absent where there are none. */
  readonly recorded?: readonly JournalRecorded[]
  /**
   * Artifacts that an unfinished turn has written since its latest entry, as they were at that entry. Absent if there are
   * none.
   */
  readonly rewritten?: readonly {
    readonly artifactId: string
    /** `null` for an artifact that the turn has created. */
    readonly before: DeepReadonly<Artifact> | null
  }[]
  /** The id of the task that continues this dead letter. */
  readonly redriven?: string
}

export interface ReadJournal {
  readonly recorded: readonly JournalRecorded[]
  readonly rewritten: ReadonlyMap<string, DeepReadonly<Artifact> | null>
  /** The generation at which the open turn begins; `undefined` where there is none. */
  readonly turn: number | undefined
  readonly redriven: string | undefined
}

/** @throws {A2AError} `INVALID_PARAMS` with the path of what is not an entry of a journal. */
export function readJournal(json: JsonObject, root: string, taskId: string, generation: number): ReadJournal {
  let last = 0
  const recorded = readElements(json, 'recorded', root).map((each, index): JournalRecorded => {
    const path = `${root}.recorded[${index}]`
    const event = requireObject(each, path)
    const at = readGeneration(event['generation'], `${path}.generation`) ?? 0
    if (at <= last || at > generation)
      throw invalidParams(`${path}.generation`, 'must be after that of the entry before, and within the task')
    last = at
    const timestamp = new Date(readTimestamp(event['timestamp'], `${path}.timestamp`)).toISOString()
    return {
      type: 'journal',
      taskId,
      generation: at,
      timestamp,
      entry: readEntry(event['entry'], `${path}.entry`),
    }
  })
  const rewritten = readElements(json, 'rewritten', root).map((each, index) => {
    const path = `${root}.rewritten[${index}]`
    const { artifactId, before = null } = requireObject(each, path)
    const artifact = before === null ? null : requireArtifact(before, `${path}.before`)
    return [readName(artifactId, `${path}.artifactId`), artifact] as const
  })
  const turn = readGeneration(json['turn'], `${root}.turn`)
  // A task of an older version has no journal: its turn is lost.
  const isOpen = recorded.some((event) => event.generation === turn && event.entry.kind === 'turn')
  const { redriven: id } = json
  const redriven = id === undefined ? undefined : readName(id, `${root}.redriven`)
  return { recorded, rewritten: new Map(rewritten), turn: isOpen ? turn : undefined, redriven }
}

/** The properties of each kind of entry that code relies on. Values are any JSON. */
const ENTRIES: Readonly<Record<JournalEntry['kind'], readonly (readonly [key: string, type: string])[]>> = {
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
  withdrawn: [['name', 'string']],
  sleep: [
    ['name', 'string'],
    ['dueAt', 'string'],
  ],
  wake: [['name', 'string']],
  signal: [['name', 'string']],
  wait: [['name', 'string']],
  read: [['count', 'number']],
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
  spend: [['units', 'object']],
  grant: [['units', 'object']],
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

function readEntry(value: JsonValue | undefined, path: string): JournalEntry {
  const entry = requireObject(value, path)
  const { kind } = entry
  if (typeof kind !== 'string' || !Object.hasOwn(ENTRIES, kind))
    throw invalidParams(`${path}.kind`, 'must be the kind of an entry of a journal')
  // The line before checks that it is a key.
  for (const [key, type] of ENTRIES[kind as JournalEntry['kind']]) {
    if (typeof entry[key] !== type) throw invalidParams(`${path}.${key}`, `must be of type ${type}`)
  }
  readTagMark(entry['tagged'], entry['output'] ?? entry['value'], path)
  if (entry['continued'] !== undefined) checkContinued(entry['continued'], `${path}.continued`)
  // The kind and what belongs to it were checked.
  return entry as unknown as JournalEntry
}

/**
 * The mark of a value with tags.
 *
 * @throws {A2AError} `INVALID_PARAMS` for another mark, and for a value that this version cannot read.
 */
export function readTagMark(
  mark: JsonValue | undefined,
  value: JsonValue | undefined,
  path: string,
): { readonly tagged?: true } {
  if (mark === undefined) return {}
  if (mark !== true) throw invalidParams(`${path}.tagged`, 'must be true, or absent')
  fromTagged(value ?? null, path)
  return { tagged: mark }
}

function checkContinued(value: JsonValue, path: string): void {
  const continued = requireObject(value, path)
  const { round = null, message, readTo } = continued
  readGeneration(round, `${path}.round`)
  if (readTo !== undefined) readName(readTo, `${path}.readTo`)
  readElements(continued, 'read', path).forEach((id, index) => readName(id, `${path}.read[${index}]`))
  requireMessage({ ...requireObject(message, `${path}.message`), role: 'user' }, `${path}.message`)
}
