/**
 * Sizes in bytes of JSON of a task's artifacts and messages, updated with each event. Measuring them all for each chunk
 * would cost O(size of the task).
 *
 * @module
 */
import type { TaskEvent } from './events.js'
import { findArtifact } from './evolve.js'
import { jsonSize } from './json.js'
import type { Artifact, DeepReadonly, TaskSnapshot } from './task.js'

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

/** The bytes of JSON in an event: artifact, message or output. */
export function payloadSize(event: TaskEvent<string>): number {
  switch (event.type) {
    case 'status':
      return event.message === undefined ? 0 : jsonSize(event.message)
    case 'output':
      return jsonSize(event.output)
    case 'artifact':
      return jsonSize(event.artifact)
    case 'message':
      return jsonSize(event.message)
    case 'created':
      return 0
  }
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
  task: TaskSnapshot<string>,
  { artifact, append }: { artifact: DeepReadonly<Artifact>; append: boolean },
  bytes = jsonSize(artifact),
): number {
  const present = task.artifacts[findArtifact(task.artifacts, artifact.artifactId)]
  if (present === undefined) return bytes
  if (!append) return bytes - jsonSize(present)
  return mergeGrowth(present, artifact, (key, before, after) => {
    if (key === 'parts' && Array.isArray(before) && Array.isArray(after)) return concatGrowth(before, after)
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

function concatGrowth(present: readonly unknown[], added: readonly unknown[]): number {
  const elements = jsonSize(added) - arrayFrame(added.length)
  return elements + arrayFrame(present.length + added.length) - arrayFrame(present.length)
}

/** The bytes of an array's brackets and commas. */
function arrayFrame(length: number): number {
  return Math.max(2, length + 1)
}

/** The bytes of an object's braces, commas and colons. */
function objectFrame(count: number): number {
  return Math.max(2, 2 * count + 1)
}
