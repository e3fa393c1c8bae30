/**
 * The `RunAgentInput` that a front end of AG-UI sends.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import type { JsonObject, ReadonlyJson } from '../core/json-types.js'
import type { Part } from '../core/task.js'
import type { ChatMessage } from '../chat/types.js'
import { compact } from '../runtime/compact.js'
import { isRecord, recordOf, type Unread } from '../runtime/unread.js'
import { list, nonEmptyString, object, oneOf, optional, string, unknown } from '../schemas/scalars.js'
import type { Infer } from '../schemas/schema.js'
import { check } from '../wire/check.js'

/** The fields that are read. All others may be there. */
const MessageSchema = object({
  id: string,
  role: string,
  content: unknown,
  metadata: unknown,
  toolCallId: unknown,
  toolCalls: unknown,
})
const ResumeSchema = object({
  interruptId: nonEmptyString,
  status: oneOf(['resolved', 'cancelled']),
  payload: unknown,
})
const InputSchema = object({
  threadId: nonEmptyString,
  runId: nonEmptyString,
  messages: list(MessageSchema),
  resume: optional(list(ResumeSchema)),
})
const ContentSchema = list(
  object({
    type: oneOf(['text', 'image', 'audio', 'video', 'document']),
    text: optional(string),
    source: optional(
      object({ type: oneOf(['data', 'url']), value: nonEmptyString, mimeType: optional(string) }),
    ),
  }),
)

type InputMessage = Infer<typeof MessageSchema>

/** A message of the user. */
export interface UserMessage {
  readonly id: string
  readonly parts: readonly Part[]
}

/** How the user has answered a question. */
export interface Resolution {
  /** The id of the question. */
  readonly id: string
  readonly isCancelled: boolean
  readonly payload: ReadonlyJson
}

/** A message of the assistant: its metadata, and the calls of tools. */
export interface AssistantMessage extends ChatMessage {
  readonly calls: readonly {
    readonly toolCallId: string
    readonly toolName: string
    readonly isOver: boolean
  }[]
}

export interface RunInput {
  readonly threadId: string
  readonly runId: string
  /** All messages, as they came. */
  readonly messages: readonly unknown[]
  readonly replies: readonly AssistantMessage[]
  /** The messages of the user since the last message of the assistant. */
  readonly said: readonly UserMessage[]
  readonly resume?: { readonly taskId: string; readonly resolutions: readonly Resolution[] }
  /** What the front end tells of itself, for the metadata of the request. Absent for nothing. */
  readonly frontEnd?: JsonObject
}

/** @throws {A2AError} `INVALID_PARAMS` with the path of the first fault. */
export function readInput(json: unknown): RunInput {
  const { threadId, runId, messages, resume = [] } = check(InputSchema, json, 'input')
  const given = recordOf(json) ?? {}
  const begins = messages.findLastIndex(({ role }) => role !== 'user') + 1
  const said = messages
    .slice(begins)
    .map(({ id, content }, index) => ({ id, parts: partsOf(content, begins + index) }))
    .filter(({ parts }) => parts.length > 0)
  if (said.length === 0 && resume.length === 0)
    throw invalidParams('messages', 'must end with a message of the user that is not empty')
  return {
    ...{ threadId, runId, said },
    messages: given['messages'] as readonly unknown[],
    replies: messages.filter(({ role }) => role === 'assistant').map((each) => replyOf(each, messages)),
    ...(resume.length > 0 && { resume: resumed(resume) }),
    ...frontEndOf(given),
  }
}

/** The id of an interrupt names its task: a run gets no other hint at it. */
export function interruptIdOf(taskId: string, questionId: string): string {
  return `${encodeURIComponent(taskId)}/${questionId}`
}

function resumed(entries: readonly Infer<typeof ResumeSchema>[]): NonNullable<RunInput['resume']> {
  const resolutions = entries.map(({ interruptId, status, payload }, index) => {
    const [, task = '', id = ''] = /^([^/]+)\/(.*)$/s.exec(interruptId) ?? []
    const path = `resume[${index}].interruptId`
    if (task === '') throw invalidParams(path, 'must be the id of an interrupt')
    // The body is JSON.
    return {
      task: decoded(task, path),
      id,
      isCancelled: status === 'cancelled',
      payload: (payload ?? null) as ReadonlyJson,
    }
  })
  const [taskId = '', ...others] = new Set(resolutions.map(({ task }) => task))
  if (others.length > 0) throw invalidParams('resume', 'must be about the interrupts of one run')
  return { taskId, resolutions }
}

function decoded(text: string, path: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw invalidParams(path, 'must be the id of an interrupt', cause)
  }
}

function partsOf(content: unknown, index: number): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ text: content }]
  const path = `messages[${index}].content`
  return check(ContentSchema, content, path).flatMap(({ type, text, source }, at): Part[] => {
    if (type === 'text') return text ? [{ text }] : []
    if (source === undefined) throw invalidParams(`${path}[${at}].source`, 'is missing')
    const { value, mimeType: mediaType } = source
    return [compact({ ...(source.type === 'url' ? { url: value } : { raw: value }), mediaType })]
  })
}

function replyOf({ id, metadata, toolCalls }: InputMessage, all: readonly InputMessage[]): AssistantMessage {
  const given: readonly unknown[] = Array.isArray(toolCalls) ? toolCalls : []
  const calls = given.flatMap((call) => {
    const { id: toolCallId, function: named }: Unread = isRecord(call) ? call : {}
    const toolName = recordOf(named)?.['name']
    if (typeof toolCallId !== 'string' || typeof toolName !== 'string') return []
    const isOver = all.some((each) => each.role === 'tool' && each.toolCallId === toolCallId)
    return [{ toolCallId, toolName, isOver }]
  })
  const parts = calls.map(({ isOver, ...call }) => ({
    ...{ type: 'dynamic-tool', ...call },
    state: isOver ? 'output-available' : 'input-available',
  }))
  return { id, role: 'assistant', metadata, parts, calls }
}

const FRONT_END = ['state', 'tools', 'context', 'forwardedProps']

function frontEndOf(given: Unread): Pick<RunInput, 'frontEnd'> {
  const told = FRONT_END.filter((name) => isTold(given[name])).map((name) => [name, given[name]] as const)
  // The body is JSON.
  return told.length === 0 ? {} : { frontEnd: Object.fromEntries(told) as JsonObject }
}

function isTold(value: unknown): boolean {
  return typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : value != null
}
