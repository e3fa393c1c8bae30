/**
 * Sizes in bytes of JSON of the artifacts and messages of a task, updated with each event: measuring all of them for each
 * chunk would cost O(size of the task).
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

/** The bytes of JSON that an event carries: artifacts, messages and output. */
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

/** The usage of `task` once `event`, which carries `bytes`, is applied to it. */
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

/** By how much the artifacts of `task` grow, or shrink, when `artifact` is added, replaces another or continues it. */
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

/** What `added` adds to `present`: only what is new, or gives way, is measured. */
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

/** Brackets and commas of an array. */
function arrayFrame(length: number): number {
  return Math.max(2, length + 1)
}

/** Braces, commas and colons of an object. */
function objectFrame(count: number): number {
  return Math.max(2, 2 * count + 1)
}
