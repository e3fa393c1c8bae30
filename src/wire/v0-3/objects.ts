/**
 * Tasks and events of A2A 0.3 in the two forms of its bindings: JSON with kinds, and the ProtoJSON of its proto.
 *
 * @module
 */
import type { ArtifactChanged, StatusChanged } from '../../core/events.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { DeepReadonly, Message } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import type { StreamEntry, TaskPushConfig, TaskView } from '../dialect.js'
import { protoState } from './forms.js'
import {
  JSON_MESSAGES,
  PROTO_MESSAGES,
  toMessage,
  toPart,
  toPushConfig,
  type MessageForm,
} from './messages.js'
import { shownState } from '../v1/objects.js'
import {
  artifactsOf,
  completeArtifact,
  historyOf,
  json,
  statusMessage,
  type CompleteArtifact,
} from '../view.js'

/** Differences between the two forms. */
export interface Form {
  readonly messages: MessageForm
  readonly state: (state: TaskState) => string
  readonly entry: (type: StreamEntry['type'], object: JsonObject) => JsonObject
  readonly pushConfig: (registered: TaskPushConfig) => JsonObject
}

/** The form of JSON-RPC. */
export const JSON_FORM: Form = {
  messages: JSON_MESSAGES,
  state: shownState,
  entry: (_type, object) => object,
  pushConfig: ({ taskId, config }) => ({ taskId, pushNotificationConfig: toPushConfig(config) }),
}

const ENTRIES = {
  task: 'task',
  message: 'message',
  status: 'statusUpdate',
  artifact: 'artifactUpdate',
} as const satisfies Record<StreamEntry['type'], string>

/** The form of HTTP+JSON. */
export const PROTO_FORM: Form = {
  messages: PROTO_MESSAGES,
  state: protoState,
  entry: (type, object) => ({ [ENTRIES[type]]: object }),
  pushConfig: ({ taskId, config }) => ({
    name: `tasks/${taskId}/pushNotificationConfigs/${config.id}`,
    pushNotificationConfig: toPushConfig(config),
  }),
}

function toArtifact(form: Form, artifact: CompleteArtifact): JsonObject {
  const { artifactId, name, description, parts, metadata, extensions } = artifact
  return {
    artifactId,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    parts: parts.map((part) => toPart(form.messages, part)),
    ...(metadata !== undefined && { metadata: json(metadata) }),
    ...(extensions !== undefined && { extensions: json(extensions) }),
  }
}

function toStatus(
  form: Form,
  state: TaskState,
  timestamp: string,
  message: DeepReadonly<Message> | undefined,
): JsonObject {
  const shown = message === undefined ? {} : { message: toMessage(form.messages, message) }
  return { state: form.state(state), timestamp, ...shown }
}

export function toTask(form: Form, { task, historyLength, artifacts = true }: TaskView): JsonObject {
  const { id, contextId, state, updatedAt, message, metadata } = task
  const agentMessage = message === undefined ? undefined : statusMessage(message, id, contextId)
  const made = artifacts ? artifactsOf(task) : []
  const history = historyOf(task, historyLength)
  return {
    ...form.messages.kind('task'),
    id,
    contextId,
    status: toStatus(form, state, updatedAt, agentMessage),
    ...(made.length > 0 && { artifacts: made.map((artifact) => toArtifact(form, artifact)) }),
    ...(history.length > 0 && { history: history.map((entry) => toMessage(form.messages, entry)) }),
    ...(Object.keys(metadata).length > 0 && { metadata: json(metadata) }),
  }
}

function toStatusUpdate(form: Form, event: StatusChanged, contextId: string, last: boolean): JsonObject {
  const { taskId, to, timestamp, message, metadata } = event
  const agentMessage = message == null ? undefined : statusMessage(message, taskId, contextId)
  const status = toStatus(form, to, timestamp, agentMessage)
  return {
    ...form.messages.kind('status-update'),
    ...{ taskId, contextId, status, final: last },
    ...(metadata !== undefined && { metadata: json(metadata) }),
  }
}

function toArtifactUpdate(form: Form, event: ArtifactChanged, contextId: string): JsonObject {
  const { taskId, generation, artifact, append, lastChunk } = event
  const shown = toArtifact(form, completeArtifact(artifact, `artifact-${generation}`))
  return { ...form.messages.kind('artifact-update'), taskId, contextId, artifact: shown, append, lastChunk }
}

/** One event of a stream. */
export function toEntry(form: Form, entry: StreamEntry): JsonObject {
  if (entry.type === 'task') return form.entry('task', toTask(form, entry))
  if (entry.type === 'message') return form.entry('message', toMessage(form.messages, entry.message))
  const { event, contextId, last } = entry
  if (event.type === 'status') return form.entry('status', toStatusUpdate(form, event, contextId, last))
  return form.entry('artifact', toArtifactUpdate(form, event, contextId))
}
