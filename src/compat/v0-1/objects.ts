/**
 * Tasks, messages and events in the form of A2A 0.1.
 *
 * @module
 */
import type { ArtifactChanged, StatusChanged } from '../../core/events.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { Artifact, DeepReadonly, Message, Part, TaskSnapshot } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import type { StreamEntry, TaskPushConfig, TaskView } from '../../wire/dialect.js'
import { toPart, toPushConfig as toV03PushConfig, TYPED_PARTS } from '../../wire/v0-3/messages.js'
import { shownState } from '../../wire/v1/objects.js'
import { artifactsOf, completeArtifact, historyOf, json, OUTPUT_ID, statusMessage } from '../../wire/view.js'

/**
 * A state that 0.1 does not have is shown as the one with the same meaning for a waiting client. `unknown` of 0.1 means
 * an error.
 *
 * At `input-required`, a client shows the agent's message and sends the user's answer, which also serves
 * `auth-required`. With `working` it would wait forever. Both states therefore end a stream of `tasks/sendSubscribe`.
 */
function toState(state: TaskState): string {
  if (state === 'rejected') return 'failed'
  return state === 'auth-required' ? 'input-required' : shownState(state)
}

function toParts(parts: readonly DeepReadonly<Part>[]): JsonObject[] {
  return parts.map((part) => toPart(TYPED_PARTS, part))
}

function toMessage({ role, parts, metadata }: DeepReadonly<Message>): JsonObject {
  return { role, parts: toParts(parts), ...(metadata !== undefined && { metadata: json(metadata) }) }
}

function toStatus(
  state: TaskState,
  timestamp: string,
  agentMessage: DeepReadonly<Message> | undefined,
): JsonObject {
  return {
    state: toState(state),
    ...(agentMessage !== undefined && { message: toMessage(agentMessage) }),
    timestamp,
  }
}

function statusOf({ id, contextId, state, updatedAt, message }: TaskSnapshot): JsonObject {
  const agentMessage = message === undefined ? undefined : statusMessage(message, id, contextId)
  return toStatus(state, updatedAt, agentMessage)
}

/** The index of the task's output, which no artifact can reach. */
const OUTPUT_INDEX = 2_147_483_647

/** Artifacts have no id in 0.1. Their position in the task identifies them and never changes. */
function toArtifact(artifact: DeepReadonly<Artifact>, index: number): JsonObject {
  const { artifactId, name, description, parts, metadata } = completeArtifact(
    artifact,
    `artifact-${index + 1}`,
  )
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    parts: toParts(parts),
    index: artifactId === OUTPUT_ID ? OUTPUT_INDEX : index,
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

/** A reply without a task is sent as a completed task, because 0.1 has no other response. */
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
  const agentMessage = message == null ? undefined : statusMessage(message, taskId, contextId)
  return { id: taskId, status: toStatus(to, timestamp, agentMessage) }
}

function toArtifactUpdate(event: ArtifactChanged, task: TaskSnapshot | undefined): JsonObject {
  const { taskId, artifact, append, lastChunk } = event
  return { id: taskId, artifact: { ...toArtifact(artifact, indexIn(artifact, task)), append, lastChunk } }
}

function indexIn({ artifactId }: DeepReadonly<Artifact>, task: TaskSnapshot | undefined): number {
  if (task === undefined) return 0
  const known = artifactsOf(task).findIndex((artifact) => artifact.artifactId === artifactId)
  // An artifact without an id cannot be continued or replaced, so it is the latest one.
  return known === -1 ? Math.max(task.artifacts.length - 1, 0) : known
}

/** One event of a stream. A whole task is shown by its state, because its artifacts are separate events. */
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
