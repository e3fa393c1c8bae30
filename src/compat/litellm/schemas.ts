/**
 * Requests to LiteLLM-RS' A2A gateway: schemas, and their conversion to the core's objects.
 *
 * @module
 */
import type { Message, Part } from '../../core/task.js'
import type { JsonObject } from '../../core/json-types.js'
import { JsonValueSchema } from '../../schemas/json.js'
import { isBase64 } from '../../schemas/rules.js'
import {
  list,
  nonEmptyString,
  nullish,
  object,
  optional,
  refine,
  string,
  strings,
} from '../../schemas/scalars.js'
import type { Infer } from '../../schemas/schema.js'
import type { IncomingMessage, Requests } from '../../wire/dialect.js'
import { standardBase64 } from '../../wire/view.js'

/** The maximum length of ids and names in the core. */
const name = refine(string, ({ length }) => length <= 1024, 'must have at most 1024 characters')

/** Media types whose content may be plain text. All other content must be base64. */
const TEXT_TYPE = /^text\/|[/+](?:json|xml|yaml)\b/i

const AnyFileSchema = object({
  id: nullish(string),
  name: nullish(name),
  mime_type: nullish(name),
  content: nullish(string),
  url: nullish(string),
})
type File = Infer<typeof AnyFileSchema>

function isReadable({ content, mime_type: type }: File): boolean {
  return !content || isBase64(content) || TEXT_TYPE.test(type || 'text/plain')
}

/** The document's `Artifact`. */
const FileSchema = refine(
  refine(
    AnyFileSchema,
    ({ content, url }) => typeof content === 'string' || !!url,
    'must have content or a url',
  ),
  isReadable,
  'must be base64, unless mime_type is of a text',
  ['content'],
)

/** The document's `Task`, without the fields that a client cannot set: its state, output and times. */
export const TaskSchema = object({
  id: nullish(name),
  input: object({
    instruction: string,
    context: optional(JsonValueSchema),
    artifacts: nullish(list(FileSchema)),
  }),
  metadata: nullish(
    object({
      agent_id: nullish(string),
      provider: nullish(string),
      parent_task_id: nullish(name),
      session_id: nullish(name),
      tags: nullish(strings),
    }),
  ),
})
type Task = Infer<typeof TaskSchema>

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
