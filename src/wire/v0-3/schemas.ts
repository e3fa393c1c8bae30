/**
 * Requests of A2A 0.3: schemas, and their conversion to the core's objects.
 *
 * The specification has two forms of its objects: JSON with kinds, and ProtoJSON. Both bindings accept either form.
 * Decoding only; `messages.ts` encodes.
 *
 * @module
 */
import type { Message, Part } from '../../core/task.js'
import { JsonObjectSchema, JsonValueSchema } from '../../schemas/json.js'
import { exactlyOneOf } from '../../schemas/one-of.js'
import { STRICT } from '../../schemas/rules.js'
import {
  boolean,
  dateTime,
  integer,
  list,
  literal,
  nonEmptyString,
  object,
  oneOf,
  optional,
  refine,
  string,
  strings,
} from '../../schemas/scalars.js'
import type { Infer } from '../../schemas/schema.js'
import { notOneOf } from '../../schemas/texts.js'
import type { ListRequest, PushConfig } from '../dialect.js'
import { CORE_STATES, fromData } from './forms.js'
import { standardBase64 } from '../view.js'

/** ProtoJSON writes an absent text as an empty one, so an empty text counts as absent. */
const optionalText = optional(string)

/** The same base64 as in a part of 1.0. */
const base64 = optional(STRICT.base64)

const FileSchema = exactlyOneOf(
  object({
    uri: optional(nonEmptyString),
    fileWithUri: optional(nonEmptyString),
    bytes: base64,
    fileWithBytes: base64,
    mimeType: optionalText,
    name: optionalText,
  }),
  ['uri', 'fileWithUri', 'bytes', 'fileWithBytes'],
)

const CONTENTS = ['text', 'file', 'data'] as const

/** A2A 0.3 §6.5. */
const AnyPartSchema = exactlyOneOf(
  object({
    kind: optional(oneOf(CONTENTS)),
    // The name of the kind in 0.1.
    type: optional(JsonValueSchema),
    text: optional(string),
    file: optional(FileSchema),
    data: optional(JsonObjectSchema),
    metadata: optional(JsonObjectSchema),
  }),
  CONTENTS,
)

function isContent(type: unknown): boolean {
  return CONTENTS.some((content) => content === type)
}

const PartSchema = refine(
  refine(
    AnyPartSchema,
    (part) => part.kind === undefined || part[part.kind] !== undefined,
    'must name the content that the part has',
    ['kind'],
  ),
  (part) => part.kind !== undefined || part.type === undefined || isContent(part.type),
  notOneOf(CONTENTS),
  ['type'],
)

const partsOf = list(PartSchema, 'must have at least one part')

/** A2A 0.3 §6.4. */
export const MessageSchema = exactlyOneOf(
  object({
    kind: optional(literal('message')),
    messageId: nonEmptyString,
    role: oneOf(['user', 'agent', 'ROLE_USER', 'ROLE_AGENT']),
    parts: optional(partsOf),
    content: optional(partsOf),
    contextId: optionalText,
    taskId: optionalText,
    metadata: optional(JsonObjectSchema),
    extensions: optional(strings),
    referenceTaskIds: optional(list(nonEmptyString)),
  }),
  ['parts', 'content'],
)

/** A2A 0.3 §6.8. */
export const PushNotificationConfigSchema = object({
  id: optionalText,
  url: nonEmptyString,
  token: optionalText,
  authentication: optional(
    refine(
      object({
        // ProtoJSON leaves out an empty list.
        schemes: optional(list(nonEmptyString)),
        credentials: optionalText,
      }),
      ({ schemes = [], credentials }) => schemes.length > 0 || !credentials,
      'must not be empty',
      ['schemes'],
    ),
  ),
})

const historyLength = optional(integer(0))

/** A2A 0.3 §7.1.2; the proto calls the push configuration `pushNotification`. */
const ConfigurationSchema = object({
  acceptedOutputModes: optional(strings),
  pushNotificationConfig: optional(PushNotificationConfigSchema),
  pushNotification: optional(PushNotificationConfigSchema),
  historyLength,
  blocking: optional(boolean),
})

const configuration = optional(ConfigurationSchema)
const metadata = optional(JsonObjectSchema)

/** A2A 0.3 §7.1.1. */
export const SendParamsSchema = object({
  message: MessageSchema,
  configuration,
  metadata,
})

/** The body of `message:send` and `message:stream`: the proto calls the message `request`. */
export const SendBodySchema = exactlyOneOf(
  object({
    message: optional(MessageSchema),
    request: optional(MessageSchema),
    configuration,
    metadata,
  }),
  ['message', 'request'],
)

/** A2A 0.3 §7.3.1 and §7.4.1: one schema for all requests that begin with the id of a task. */
export const TaskParamsSchema = object({
  id: nonEmptyString,
  historyLength,
  metadata: optional(JsonObjectSchema),
})

/** A2A 0.3 §7.6.1, and the earlier form of the request, without the id of the configuration. */
export const GetPushConfigParamsSchema = object({
  id: nonEmptyString,
  pushNotificationConfigId: optionalText,
})

/** A2A 0.3 §7.8.1. */
export const DeletePushConfigParamsSchema = object({
  id: nonEmptyString,
  pushNotificationConfigId: nonEmptyString,
})

/** A2A 0.3 §7.7.1; only HTTP+JSON has pages. */
export const ListPushConfigsParamsSchema = object({
  id: nonEmptyString,
  pageSize: optional(integer(0)),
  pageToken: optionalText,
})

/** A2A 0.3 §6.10. */
export const SetPushConfigParamsSchema = object({
  taskId: nonEmptyString,
  pushNotificationConfig: PushNotificationConfigSchema,
})

/** The body of a new configuration, with the task from the path: the configuration, or the proto's request. */
export const SetPushConfigBodySchema = exactlyOneOf(
  object({
    taskId: nonEmptyString,
    name: optionalText,
    pushNotificationConfig: optional(PushNotificationConfigSchema),
    configId: optionalText,
    config: optional(object({ name: optionalText, pushNotificationConfig: PushNotificationConfigSchema })),
  }),
  ['pushNotificationConfig', 'config'],
)

/** The query of `GET /v1/tasks`, which the specification does not define. The names are those of A2A 1.0. */
export const ListTasksQuerySchema = object({
  contextId: optionalText,
  status: optional(refine(string, (name) => CORE_STATES.has(name), 'must be a state of a task')),
  pageSize: optional(integer(1, 100)),
  historyLength,
  statusTimestampAfter: optional(dateTime({ local: true, error: 'must be an ISO 8601 timestamp' })),
})

/** Converts a part to that of the core. An empty name or media type becomes absent, and nothing else is lost. */
function fromPart(part: Infer<typeof PartSchema>): Part {
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

/** Converts a message to that of the core. */
export function fromMessage(message: Infer<typeof MessageSchema>): Message {
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

/** The core has one authentication scheme, so the first of several is used. */
export function fromPushConfig(config: Infer<typeof PushNotificationConfigSchema>): PushConfig {
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

/** Reads the id from the configuration, from the request, or from the name that the SDKs compose of both ids. */
export function fromSetBody(body: Infer<typeof SetPushConfigBodySchema>): {
  readonly taskId: string
  readonly config: PushConfig
} {
  const { taskId, configId } = body
  const { name = '', pushNotificationConfig } = body.config === undefined ? body : body.config
  const id = configId || /\/pushNotificationConfigs\/([^/]+)$/.exec(name)?.[1]
  return { taskId, config: { ...(id && { id }), ...fromPushConfig(pushNotificationConfig) } }
}

/** A query for whole tasks: 0.3 has no partial ones. A timestamp without a time zone is in UTC. */
export function fromListQuery(query: Infer<typeof ListTasksQuerySchema>): ListRequest {
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
