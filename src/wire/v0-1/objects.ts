/**
 * Tasks, messages and events in the form of A2A 0.1.
 *
 * @module
 */
import type { ArtifactChanged, StatusChanged } from '../../core/events.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { Artifact, DeepReadonly, Message, Part, TaskSnapshot } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import type { StreamEntry, TaskPushConfig, TaskView } from '../dialect.js'
import { toPart, toPushConfig as toV03PushConfig, TYPED_PARTS } from '../v0-3/messages.js'
import { artifactsOf, completeArtifact, historyOf, json, OUTPUT_ID, statusMessage } from '../view.js'

/**
 * What 0.1 has no state for is shown as the one that means the same to who waits. Its `unknown` is an error here.
 *
 * Who reads `input-required` shows the user what the agent says, and comes back with a message: that serves at
 * `auth-required`, too, where `working` would leave him to wait for ever. So both end a stream of `tasks/sendSubscribe`.
 */
function toState(state: TaskState): string {
  if (state === 'rejected') return 'failed'
  return state === 'auth-required' ? 'input-required' : state
}

function toParts(parts: readonly DeepReadonly<Part>[]): JsonObject[] {
  return parts.map((part) => toPart(TYPED_PARTS, part))
}

function toMessage({ role, parts, metadata }: DeepReadonly<Message>): JsonObject {
  return { role, parts: toParts(parts), ...(metadata !== undefined && { metadata: json(metadata) }) }
}

function toStatus(state: TaskState, timestamp: string, said: DeepReadonly<Message> | undefined): JsonObject {
  return { state: toState(state), ...(said !== undefined && { message: toMessage(said) }), timestamp }
}

function statusOf({ id, contextId, state, updatedAt, message }: TaskSnapshot): JsonObject {
  const said = message === undefined ? undefined : statusMessage(message, id, contextId)
  return toStatus(state, updatedAt, said)
}

/** Of the output, after whatever place an artifact may still take: that is never another's. */
const OUTPUT_INDEX = 2_147_483_647

/** Artifacts have no id in 0.1: their place among those of the task is what tells them apart, for good. */
function toArtifact(artifact: DeepReadonly<Artifact>, place: number): JsonObject {
  const { artifactId, name, description, parts, metadata } = completeArtifact(
    artifact,
    `artifact-${place + 1}`,
  )
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    parts: toParts(parts),
    index: artifactId === OUTPUT_ID ? OUTPUT_INDEX : place,
    ...(metadata !== undefined && { metadata: json(metadata) }),
  }
}

export function toTask({ task, historyLength, artifacts = true }: TaskView): JsonObject {
  const { id, contextId, metadata } = task
  const made = artifacts ? artifactsOf(task) : []
  const history = historyOf(task, historyLength)
  return {
    id,
    sessionId: contextId,
    status: statusOf(task),
    ...(made.length > 0 && { artifacts: made.map(toArtifact) }),
    ...(history.length > 0 && { history: history.map(toMessage) }),
    ...(Object.keys(metadata).length > 0 && { metadata: json(metadata) }),
  }
}

/** A reply without a task, as the task that it would have been: 0.1 knows no other answer. */
export function toReply(message: DeepReadonly<Message>): {
  id: string
  sessionId?: string
  status: JsonObject
} {
  const { messageId, taskId = messageId, contextId } = message
  return {
    id: taskId,
    ...(contextId !== undefined && { sessionId: contextId }),
    status: { state: 'completed', message: toMessage(message) },
  }
}

function toStatusUpdate({ taskId, to, timestamp, message }: StatusChanged, contextId: string): JsonObject {
  const said = message == null ? undefined : statusMessage(message, taskId, contextId)
  return { id: taskId, status: toStatus(to, timestamp, said) }
}

function toArtifactUpdate(event: ArtifactChanged, task: TaskSnapshot | undefined): JsonObject {
  const { taskId, artifact, append, lastChunk } = event
  return { id: taskId, artifact: { ...toArtifact(artifact, placeOf(artifact, task)), append, lastChunk } }
}

function placeOf({ artifactId }: DeepReadonly<Artifact>, task: TaskSnapshot | undefined): number {
  if (task === undefined) return 0
  const known = artifactsOf(task).findIndex((artifact) => artifact.artifactId === artifactId)
  // Without an id it is continued by none, and replaces none: it has come last.
  return known === -1 ? Math.max(task.artifacts.length - 1, 0) : known
}

/** One event of a stream. A whole task is shown as its state: its artifacts are events of their own. */
export function toEntry(entry: StreamEntry): JsonObject {
  if (entry.type === 'task') {
    return { id: entry.task.id, status: statusOf(entry.task), final: entry.last }
  }
  if (entry.type === 'message') {
    const { id, status } = toReply(entry.message)
    return { id, status, final: true }
  }
  const { event, contextId, last, source } = entry
  if (event.type === 'status') return { ...toStatusUpdate(event, contextId), final: last }
  return toArtifactUpdate(event, source?.task())
}

export function toPushConfig({ taskId, config }: TaskPushConfig): JsonObject {
  const { url, token, authentication } = config
  const pushNotificationConfig = toV03PushConfig({
    url,
    ...(token !== undefined && { token }),
    ...(authentication !== undefined && { authentication }),
  })
  return { id: taskId, pushNotificationConfig }
}
