/**
 * How many bytes of JSON a task's artifacts and messages take: kept up event by event, since measuring them anew for
 * each chunk would cost O(size of the task).
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

/**
 * By how much the artifacts of `task` grow, or shrink, when `artifact`, of `bytes`, is added, replaces another or
 * continues it.
 */
export function artifactGrowth(
  task: TaskSnapshot<string>,
  { artifact, append }: { artifact: DeepReadonly<Artifact>; append: boolean },
  bytes: number,
): number {
  const present = task.artifacts[findArtifact(task.artifacts, artifact.artifactId)]
  if (present === undefined) return bytes
  if (!append) return bytes - jsonSize(present)

  const { parts, ...others } = artifact
  const hasOthers = Object.keys(others).length > 1
  const growth =
    parts === undefined
      ? 0
      : partsGrowth(present.parts, parts, hasOthers ? jsonSize(parts) : bytes - rest(artifact))
  if (!hasOthers) return growth
  const head = { ...present }
  delete head.parts
  const merged = {
    ...head,
    ...others,
    ...(others.metadata && { metadata: { ...head.metadata, ...others.metadata } }),
  }
  return growth + jsonSize(merged) - jsonSize(head)
}

/** What is not `parts` in an artifact that has nothing else but its id: most chunks, which are thus measured once. */
function rest({ artifactId }: DeepReadonly<Artifact>): number {
  return '{"artifactId":,"parts":}'.length + jsonSize(artifactId)
}

/** `bytes` is the size of `added`. */
function partsGrowth(
  present: readonly unknown[] | undefined,
  added: readonly unknown[],
  bytes: number,
): number {
  const elements = bytes - arrayFrame(added.length)
  if (present === undefined) return ',"parts":'.length + bytes
  return elements + arrayFrame(present.length + added.length) - arrayFrame(present.length)
}

/** Brackets and commas of an array. */
function arrayFrame(length: number): number {
  return Math.max(2, length + 1)
}
