/**
 * What clients of A2A 0.3 send, as schemas, and as the core's objects.
 *
 * The specification has two forms of its objects: JSON with kinds, and ProtoJSON. Either is taken on both bindings.
 *
 * @module
 */
import * as z from 'zod'
import type { TaskState } from '../core/lifecycle.js'
import type { JsonObject, Message, Part } from '../core/task.js'
import { JsonObjectSchema, PartSchema as CorePartSchema } from '../schemas/index.js'
import { exactlyOneOf } from '../schemas/one-of.js'
import { integer, list, optional } from '../schemas/scalars.js'
import type { ListRequest, PushConfig } from './dialect.js'
import { standardBase64 } from './view.js'

/** Marks the data of a part as wrapped in `{value}`, because it is no object. All official SDKs know it. */
export const WRAPPED = 'data_part_compat'

const text = z.string()
const nonEmptyText = text.min(1, 'must not be empty')
const texts = list(text)

/** ProtoJSON has no other way to leave a text out than to have an empty one: that counts as absent. */
const optionalText = optional(text)

const FileSchema = exactlyOneOf(
  z.object({
    uri: optional(nonEmptyText),
    fileWithUri: optional(nonEmptyText),
    bytes: optional(base64()),
    fileWithBytes: optional(base64()),
    mimeType: optionalText,
    name: optionalText,
  }),
  ['uri', 'fileWithUri', 'bytes', 'fileWithBytes'],
)

/** What core parts take as `raw`. */
function base64(): z.ZodString {
  return text.refine((raw) => CorePartSchema.safeParse({ raw }).success, 'must be base64')
}

const CONTENTS = ['text', 'file', 'data'] as const

/** A2A 0.3 §6.5. */
const PartSchema = exactlyOneOf(
  z.object({
    kind: optional(z.enum(CONTENTS)),
    text: optional(text),
    file: optional(FileSchema),
    data: optional(JsonObjectSchema),
    metadata: optional(JsonObjectSchema),
  }),
  CONTENTS,
).refine((part) => part.kind === undefined || part[part.kind] !== undefined, {
  path: ['kind'],
  error: 'must name the content that the part has',
})

const partsOf = list(PartSchema, 'must have at least one part')

/** A2A 0.3 §6.4. */
export const MessageSchema = exactlyOneOf(
  z.object({
    kind: optional(z.literal('message')),
    messageId: nonEmptyText,
    role: z.enum(['user', 'agent', 'ROLE_USER', 'ROLE_AGENT']),
    parts: optional(partsOf),
    content: optional(partsOf),
    contextId: optionalText,
    taskId: optionalText,
    metadata: optional(JsonObjectSchema),
    extensions: optional(texts),
    referenceTaskIds: optional(list(nonEmptyText)),
  }),
  ['parts', 'content'],
)

/** A2A 0.3 §6.8. */
export const PushNotificationConfigSchema = z.object({
  id: optionalText,
  url: nonEmptyText,
  token: optionalText,
  authentication: optional(
    z.object({
      schemes: list(nonEmptyText, 'must not be empty'),
      credentials: optionalText,
    }),
  ),
})

const historyLength = optional(integer(0))

/** A2A 0.3 §7.1.2; the proto calls the push configuration `pushNotification`. */
const ConfigurationSchema = z.object({
  acceptedOutputModes: optional(texts),
  pushNotificationConfig: optional(PushNotificationConfigSchema),
  pushNotification: optional(PushNotificationConfigSchema),
  historyLength,
  blocking: optional(z.boolean()),
})

/** A2A 0.3 §7.1.1. */
export const SendParamsSchema = z.object({
  message: MessageSchema,
  configuration: optional(ConfigurationSchema),
  metadata: optional(JsonObjectSchema),
})

/** The body of `message:send` and `message:stream`: the proto calls the message `request`. */
export const SendBodySchema = exactlyOneOf(
  z.object({
    ...SendParamsSchema.shape,
    message: optional(MessageSchema),
    request: optional(MessageSchema),
  }),
  ['message', 'request'],
)

/** A2A 0.3 §7.3.1 and §7.4.1: one schema for all that begin with the id of a task. */
export const TaskParamsSchema = z.object({
  id: nonEmptyText,
  historyLength,
  metadata: optional(JsonObjectSchema),
})

/** A2A 0.3 §7.6.1 and what was sent before it: the id of the configuration may be missing. */
export const GetPushConfigParamsSchema = z.object({
  id: nonEmptyText,
  pushNotificationConfigId: optionalText,
})

/** A2A 0.3 §7.8.1. */
export const DeletePushConfigParamsSchema = z.object({
  id: nonEmptyText,
  pushNotificationConfigId: nonEmptyText,
})

/** A2A 0.3 §7.7.1; only HTTP+JSON has pages. */
export const ListPushConfigsParamsSchema = z.object({
  id: nonEmptyText,
  pageSize: optional(integer(0)),
  pageToken: optionalText,
})

/** A2A 0.3 §6.10. */
export const SetPushConfigParamsSchema = z.object({
  taskId: nonEmptyText,
  pushNotificationConfig: PushNotificationConfigSchema,
})

/** The body of a new configuration, with the task from the path: the configuration, or the proto's request. */
export const SetPushConfigBodySchema = exactlyOneOf(
  z.object({
    taskId: nonEmptyText,
    name: optionalText,
    pushNotificationConfig: optional(PushNotificationConfigSchema),
    configId: optionalText,
    config: optional(z.object({ name: optionalText, pushNotificationConfig: PushNotificationConfigSchema })),
  }),
  ['pushNotificationConfig', 'config'],
)

/** How the two forms spell the states. */
export const STATES = {
  json: {
    submitted: 'submitted',
    working: 'working',
    'input-required': 'input-required',
    'auth-required': 'auth-required',
    completed: 'completed',
    failed: 'failed',
    canceled: 'canceled',
    rejected: 'rejected',
  },
  proto: {
    submitted: 'TASK_STATE_SUBMITTED',
    working: 'TASK_STATE_WORKING',
    'input-required': 'TASK_STATE_INPUT_REQUIRED',
    'auth-required': 'TASK_STATE_AUTH_REQUIRED',
    completed: 'TASK_STATE_COMPLETED',
    failed: 'TASK_STATE_FAILED',
    canceled: 'TASK_STATE_CANCELLED',
    rejected: 'TASK_STATE_REJECTED',
  },
} as const satisfies Record<string, Record<TaskState, string>>

const CORE_STATES = new Map<string, TaskState>(
  Object.values(STATES).flatMap((names) =>
    Object.entries(names).map(([core, wire]): [string, TaskState] => [wire, core as TaskState]),
  ),
)

/** The query of `GET /v1/tasks`, of which the specification says nothing: names as in A2A 1.0. */
export const ListTasksQuerySchema = z.object({
  contextId: optionalText,
  status: optional(text.refine((name) => CORE_STATES.has(name), 'must be a state of a task')),
  pageSize: optional(integer(1, 100)),
  historyLength,
  statusTimestampAfter: optional(
    z.iso.datetime({ local: true, offset: true, error: 'must be an ISO 8601 timestamp' }),
  ),
})

/** A core part. Nothing is lost, except that a name or media type that is empty is none. */
function fromPart(part: z.infer<typeof PartSchema>): Part {
  const { metadata } = part
  if (part.text !== undefined) return { text: part.text, ...(metadata !== undefined && { metadata }) }
  if (part.data !== undefined) return fromData(part.data, metadata, part.kind === undefined)
  const { file } = part
  const { name, mimeType, uri = file.fileWithUri, bytes = file.fileWithBytes } = file
  return {
    ...(uri === undefined ? standardBase64({ raw: bytes ?? '' }) : { url: uri }),
    ...(name && { filename: name }),
    ...(mimeType && { mediaType: mimeType }),
    ...(metadata !== undefined && { metadata }),
  }
}

function fromData(given: JsonObject, metadata: JsonObject | undefined, hasNoKind: boolean): Part {
  const data = hasNoKind ? innerData(given) : given
  if (metadata?.[WRAPPED] !== true || !('value' in data)) {
    return { data, ...(metadata !== undefined && { metadata }) }
  }
  const rest = Object.entries(metadata).filter(([key]) => key !== WRAPPED)
  return { data: data['value'], ...(rest.length > 0 && { metadata: Object.fromEntries(rest) }) }
}

/** ProtoJSON has the data of a part in an object of its own: `{data: {data: {…}}}`. */
function innerData(given: JsonObject): JsonObject {
  const [key, ...others] = Object.keys(given)
  if (key !== 'data' || others.length > 0) return given
  const inner = JsonObjectSchema.safeParse(given['data'])
  return inner.success ? inner.data : given
}

/** A core message. */
export function fromMessage(message: z.infer<typeof MessageSchema>): Message {
  const { messageId, role, contextId, taskId, metadata, extensions, referenceTaskIds } = message
  const parts = message.parts === undefined ? message.content : message.parts
  return {
    messageId,
    role: role === 'user' || role === 'ROLE_USER' ? 'user' : 'agent',
    parts: parts.map(fromPart),
    ...(contextId && { contextId }),
    ...(taskId && { taskId }),
    ...(metadata !== undefined && { metadata }),
    ...(extensions !== undefined && { extensions }),
    ...(referenceTaskIds !== undefined && { referenceTaskIds }),
  }
}

/** Of several authentication schemes the first: the core has one. */
export function fromPushConfig(config: z.infer<typeof PushNotificationConfigSchema>): PushConfig {
  const { id, url, token, authentication } = config
  const [scheme] = authentication?.schemes ?? []
  const credentials = authentication?.credentials
  return {
    url,
    ...(id && { id }),
    ...(token && { token }),
    ...(scheme !== undefined && { authentication: { scheme, ...(credentials && { credentials }) } }),
  }
}

/** The id stands in the configuration, in the request, or in the name that the SDKs make of both ids. */
export function fromSetBody(body: z.infer<typeof SetPushConfigBodySchema>): {
  readonly taskId: string
  readonly config: PushConfig
} {
  const { taskId, configId } = body
  const { name = '', pushNotificationConfig } = body.config === undefined ? body : body.config
  const id = configId || /\/pushNotificationConfigs\/([^/]+)$/.exec(name)?.[1]
  return { taskId, config: { ...(id && { id }), ...fromPushConfig(pushNotificationConfig) } }
}

/** Whole tasks, as 0.3 has no others. A timestamp without a time zone is in UTC. */
export function fromListQuery(query: z.infer<typeof ListTasksQuerySchema>): ListRequest {
  const { contextId, status = '', pageSize = 100, historyLength: length, statusTimestampAfter: after } = query
  const state = CORE_STATES.get(status)
  return {
    pageSize,
    includeArtifacts: true,
    ...(contextId && { contextId }),
    ...(state !== undefined && { state }),
    ...(length !== undefined && { historyLength: length }),
    ...(after !== undefined && { since: /(Z|[+-]\d\d:\d\d)$/.test(after) ? after : `${after}Z` }),
  }
}
