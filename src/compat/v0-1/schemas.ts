/**
 * Requests of A2A 0.1: schemas, and their conversion to the core's objects.
 *
 * @module
 */
import type { Part } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import { JsonObjectSchema } from '../../schemas/json.js'
import { exactlyOneOf } from '../../schemas/one-of.js'
import { STRICT } from '../../schemas/rules.js'
import {
  integer,
  list,
  nonEmptyString,
  object,
  oneOf,
  optional,
  refine,
  string,
  strings,
} from '../../schemas/scalars.js'
import type { Infer } from '../../schemas/schema.js'
import type { IncomingMessage, PushConfig, SendRequest } from '../../wire/dialect.js'
import { fromData } from '../../wire/v0-3/forms.js'
import { fromPushConfig as fromV03PushConfig, PushNotificationConfigSchema } from '../../wire/v0-3/schemas.js'
import { standardBase64 } from '../../wire/view.js'

const metadata = optional(JsonObjectSchema)
const historyLength = optional(integer(0))

/** A2A 0.1 §6.6, except files without content, which the core cannot represent. */
const FileSchema = exactlyOneOf(
  object({
    name: optional(string),
    mimeType: optional(string),
    bytes: optional(STRICT.base64),
    uri: optional(nonEmptyString),
  }),
  ['bytes', 'uri'],
)

const CONTENTS = ['text', 'file', 'data'] as const
const content = optional(oneOf(CONTENTS))

/** A2A 0.1 §6.5. Clients that also know later versions may write `kind` for `type`. */
const AnyPartSchema = exactlyOneOf(
  object({
    type: content,
    kind: content,
    text: optional(string),
    file: optional(FileSchema),
    data: optional(JsonObjectSchema),
    metadata,
  }),
  CONTENTS,
)

type AnyPart = Infer<typeof AnyPartSchema>

function namesContent<S extends typeof AnyPartSchema>(schema: S, key: 'type' | 'kind'): S {
  const test = (part: AnyPart): boolean => part[key] === undefined || part[part[key]] !== undefined
  return refine(schema, test, 'must name the content that the part has', [key])
}

const PartSchema = namesContent(namesContent(AnyPartSchema, 'type'), 'kind')

/** A2A 0.1 §6.4. */
const MessageSchema = object({
  role: oneOf(['user', 'agent']),
  parts: list(PartSchema, 'must have at least one part'),
  metadata,
})

/** A2A 0.1 §7.1.1, and the output modes that only the clients of its repository send. */
export const SendParamsSchema = object({
  id: nonEmptyString,
  sessionId: optional(string),
  message: MessageSchema,
  acceptedOutputModes: optional(strings),
  pushNotification: optional(PushNotificationConfigSchema),
  historyLength,
  metadata,
})

/** A2A 0.1 §7.3.1 and §7.4.1: one schema for all requests that begin with the id of a task. */
export const TaskParamsSchema = object({ id: nonEmptyString, historyLength, metadata })

/**
 * A2A 0.1 §6.10. A configuration that is `null` would remove the present one. The specification leaves that to the
 * server, and it is refused here.
 */
export const SetPushConfigParamsSchema = object({
  id: nonEmptyString,
  pushNotificationConfig: PushNotificationConfigSchema,
})

/**
 * Returns whether `params` have the properties of every `tasks/send` of 0.1 and of no request of the derived protocols.
 */
export function isSend({ id, message }: JsonObject): boolean {
  return typeof id === 'string' && typeof message === 'object' && message !== null && !Array.isArray(message)
}

/** Converts a part to that of the core. An empty name or media type becomes absent, and nothing else is lost. */
function fromPart(part: Infer<typeof PartSchema>): Part {
  const { metadata } = part
  if (part.text !== undefined) return { text: part.text, ...(metadata !== undefined && { metadata }) }
  if (part.data !== undefined) return fromData(part.data, metadata, false)
  const { name, mimeType, uri, bytes } = part.file
  return {
    ...(uri === undefined ? standardBase64({ raw: bytes }) : { url: uri }),
    ...(name && { filename: name }),
    ...(mimeType && { mediaType: mimeType }),
    ...(metadata !== undefined && { metadata }),
  }
}

/** 0.1 shows history on request only: an absent length is 0. */
export function fromSendParams(params: Infer<typeof SendParamsSchema>): SendRequest<IncomingMessage> {
  const { id, sessionId, message, pushNotification, metadata } = params
  const { acceptedOutputModes = [], historyLength = 0 } = params
  const { role, parts, metadata: own } = message
  return {
    chosenId: id,
    needsTask: true,
    message: {
      role,
      parts: parts.map(fromPart),
      ...(sessionId && { contextId: sessionId }),
      ...(own !== undefined && { metadata: own }),
    },
    returnImmediately: false,
    acceptedOutputModes,
    historyLength,
    ...(pushNotification !== undefined && { pushConfig: fromPushConfig(id, pushNotification) }),
    ...(metadata !== undefined && { metadata }),
  }
}

/** A task has one configuration in 0.1. Its id is that of the task, so that a new one replaces it. */
export function fromPushConfig(
  taskId: string,
  config: Infer<typeof PushNotificationConfigSchema>,
): PushConfig {
  return { ...fromV03PushConfig(config), id: taskId }
}
