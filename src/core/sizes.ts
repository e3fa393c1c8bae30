/**
 * Sizes of a task, updated with each event: bytes of JSON of its artifacts and messages, and bytes of heap. Measuring them all
 * for each chunk would cost O(size of the task).
 *
 * @module
 */
import type { CreateCommand } from './commands.js'
import { continuation } from './artifacts/append-parts.js'
import type { StatusChanged, TaskEvent } from './events.js'
import { findArtifact } from './evolve.js'
import { jsonSize, NO_SIZE, sizeOf, type Size } from './json.js'
import { mergedMetadata } from './metadata.js'
import type { Artifact, DeepReadonly, Part, TaskSnapshot } from './task.js'

export interface Usage {
  readonly artifacts: number
  readonly messages: number
}

export function usageOf(task: TaskSnapshot<string>): Usage {
  return {
    artifacts: task.artifacts.reduce((sum, artifact) => sum + jsonSize(artifact), 0),
    messages: task.messages.reduce((sum, message) => sum + jsonSize(message), 0),
  }
}

/** The size of the JSON in an event: artifact, message or output. */
export function payloadSize(event: TaskEvent<string>): Size {
  switch (event.type) {
    case 'status':
      return statusSize(event)
    case 'output':
      return sizeOf(event.output)
    case 'artifact':
      return sizeOf(event.artifact)
    case 'message':
      return sizeOf(event.message)
    case 'journal':
      return sizeOf(event.entry)
    case 'created':
      return NO_SIZE
  }
}

function statusSize({ message, metadata }: StatusChanged<string>): Size {
  const said = message === undefined ? NO_SIZE : sizeOf(message)
  if (metadata === undefined) return said
  const { bytes, cost } = sizeOf(metadata)
  return { bytes: said.bytes + bytes, cost: said.cost + cost }
}

// Estimates of heap, in bytes.
/** A task and its place in a manager, without texts and JSON. */
const TASK_COST = 1_000
/** An event without its JSON. */
export const EVENT_COST = 150
/** An element of a task's history. */
const STATE_COST = 100
/** A chunk of an artifact without its parts. The task keeps only these. */
const CHUNK_COST = 240
/** A part of a chunk beside its text. Where that continues a text, the task keeps only the text. */
const TEXT_PART_COST = 176

/** The cost of a new task. */
export function costOfNew(command: CreateCommand): number {
  const { id, contextId, skill, owner, referenceTaskIds, jsonCost } = command
  const names = id.length + contextId.length + skill.length + (owner?.length ?? 0)
  return TASK_COST + jsonCost + 2 * names + (referenceTaskIds === undefined ? 0 : costOf(referenceTaskIds))
}

/** The cost of a whole task, without its log. */
export function costOfTask(task: TaskSnapshot<string>): number {
  return TASK_COST + sizeOf(task).cost
}

/** The cost that a change adds at most, with its payloads: `sizes`. */
export function costOfEvents(sizes: readonly Size[]): number {
  return sizes.reduce((sum, { cost }) => sum + cost + EVENT_COST + STATE_COST, 0)
}

/** What an event adds to the costs of its task and of the log. Values that both hold count in the task. */
export interface EventCosts {
  readonly inTask: number
  readonly inLog: number
}

/**
 * The costs of `event`, whose payload has `cost`, when it is applied to `task`. What the task no longer holds after the event
 * stays in the log until that drops its events.
 */
export function costsOf(task: TaskSnapshot<string>, event: TaskEvent<string>, cost: number): EventCosts {
  if (event.type !== 'artifact' || !event.append) {
    const inTask = costGrowth(task, event, cost)
    return { inTask, inLog: cost - inTask }
  }
  const present = task.artifacts[findArtifact(task.artifacts, event.artifact.artifactId)]
  const { parts } = event.artifact
  const text = present?.parts && parts && continuation(present.parts, parts)
  const dropped = CHUNK_COST + (text === undefined ? 0 : TEXT_PART_COST)
  const inTask = Math.max(0, cost - dropped) - replacedCost(present ?? {}, event.artifact)
  // The text is copied when the whole artifact is first read.
  return { inTask, inLog: cost - inTask + costOf(text) }
}

function costGrowth(task: TaskSnapshot<string>, event: TaskEvent<string>, cost: number): number {
  switch (event.type) {
    case 'status':
      return (
        (event.from === event.to ? 0 : STATE_COST) +
        (event.message === undefined ? 0 : costOf(event.message) - costOf(task.message)) +
        (event.metadata === undefined ? 0 : replacedBy(task, event.metadata))
      )
    case 'output':
      return cost - costOf(task.output)
    case 'artifact':
      return cost - costOf(task.artifacts[findArtifact(task.artifacts, event.artifact.artifactId)])
    case 'message':
      return cost
    case 'journal':
    case 'created':
      return 0
  }
}

/** What the metadata of the task cost more with these changes. */
function replacedBy({ metadata }: TaskSnapshot<string>, changes: TaskSnapshot['metadata']): number {
  return sizeOf(mergedMetadata(metadata, changes)).cost - sizeOf(metadata).cost
}

function costOf(value: unknown): number {
  return value === undefined || value === null ? 0 : sizeOf(value).cost
}

/** The cost of the values of `present` that `chunk` overwrites. */
function replacedCost(present: object, chunk: object): number {
  const before = present as Record<string, unknown>
  const after = chunk as Record<string, unknown>
  let cost = 0
  for (const key in after) {
    const value = before[key]
    if (key === 'parts' || value === undefined || value === after[key]) continue
    cost += key === 'metadata' ? replacedCost(value as object, after[key] as object) : costOf(value)
  }
  return cost
}

/** The usage of `task` after `event`, which has `bytes` of JSON, is applied to it. */
export function usageAfter(
  usage: Usage,
  task: TaskSnapshot<string>,
  event: TaskEvent<string>,
  bytes: number,
): Usage {
  switch (event.type) {
    case 'artifact':
      return { artifacts: usage.artifacts + artifactGrowth(task, event, bytes), messages: usage.messages }
    case 'message':
      return { artifacts: usage.artifacts, messages: usage.messages + bytes }
    default:
      return usage
  }
}

/**
 * The bytes by which the artifacts of `task` grow or shrink when `artifact` is added, replaces another or continues it.
 */
export function artifactGrowth(
  task: Pick<TaskSnapshot<string>, 'artifacts'>,
  { artifact, append }: { artifact: DeepReadonly<Artifact>; append: boolean },
  bytes = jsonSize(artifact),
): number {
  const present = task.artifacts[findArtifact(task.artifacts, artifact.artifactId)]
  if (present === undefined) return bytes
  if (!append) return bytes - jsonSize(present)
  return mergeGrowth(present, artifact, (key, before, after) => {
    if (key === 'parts' && Array.isArray(before) && Array.isArray(after))
      return partsGrowth(before, after, sizeOfParts(artifact, bytes))
    if (key === 'metadata') return mergeGrowth(before as object, after as object, sizeChange)
    return sizeChange(key, before, after)
  })
}

function sizeChange(_key: string, before: unknown, after: unknown): number {
  return jsonSize(after) - jsonSize(before)
}

/** The bytes by which `present` grows when `added` is merged into it. Measures only new and replaced values. */
function mergeGrowth(
  present: object,
  added: object,
  change: (key: string, before: unknown, after: unknown) => number,
): number {
  const before = present as Record<string, unknown>
  const after = added as Record<string, unknown>
  let growth = 0
  let fresh = 0
  for (const key of Object.keys(after)) {
    if (!Object.hasOwn(before, key)) {
      growth += jsonSize(key) + jsonSize(after[key])
      fresh += 1
    } else if (before[key] !== after[key]) {
      growth += change(key, before[key], after[key])
    }
  }
  if (fresh === 0) return growth
  const count = Object.keys(before).length
  return growth + objectFrame(count + fresh) - objectFrame(count)
}

/** The bytes of the parts of an artifact of `bytes`: what its other members, which are short, leave of it. */
function sizeOfParts(artifact: DeepReadonly<Artifact>, bytes: number): number {
  const rest: DeepReadonly<Artifact> = { ...artifact, parts: [] }
  return bytes - jsonSize(rest) + arrayFrame(0)
}

function partsGrowth(present: readonly Part[], added: readonly Part[], bytes: number): number {
  const isJoined = continuation(present, added) !== undefined
  const elements = bytes - arrayFrame(added.length) - (isJoined ? TEXT_FRAME : 0)
  const length = present.length + added.length - (isJoined ? 1 : 0)
  return elements + arrayFrame(length) - arrayFrame(present.length)
}

/** The bytes of a part beside its text. */
const TEXT_FRAME = jsonSize({ text: '' })

/** The bytes of an array's brackets and commas. */
function arrayFrame(length: number): number {
  return Math.max(2, length + 1)
}

/** The bytes of an object's braces, commas and colons. */
function objectFrame(count: number): number {
  return Math.max(2, 2 * count + 1)
}
