/**
 * Requests to LiteLLM-RS' A2A gateway: schemas, and their conversion to the core's objects.
 *
 * @module
 */
import * as z from 'zod/mini'
import type { Message, Part } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import { JsonValueSchema } from '../../schemas/json.js'
import { PartSchema } from '../../schemas/part.js'
import { list, nonEmptyString, object, optional, string, strings } from '../../schemas/scalars.js'
import type { IncomingMessage, Requests } from '../../wire/dialect.js'
import { standardBase64 } from '../../wire/view.js'

/** An `Option` of Rust that the dialect does not need: absent or null. */
function option<T extends z.ZodMiniType>(schema: T) {
  return optional(z.nullable(schema))
}

/** The maximum length of ids and names in the core. */
const name = string.check(z.maxLength(1024, 'must have at most 1024 characters'))

function isBase64(raw: string): boolean {
  return PartSchema.safeParse({ raw }).success
}

/** Media types whose content may be plain text. All other content must be base64. */
const TEXT_TYPE = /^text\/|[/+](?:json|xml|yaml)\b/i

const AnyFileSchema = object({
  id: option(string),
  name: option(name),
  mime_type: option(name),
  content: option(string),
  url: option(string),
})
type File = z.infer<typeof AnyFileSchema>

function isReadable({ content, mime_type: type }: File): boolean {
  return !content || isBase64(content) || TEXT_TYPE.test(type || 'text/plain')
}

/** The document's `Artifact`. */
const FileSchema = AnyFileSchema.check(
  z.refine(({ content, url }) => typeof content === 'string' || !!url, 'must have content or a url'),
  z.refine(isReadable, { path: ['content'], error: 'must be base64, unless mime_type is of a text' }),
)

/** The document's `Task`, without the fields that a client cannot set: its state, output and times. */
export const TaskSchema = object({
  id: option(name),
  input: object({
    instruction: string,
    context: optional(JsonValueSchema),
    artifacts: option(list(FileSchema)),
  }),
  metadata: option(
    object({
      agent_id: option(string),
      provider: option(string),
      parent_task_id: option(name),
      session_id: option(name),
      tags: option(strings),
    }),
  ),
})
type Task = z.infer<typeof TaskSchema>

/** The parameters of `task_get` and `task_cancel`. */
export const TaskIdSchema = object({ task_id: nonEmptyString })

/** The id of a file that has none. */
export function fileId(index: number): string {
  return `artifact-${index + 1}`
}

function fromFile({ id, name, mime_type: mediaType, content, url }: File, index: number): Part {
  const isLink = url && !content
  const kept = { ...(id && { id }), ...(url && !isLink && { url }) }
  const about = {
    ...(name && { filename: name }),
    ...(mediaType && { mediaType }),
    ...(Object.keys(kept).length > 0 && { metadata: kept }),
  }
  if (isLink) return { url, ...about }
  const raw = content ?? ''
  if (isBase64(raw)) return standardBase64({ raw, ...about })
  // The name distinguishes a text file from the instruction.
  return { text: raw, ...about, filename: name || id || fileId(index) }
}

/** The fields to return with the task. The core has no properties for them, so they are stored as metadata. */
function storedMetadata({ agent_id, provider, tags }: NonNullable<Task['metadata']>): JsonObject | undefined {
  const kept = {
    ...(agent_id != null && { agent_id }),
    ...(provider != null && { provider }),
    ...(tags != null && { tags }),
  }
  return Object.keys(kept).length > 0 ? kept : undefined
}

function toMessage({ input, metadata }: Task): Omit<Message, 'messageId'> {
  const { instruction, context = null, artifacts } = input
  const { session_id: contextId, parent_task_id: parent } = metadata ?? {}
  const kept = storedMetadata(metadata ?? {})
  return {
    role: 'user',
    parts: [
      { text: instruction },
      ...(context === null ? [] : [{ data: context }]),
      ...(artifacts ?? []).map(fromFile),
    ],
    ...(contextId && { contextId }),
    ...(parent && { referenceTaskIds: [parent] }),
    ...(kept !== undefined && { metadata: kept }),
  }
}

/** In the document, the response comes when the work on the task is done, and is always a task. */
export function fromTask(task: Task): Requests['SendMessage'] {
  const message: IncomingMessage = toMessage(task)
  return {
    message,
    returnImmediately: false,
    acceptedOutputModes: [],
    needsTask: true,
    ...(task.id && { chosenId: task.id }),
  }
}
