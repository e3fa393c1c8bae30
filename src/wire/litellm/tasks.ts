/**
 * Tasks and their events in the form of LiteLLM-RS' A2A gateway.
 *
 * @module
 */
import type { ArtifactChanged, StatusChanged } from '../../core/events.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { DeepReadonly, Message, Part, TaskSnapshot } from '../../core/task.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import type { StreamEntry } from '../dialect.js'
import { fileId } from './schemas.js'
import { textOf } from '../text.js'
import { artifactsOf, completeArtifact, json, statusMessage, type CompleteArtifact } from '../view.js'

/** The document has one state for whatever the agent waits for, where streams end, and none for a task that it will not do. */
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

/** What has parts: an artifact, or a message of the agent's. */
interface Content {
  readonly id: string
  readonly name?: string | undefined
  readonly parts: Parts
}

/** A text that has a name is a file, as what is binary. */
function isFile({ text, data, filename }: DeepReadonly<Part>): boolean {
  return data === undefined && (text === undefined || filename !== undefined)
}

function textIn({ parts }: { readonly parts: Parts }): string {
  return textOf({ parts: parts.filter((part) => !isFile(part)) })
}

/** `undefined` where there is none; of several parts a list. */
function dataIn(parts: Parts): JsonValue | undefined {
  const all = parts.flatMap(({ data }) => (data === undefined ? [] : [json(data)]))
  return all.length > 1 ? all : all[0]
}

/** The document's `Artifact`. A name and a type it always has. */
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

function saidIn({ messageId, parts }: DeepReadonly<Message>): Content {
  return { id: messageId, parts }
}

function statusOf({ id, contextId, message }: TaskSnapshot): DeepReadonly<Message> | undefined {
  return message === undefined ? undefined : statusMessage(message, id, contextId)
}

/** States whose message is the agent's answer: of the others it is progress, or the error. */
const ANSWERED: readonly TaskState[] = ['completed', 'canceled', 'input-required', 'auth-required']

function answerOf(task: TaskSnapshot): DeepReadonly<Message> | undefined {
  if (!ANSWERED.includes(task.state)) return undefined
  const latest = task.messages.at(-1)
  return statusOf(task) ?? (latest?.role === 'agent' ? latest : undefined)
}

/** What there is of a result: the artifacts, or, where there are none, what the agent has said. */
function outputOf(task: TaskSnapshot): JsonObject | undefined {
  const made = artifactsOf(task)
  const answer = answerOf(task)
  if (made.length > 0) return toOutput(made.map(contentOf), answer && textIn(answer))
  return answer && toOutput([saidIn(answer)])
}

const FAILURES: { readonly [S in TaskState]?: { readonly code: string; readonly message: string } } = {
  failed: { code: 'TASK_FAILED', message: 'The task failed' },
  rejected: { code: 'TASK_REJECTED', message: 'The agent rejected the task' },
}

/** The document's `TaskError`. An agent that knows it is worth a retry says so in its message's metadata. */
function errorOf(task: TaskSnapshot): JsonObject | undefined {
  const failure = FAILURES[task.state]
  if (failure === undefined) return undefined
  const said = statusOf(task)
  const details = dataIn(said?.parts ?? [])
  return {
    code: codeIn(said?.metadata) ?? failure.code,
    message: (said && textOf(said)) || failure.message,
    ...(details !== undefined && { details }),
    retryable: said?.metadata?.['retryable'] === true,
  }
}

/** What an agent calls the failure, where that is a name. */
function codeIn(metadata: DeepReadonly<JsonObject> | undefined): string | undefined {
  const code = textAt(metadata, 'code')
  return code !== undefined && /^[\w.-]{1,100}$/.test(code) ? code : undefined
}

/** A task that was created without a message still has an input. */
function inputOf({ input }: TaskSnapshot): Parts {
  if (input === null) return []
  return [typeof input === 'string' ? { text: input } : { data: input }]
}

function toInput(task: TaskSnapshot, asked: DeepReadonly<Message> | undefined): JsonObject {
  const parts = asked?.parts ?? inputOf(task)
  return {
    instruction: textIn({ parts }),
    context: dataIn(parts) ?? null,
    artifacts: parts.filter(isFile).map((part, index) => toFile(part, fileId(index))),
  }
}

/** What tasks have that were not made in this dialect, where one agent may stand behind several names. */
const DEFAULT_AGENT = 'default'
/** The document's word for a provider that is none of those it knows. */
const DEFAULT_PROVIDER = 'custom'

function toMetadata(task: TaskSnapshot, asked: DeepReadonly<Message> | undefined): JsonObject {
  const { metadata } = asked ?? {}
  const parent = task.referenceTaskIds?.[0] ?? asked?.referenceTaskIds?.[0]
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
  // What the task began with; what came later are answers.
  const asked = messages.find(({ role }) => role === 'user')
  const output = outputOf(task)
  const error = errorOf(task)
  return {
    id,
    state: STATES[state],
    input: toInput(task, asked),
    ...(output !== undefined && { output }),
    ...(error !== undefined && { error }),
    metadata: toMetadata(task, asked),
    created_at: epochSeconds(createdAt),
    updated_at: epochSeconds(updatedAt),
  }
}

/** How far the work is, from 0 to 1, where its message counts against a total. */
function progressIn({ metadata }: DeepReadonly<Message>): number | undefined {
  const progress = metadata?.['progress']
  if (typeof progress !== 'object' || progress === null) return undefined
  const { current, total } = progress as { readonly current?: unknown; readonly total?: unknown }
  if (typeof current !== 'number' || typeof total !== 'number' || total <= 0) return undefined
  return Math.min(1, Math.max(0, current / total))
}

function saidAs(said: DeepReadonly<Message>): JsonObject {
  const text = textIn(said)
  const progress = progressIn(said)
  return { ...(progress !== undefined && { progress }), ...(text !== '' && { message: text }) }
}

function taskUpdate(task: TaskSnapshot): JsonObject {
  const said = statusOf(task)
  const output = outputOf(task)
  return {
    task_id: task.id,
    state: STATES[task.state],
    ...(said && saidAs(said)),
    ...(output !== undefined && { partial_output: output }),
  }
}

function statusUpdate({ taskId, to, message }: StatusChanged, contextId: string): JsonObject {
  const said = message == null ? undefined : statusMessage(message, taskId, contextId)
  // A text is told as the message. What else there is would be lost.
  const hasMore = said?.parts.some((part) => part.data !== undefined || isFile(part))
  return {
    task_id: taskId,
    state: STATES[to],
    ...(said && saidAs(said)),
    ...(said && hasMore && { partial_output: toOutput([saidIn(said)]) }),
  }
}

function artifactUpdate(event: ArtifactChanged, present: TaskSnapshot | undefined): JsonObject {
  const { taskId, generation, artifact } = event
  const made = completeArtifact(artifact, `artifact-${generation}`)
  return {
    task_id: taskId,
    // Work was going on when this was made, whatever has become of the task: its end has an update of its own.
    state: STATES[present?.state === 'submitted' ? 'submitted' : 'working'],
    partial_output: toOutput([contentOf(made)]),
  }
}

/** The document's `TaskUpdate`. What an artifact grows by is told once: outputs add up. */
export function toUpdate(entry: Exclude<StreamEntry, { readonly type: 'message' }>): JsonObject {
  if (entry.type === 'task') return taskUpdate(entry.task)
  const { event, contextId, source } = entry
  return event.type === 'status' ? statusUpdate(event, contextId) : artifactUpdate(event, source?.task())
}
