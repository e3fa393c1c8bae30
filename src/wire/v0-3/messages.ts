/**
 * Messages of A2A 0.3 in the two forms that its bindings print: JSON with kinds, and the ProtoJSON of its proto.
 *
 * Encoding only; `schemas.ts` decodes.
 *
 * @module
 */
import type { DeepReadonly, Message, Part } from '../../core/task.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import type { PushConfig } from '../dialect.js'
import { WRAPPED } from './forms.js'
import { json } from '../view.js'
import { isRecord } from '../../runtime/unread.js'

/** Differences between the two forms. */
export interface MessageForm {
  /** The field that names the kind of an object. */
  readonly kind: (kind: string) => JsonObject
  readonly roles: Readonly<Record<Message['role'], string>>
  /** The field with the parts of a message. */
  readonly parts: 'parts' | 'content'
  readonly bytes: 'bytes' | 'fileWithBytes'
  readonly uri: 'uri' | 'fileWithUri'
  readonly data: (data: JsonObject) => JsonObject
  /** Strict readers of ProtoJSON reject fields that their proto does not have. */
  readonly hasReferences: boolean
  /** The field of a message's configuration with the webhook for its task. */
  readonly pushConfig: 'pushNotificationConfig' | 'pushNotification'
}

/** The form of JSON-RPC. */
export const JSON_MESSAGES: MessageForm = {
  kind: (kind) => ({ kind }),
  roles: { user: 'user', agent: 'agent' },
  parts: 'parts',
  bytes: 'bytes',
  uri: 'uri',
  data: (data) => data,
  hasReferences: true,
  pushConfig: 'pushNotificationConfig',
}

/** The form of HTTP+JSON. */
export const PROTO_MESSAGES: MessageForm = {
  kind: () => ({}),
  roles: { user: 'ROLE_USER', agent: 'ROLE_AGENT' },
  parts: 'content',
  bytes: 'fileWithBytes',
  uri: 'fileWithUri',
  data: (data) => ({ data }),
  hasReferences: false,
  pushConfig: 'pushNotification',
}

/** Parts in the form of 0.1 and KAOS. */
export const TYPED_PARTS = typed(JSON_MESSAGES)

// A call, because bundlers drop an unused pure call.
function typed(form: MessageForm): MessageForm {
  return { ...form, kind: (type) => ({ type }) }
}

export function toPart(form: MessageForm, part: DeepReadonly<Part>): JsonObject {
  // 0.3 has no fields for the name and media type of a text or of data.
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

function toDataPart(
  form: MessageForm,
  data: JsonValue,
  metadata: DeepReadonly<JsonObject> | undefined,
): JsonObject {
  // An object that looks wrapped is wrapped again, because the reader unwraps once.
  if (isRecord(data) && metadata?.[WRAPPED] !== true) {
    return { ...form.kind('data'), data: form.data(data), ...(metadata && { metadata: json(metadata) }) }
  }
  const marked = { ...metadata, [WRAPPED]: true }
  return { ...form.kind('data'), data: form.data({ value: data }), metadata: json(marked) }
}

export function toMessage(form: MessageForm, message: DeepReadonly<Message>): JsonObject {
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

export function toPushConfig({ id, url, token, authentication }: PushConfig): JsonObject {
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
