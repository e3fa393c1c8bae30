/**
 * The objects of A2A 0.3 in the two forms that its bindings print: JSON with kinds, and the ProtoJSON of its proto.
 *
 * @module
 */
import type { ArtifactChanged, StatusChanged } from '../core/events.js'
import type { TaskState } from '../core/lifecycle.js'
import type { DeepReadonly, JsonObject, JsonValue, Message, Part } from '../core/task.js'
import type { PushConfig, StreamEntry, TaskPushConfig, TaskView } from './dialect.js'
import { STATES, WRAPPED } from './v0-3-schemas.js'
import {
  artifactsOf,
  completeArtifact,
  historyOf,
  json,
  statusMessage,
  type CompleteArtifact,
} from './view.js'

/** In what the two forms differ. */
export interface Form {
  /** What says which object it is. */
  readonly kind: (kind: string) => { readonly kind?: string }
  readonly states: Readonly<Record<TaskState, string>>
  readonly roles: Readonly<Record<Message['role'], string>>
  /** Where a message has its parts. */
  readonly parts: 'parts' | 'content'
  readonly bytes: 'bytes' | 'fileWithBytes'
  readonly uri: 'uri' | 'fileWithUri'
  readonly data: (data: JsonObject) => JsonObject
  /** Strict readers of ProtoJSON refuse what their proto does not have. */
  readonly hasReferences: boolean
  readonly entry: (type: StreamEntry['type'], object: JsonObject) => JsonObject
  readonly pushConfig: (registered: TaskPushConfig) => JsonObject
}

/** What JSON-RPC prints. */
export const JSON_FORM: Form = {
  kind: (kind) => ({ kind }),
  states: STATES.json,
  roles: { user: 'user', agent: 'agent' },
  parts: 'parts',
  bytes: 'bytes',
  uri: 'uri',
  data: (data) => data,
  hasReferences: true,
  entry: (_type, object) => object,
  pushConfig: ({ taskId, config }) => ({ taskId, pushNotificationConfig: toPushConfig(config) }),
}

const ENTRIES = {
  task: 'task',
  message: 'message',
  status: 'statusUpdate',
  artifact: 'artifactUpdate',
} as const satisfies Record<StreamEntry['type'], string>

/** What HTTP+JSON prints. */
export const PROTO_FORM: Form = {
  kind: () => ({}),
  states: STATES.proto,
  roles: { user: 'ROLE_USER', agent: 'ROLE_AGENT' },
  parts: 'content',
  bytes: 'fileWithBytes',
  uri: 'fileWithUri',
  data: (data) => ({ data }),
  hasReferences: false,
  entry: (type, object) => ({ [ENTRIES[type]]: object }),
  pushConfig: ({ taskId, config }) => ({
    name: `tasks/${taskId}/pushNotificationConfigs/${config.id}`,
    pushNotificationConfig: toPushConfig(config),
  }),
}

function toPart(form: Form, part: DeepReadonly<Part>): JsonObject {
  // The name and the media type of a text, or of data, have no place in 0.3.
  const { metadata, filename: name, mediaType: mimeType } = part
  const kept = metadata === undefined ? {} : { metadata: json(metadata) }
  if (part.text !== undefined) return { ...form.kind('text'), text: part.text, ...kept }
  if (part.data !== undefined) return toDataPart(form, json(part.data), metadata)
  const file = part.raw === undefined ? { [form.uri]: part.url } : { [form.bytes]: part.raw }
  return {
    ...form.kind('file'),
    file: { ...file, ...(name && { name }), ...(mimeType && { mimeType }) },
    ...kept,
  }
}

function toDataPart(form: Form, data: JsonValue, metadata: DeepReadonly<JsonObject> | undefined): JsonObject {
  // What looks wrapped is wrapped once more, for the reader to unwrap.
  if (isObject(data) && metadata?.[WRAPPED] !== true) {
    return { ...form.kind('data'), data: form.data(data), ...(metadata && { metadata: json(metadata) }) }
  }
  const marked = { ...metadata, [WRAPPED]: true }
  return { ...form.kind('data'), data: form.data({ value: data }), metadata: json(marked) }
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function toMessage(form: Form, message: DeepReadonly<Message>): JsonObject {
  const { messageId, role, parts, contextId, taskId, metadata, extensions, referenceTaskIds } = message
  return {
    ...form.kind('message'),
    messageId,
    role: form.roles[role],
    [form.parts]: parts.map((part) => toPart(form, part)),
    ...(contextId !== undefined && { contextId }),
    ...(taskId !== undefined && { taskId }),
    ...(metadata !== undefined && { metadata: json(metadata) }),
    ...(extensions !== undefined && { extensions: json(extensions) }),
    ...(form.hasReferences && referenceTaskIds !== undefined && { referenceTaskIds: json(referenceTaskIds) }),
  }
}

function toArtifact(form: Form, artifact: CompleteArtifact): JsonObject {
  const { artifactId, name, description, parts, metadata, extensions } = artifact
  return {
    artifactId,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    parts: parts.map((part) => toPart(form, part)),
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
  const shown = message === undefined ? {} : { message: toMessage(form, message) }
  return { state: form.states[state], timestamp, ...shown }
}

export function toTask(form: Form, { task, historyLength, artifacts = true }: TaskView): JsonObject {
  const { id, contextId, state, updatedAt, message, metadata } = task
  const said = message === undefined ? undefined : statusMessage(message, id, contextId)
  const made = artifacts ? artifactsOf(task) : []
  const history = historyOf(task, historyLength)
  return {
    ...form.kind('task'),
    id,
    contextId,
    status: toStatus(form, state, updatedAt, said),
    ...(made.length > 0 && { artifacts: made.map((artifact) => toArtifact(form, artifact)) }),
    ...(history.length > 0 && { history: history.map((entry) => toMessage(form, entry)) }),
    ...(Object.keys(metadata).length > 0 && { metadata: json(metadata) }),
  }
}

function toStatusUpdate(form: Form, event: StatusChanged, contextId: string, last: boolean): JsonObject {
  const { taskId, to, timestamp, message } = event
  const said = message == null ? undefined : statusMessage(message, taskId, contextId)
  const status = toStatus(form, to, timestamp, said)
  return { ...form.kind('status-update'), taskId, contextId, status, final: last }
}

function toArtifactUpdate(form: Form, event: ArtifactChanged, contextId: string): JsonObject {
  const { taskId, generation, artifact, append, lastChunk } = event
  const shown = toArtifact(form, completeArtifact(artifact, `artifact-${generation}`))
  return { ...form.kind('artifact-update'), taskId, contextId, artifact: shown, append, lastChunk }
}

/** One event of a stream. */
export function toEntry(form: Form, entry: StreamEntry): JsonObject {
  if (entry.type === 'task') return form.entry('task', toTask(form, entry))
  if (entry.type === 'message') return form.entry('message', toMessage(form, entry.message))
  const { event, contextId, last } = entry
  if (event.type === 'status') return form.entry('status', toStatusUpdate(form, event, contextId, last))
  return form.entry('artifact', toArtifactUpdate(form, event, contextId))
}

function toPushConfig({ id, url, token, authentication }: PushConfig): JsonObject {
  return {
    ...(id !== undefined && { id }),
    url,
    ...(token !== undefined && { token }),
    ...(authentication !== undefined && { authentication: toAuthentication(authentication) }),
  }
}

function toAuthentication({ scheme, credentials }: NonNullable<PushConfig['authentication']>): JsonObject {
  return { schemes: [scheme], ...(credentials !== undefined && { credentials }) }
}
