/**
 * Chat completions: the API of OpenAI's that KAOS serves beside A2A.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { TaskSnapshot } from '../../core/task.js'
import { JsonObjectSchema } from '../../schemas/json.js'
import { boolean, list, object, optional, string } from '../../schemas/scalars.js'
import { check } from '../../wire/check.js'
import { artifactText, BAD_ENDS, conversationOf, statusText } from '../conversation.js'
import type { Codecs, Requests, Route, StreamEntry } from '../../wire/dialect.js'
import { textOf } from '../../wire/text.js'
import { notReply, statusMessage } from '../../wire/view.js'

const ChatSchema = object({
  messages: optional(list(JsonObjectSchema)),
  stream: optional(boolean),
  session_id: optional(string),
})

/** The last of them is what the agent works on. The session has the others. */
const PROMPT_ROLES: readonly (JsonValue | undefined)[] = ['user', 'task-delegation']

export const CHAT_ROUTE: Route = {
  verb: 'POST',
  path: '/v1/chat/completions',
  operation: 'SendMessage',
  isInCard: false,
  headers: { 'x-session-id': 'session_id' },
  stream: { when: (params) => params['stream'] === true, end: '[DONE]' },
}

function fromChat(body: unknown): Requests['SendMessage'] {
  const { messages = [], session_id: contextId } = check(ChatSchema, body)
  if (messages.length === 0) throw invalid('messages', 'messages are required')
  const prompt = messages.findLast(({ role }) => PROMPT_ROLES.includes(role))
  if (prompt === undefined) throw invalid('messages', 'No user or task-delegation message found')
  const text = contentText(prompt['content'])
  if (text === '') throw invalid('messages', 'Message must contain text content')
  const isDelegation = prompt['role'] !== 'user'
  return {
    message: {
      role: 'user',
      parts: [{ text }],
      ...(contextId && { contextId }),
      ...(isDelegation && { metadata: { delegation: true } }),
    },
    returnImmediately: false,
    acceptedOutputModes: [],
    needsTask: true,
  }
}

function invalid(path: string, text: string): A2AError {
  return new A2AError('INVALID_PARAMS', text, { path, reason: text })
}

/** A text, or the texts of parts, joined with spaces as KAOS does. */
function contentText(content: JsonValue | undefined): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  const texts = content.map((part) => (part as JsonObject | null)?.['text'])
  return texts.filter((text) => typeof text === 'string').join(' ')
}

/**
 * The answer of a task: the last message of the agent, or its question.
 *
 * @throws {A2AError} `TASK_TERMINAL` for a task that has failed: its text must not look like an answer.
 */
function answerOf(task: TaskSnapshot): string {
  const { id: taskId, state } = task
  if (state === 'completed') {
    const answer = conversationOf(task).findLast(({ role }) => role === 'agent')
    return answer === undefined ? '' : textOf(answer)
  }
  return unlessFailed(statusText(task) ?? '', taskId, state)
}

function unlessFailed(text: string, taskId: string, state: TaskState): string {
  if (!BAD_ENDS.includes(state)) return text
  throw new A2AError('TASK_TERMINAL', text === '' ? `The task is ${state}` : text, { taskId, state })
}

/** The id is that of the session, as in KAOS: a client that sends it back continues the session. */
function head(id: string, object: string, time: string): JsonObject {
  return { id, object, created: Math.floor(Date.parse(time) / 1_000), model: 'agent' }
}

function toCompletion(task: TaskSnapshot): JsonObject {
  const message = { role: 'assistant', content: answerOf(task) }
  return {
    ...head(task.contextId, 'chat.completion', task.createdAt),
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  }
}

/** One chunk for each entry, so that a chunk without text tells the reader that the agent is at work. */
function toChunk(entry: Exclude<StreamEntry, { readonly type: 'message' }>): JsonObject {
  const { last } = entry
  const [id, time] =
    entry.type === 'task'
      ? [entry.task.contextId, entry.task.updatedAt]
      : [entry.contextId, entry.event.timestamp]
  const content = textIn(entry)
  const delta = { role: 'assistant', ...(content !== '' && { content }) }
  return {
    ...head(id, 'chat.completion.chunk', time),
    choices: [{ index: 0, delta, finish_reason: last ? 'stop' : null }],
  }
}

/** What an entry adds to the answer. */
function textIn(entry: Exclude<StreamEntry, { readonly type: 'message' }>): string {
  if (entry.type === 'task') return entry.last ? answerOf(entry.task) : artifactText(entry.task)
  const { event, source } = entry
  if (event.type === 'artifact') return textOf(event.artifact)
  if (!entry.last) return ''
  const task = source?.task()
  // Artifacts were sent before.
  if (event.to === 'completed') return task === undefined || artifactText(task) !== '' ? '' : answerOf(task)
  const { taskId, to: state, message } = event
  const text = message == null ? '' : textOf(statusMessage(message, taskId, entry.contextId))
  return unlessFailed(text, taskId, state)
}

// A call, because bundlers drop an unused pure call but keep a spread.
function chatCodecs() {
  return {
    SendMessage: { decode: fromChat, encode: (sent) => toCompletion(notReply(sent).task) },
    SendStreamingMessage: { decode: fromChat, encode: (entry) => toChunk(notReply(entry)) },
  } satisfies Codecs
}

export const CHAT = chatCodecs()
