/**
 * How many bytes of JSON a task's artifacts and messages take: kept up event by event, since measuring them anew for
 * each chunk would cost O(size of the task).
 *
 * @module
 */
import type { TaskEvent } from './events.js'
import { findArtifact } from './evolve.js'
import { jsonSize } from './json.js'
import type { Artifact, DeepReadonly, Message, TaskSnapshot } from './task.js'

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

/** The usage of `task` once `event` is applied to it. */
export function usageAfter(usage: Usage, task: TaskSnapshot<string>, event: TaskEvent<string>): Usage {
  switch (event.type) {
    case 'artifact':
      return { artifacts: usage.artifacts + artifactGrowth(task, event), messages: usage.messages }
    case 'message':
      return { artifacts: usage.artifacts, messages: usage.messages + messageSize(event.message) }
    default:
      return usage
  }
}

export function messageSize(message: DeepReadonly<Message>): number {
  return jsonSize(message)
}

/** By how much the artifacts of `task` grow, or shrink, when `artifact` is added, replaces another or continues it. */
export function artifactGrowth(
  task: TaskSnapshot<string>,
  { artifact, append }: { artifact: DeepReadonly<Artifact>; append: boolean },
): number {
  const present = task.artifacts[findArtifact(task.artifacts, artifact.artifactId)]
  if (present === undefined) return jsonSize(artifact)
  if (!append) return jsonSize(artifact) - jsonSize(present)

  const { parts = [], ...chunk } = artifact
  const known = present.parts?.length ?? 0
  const elements = jsonSize(parts) - arrayFrame(parts.length)
  const frame = arrayFrame(known + parts.length) - (present.parts === undefined ? 0 : arrayFrame(known))
  const name = present.parts === undefined && artifact.parts !== undefined ? ',"parts":'.length : 0
  const growth = artifact.parts === undefined ? 0 : elements + frame + name
  if (Object.keys(chunk).length === 1) return growth // only its artifactId
  const head = { ...present }
  delete head.parts
  const merged = {
    ...head,
    ...chunk,
    ...(chunk.metadata && { metadata: { ...head.metadata, ...chunk.metadata } }),
  }
  return growth + jsonSize(merged) - jsonSize(head)
}

/** Brackets and commas of an array. */
function arrayFrame(length: number): number {
  return Math.max(2, length + 1)
}
