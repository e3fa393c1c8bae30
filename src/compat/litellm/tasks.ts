/**
 * Tasks and their events in the form of LiteLLM-RS' A2A gateway.
 *
 * @module
 */
import type { ArtifactChanged, StatusChanged } from '../../core/events.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { DeepReadonly, Message, Part, TaskSnapshot } from '../../core/task.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import type { StreamEntry } from '../../wire/dialect.js'
import { fileId } from './schemas.js'
import { textOf } from '../../wire/text.js'
import { shownState } from '../../wire/v1/objects.js'
import { artifactsOf, completeArtifact, json, statusMessage, type CompleteArtifact } from '../../wire/view.js'

/** The document has a single state for all waiting, at which streams end, and no state for a rejected task. */
export const STATES = {
  submitted: 'pending',
  working: 'running',
  'input-required': 'input_required',
  'auth-required': 'input_required',
  completed: 'completed',
  failed: 'failed',
  canceled: 'cancelled',
  rejected: 'failed',
} as const satisfies Record<TaskState, string>

type Parts = readonly DeepReadonly<Part>[]

/** An artifact or a message of the agent, as a list of parts. */
interface Content {
  readonly id: string
  readonly name?: string | undefined
  readonly parts: Parts
}

/** A text with a name is a file, and so is binary content. */
function isFile({ text, data, filename }: DeepReadonly<Part>): boolean {
  return data === undefined && (text === undefined || filename !== undefined)
}

function textIn({ parts }: { readonly parts: Parts }): string {
  return textOf({ parts: parts.filter((part) => !isFile(part)) })
}

/** `undefined` for no data, and a list for several parts with data. */
function dataIn(parts: Parts): JsonValue | undefined {
  const all = parts.flatMap(({ data }) => (data === undefined ? [] : [json(data)]))
  return all.length > 1 ? all : all[0]
}

/** The document's `Artifact`. Its name and type are required. */
function toFile(part: DeepReadonly<Part>, fallbackId: string, fallbackName?: string): JsonObject {
  const { text, raw, url, filename, mediaType, metadata } = part
  const id = textAt(metadata, 'id') ?? fallbackId
  const content = raw ?? text
  const link = url ?? textAt(metadata, 'url')
  return {
    id,
    name: filename ?? fallbackName ?? id,
    mime_type: mediaType ?? (text === undefined ? 'application/octet-stream' : 'text/plain'),
    ...(content !== undefined && { content }),
    ...(link !== undefined && { url: link }),
  }
}

function textAt(metadata: Message['metadata'] | DeepReadonly<JsonObject>, key: string): string | undefined {
  const value = metadata?.[key]
  return typeof value === 'string' ? value : undefined
}

function filesIn({ id, name, parts }: Content): JsonObject[] {
  const files = parts.filter(isFile)
  return files.map((part, index) => toFile(part, files.length > 1 ? `${id}/${index + 1}` : id, name))
}

/** The document's `TaskOutput`. */
function toOutput(contents: readonly Content[], fallback = ''): JsonObject {
  const texts = contents.map(textIn).filter((text) => text !== '')
  const data = dataIn(contents.flatMap(({ parts }) => parts))
  return {
    response: texts.join('\n') || fallback,
    ...(data !== undefined && { data }),
    artifacts: contents.flatMap(filesIn),
  }
}

function contentOf({ artifactId, name, parts }: CompleteArtifact): Content {
  return { id: artifactId, name, parts }
}

function contentOfMessage({ messageId, parts }: DeepReadonly<Message>): Content {
  return { id: messageId, parts }
}

function statusOf({ id, contextId, message }: TaskSnapshot): DeepReadonly<Message> | undefined {
  return message === undefined ? undefined : statusMessage(message, id, contextId)
}

/** States whose message is the agent's answer. In all others it is progress or the error. */
const ANSWERED: readonly TaskState[] = ['completed', 'canceled', 'input-required', 'auth-required']

function answerOf(task: TaskSnapshot): DeepReadonly<Message> | undefined {
  if (!ANSWERED.includes(task.state)) return undefined
  const latest = task.messages.at(-1)
  return statusOf(task) ?? (latest?.role === 'agent' ? latest : undefined)
}

/** The result so far: the artifacts, or else the agent's answer. */
function outputOf(task: TaskSnapshot): JsonObject | undefined {
  const made = artifactsOf(task)
  const answer = answerOf(task)
  if (made.length > 0) return toOutput(made.map(contentOf), answer && textIn(answer))
  return answer && toOutput([contentOfMessage(answer)])
}

const FAILURES: { readonly [S in TaskState]?: { readonly code: string; readonly message: string } } = {
  failed: { code: 'TASK_FAILED', message: 'The task failed' },
  rejected: { code: 'TASK_REJECTED', message: 'The agent rejected the task' },
}

/** The document's `TaskError`. The agent marks an error as retryable in its message's metadata. */
function errorOf(task: TaskSnapshot): JsonObject | undefined {
  const failure = FAILURES[task.state]
  if (failure === undefined) return undefined
  const agentMessage = statusOf(task)
  const details = dataIn(agentMessage?.parts ?? [])
  return {
    code: codeIn(agentMessage?.metadata) ?? failure.code,
    message: (agentMessage && textOf(agentMessage)) || failure.message,
    ...(details !== undefined && { details }),
    retryable: agentMessage?.metadata?.['retryable'] === true,
  }
}

/** The agent's own error code, if it is a short name. */
function codeIn(metadata: DeepReadonly<JsonObject> | undefined): string | undefined {
  const code = textAt(metadata, 'code')
  return code !== undefined && /^[\w.-]{1,100}$/.test(code) ? code : undefined
}

/** The input of a task that was created without a message. */
function inputOf({ input }: TaskSnapshot): Parts {
  if (input === null) return []
  return [typeof input === 'string' ? { text: input } : { data: input }]
}

function toInput(task: TaskSnapshot, request: DeepReadonly<Message> | undefined): JsonObject {
  const parts = request?.parts ?? inputOf(task)
  return {
    instruction: textIn({ parts }),
    context: dataIn(parts) ?? null,
    artifacts: parts.filter(isFile).map((part, index) => toFile(part, fileId(index))),
  }
}

/** The agent of tasks from other dialects, which do not name one. */
const DEFAULT_AGENT = 'default'
/** The document's value for an unknown provider. */
const DEFAULT_PROVIDER = 'custom'

function toMetadata(task: TaskSnapshot, request: DeepReadonly<Message> | undefined): JsonObject {
  const { metadata } = request ?? {}
  const parent = task.referenceTaskIds?.[0] ?? request?.referenceTaskIds?.[0]
  const tags = metadata?.['tags']
  return {
    agent_id: textAt(metadata, 'agent_id') ?? textAt(metadata, 'agentId') ?? DEFAULT_AGENT,
    provider: textAt(metadata, 'provider') ?? DEFAULT_PROVIDER,
    ...(parent !== undefined && { parent_task_id: parent }),
    session_id: task.contextId,
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === 'string') : [],
  }
}

function epochSeconds(timestamp: string): number {
  return Math.floor(Date.parse(timestamp) / 1_000)
}

/** The document's `Task`. */
export function toTask(task: TaskSnapshot): JsonObject {
  const { id, state, messages, createdAt, updatedAt } = task
  // The first message began the task. Later ones are answers.
  const request = messages.find(({ role }) => role === 'user')
  const output = outputOf(task)
  const error = errorOf(task)
  return {
    id,
    state: STATES[shownState(state)],
    input: toInput(task, request),
    ...(output !== undefined && { output }),
    ...(error !== undefined && { error }),
    metadata: toMetadata(task, request),
    created_at: epochSeconds(createdAt),
    updated_at: epochSeconds(updatedAt),
  }
}

/** The progress from 0 to 1, if the message reports a count and a total. */
function progressIn({ metadata }: DeepReadonly<Message>): number | undefined {
  const progress = metadata?.['progress']
  if (typeof progress !== 'object' || progress === null) return undefined
  const { current, total } = progress as { readonly current?: unknown; readonly total?: unknown }
  if (typeof current !== 'number' || typeof total !== 'number' || total <= 0) return undefined
  return Math.min(1, Math.max(0, current / total))
}

function fieldsOfMessage(agentMessage: DeepReadonly<Message>): JsonObject {
  const text = textIn(agentMessage)
  const progress = progressIn(agentMessage)
  return { ...(progress !== undefined && { progress }), ...(text !== '' && { message: text }) }
}

function taskUpdate(task: TaskSnapshot): JsonObject {
  const agentMessage = statusOf(task)
  const output = outputOf(task)
  return {
    task_id: task.id,
    state: STATES[shownState(task.state)],
    ...(agentMessage && fieldsOfMessage(agentMessage)),
    ...(output !== undefined && { partial_output: output }),
  }
}

function statusUpdate({ taskId, to, message }: StatusChanged, contextId: string): JsonObject {
  const agentMessage = message == null ? undefined : statusMessage(message, taskId, contextId)
  // The text is sent as `message`. Other content would be lost without an output.
  const hasMore = agentMessage?.parts.some((part) => part.data !== undefined || isFile(part))
  return {
    task_id: taskId,
    state: STATES[shownState(to)],
    ...(agentMessage && fieldsOfMessage(agentMessage)),
    ...(agentMessage && hasMore && { partial_output: toOutput([contentOfMessage(agentMessage)]) }),
  }
}

function artifactUpdate(event: ArtifactChanged, present: TaskSnapshot | undefined): JsonObject {
  const { taskId, generation, artifact } = event
  const made = completeArtifact(artifact, `artifact-${generation}`)
  return {
    task_id: taskId,
    // The artifact was made while the task was in progress, even if it has ended by now. Its end has an update of its
    // own.
    state: STATES[present?.state === 'submitted' ? 'submitted' : 'working'],
    partial_output: toOutput([contentOf(made)]),
  }
}

/** The document's `TaskUpdate`. Clients add up the outputs, so each addition to an artifact is sent once. */
export function toUpdate(entry: Exclude<StreamEntry, { readonly type: 'message' }>): JsonObject {
  if (entry.type === 'task') return taskUpdate(entry.task)
  const { event, contextId, source } = entry
  return event.type === 'status' ? statusUpdate(event, contextId) : artifactUpdate(event, source?.task())
}
