/**
 * The user's side of a chat, as messages to the agent.
 *
 * @module
 */
import type { JsonObject, ReadonlyJson } from '../core/json-types.js'
import type { TaskState } from '../core/lifecycle.js'
import type { Part } from '../core/task.js'
import type { CallOptions, SendOptions } from '../client/message.js'
import { isRecord, type Unread } from '../runtime/unread.js'
import { answerPart, awaitedOthersOf, openQuestionsOf } from '../wire/question/questions.js'
import type { RemoteTask } from '../wire/client/dialect.js'
import { isApprovalOf } from './reply.js'
import type { ChatMessage, ChatMetadata, RequestOptions, SendRequest } from './types.js'

/** The message that the user has just written, or the one of the assistant whose approvals are answered. */
export function targetOf({ messages, messageId }: SendRequest): ChatMessage {
  const named = messages.find(({ id, role }) => id === messageId && role === 'assistant')
  const target = named ?? messages.at(-1)
  if (target === undefined) throw new TypeError('There is no message to send')
  return target
}

/** What the last message of the assistant says of its task. */
export function lastTaskOf(messages: readonly ChatMessage[]): Partial<ChatMetadata['a2a']> {
  const of = ({ metadata }: ChatMessage): Partial<ChatMetadata['a2a']> | undefined =>
    isRecord(metadata) && isRecord(metadata['a2a']) ? metadata['a2a'] : undefined
  return messages.map(of).findLast((each) => each !== undefined) ?? {}
}

export function isWaiting(state: TaskState | undefined): boolean {
  return state === 'input-required' || state === 'auth-required'
}

/** Whether the task waits for the user of this client, whose next message goes to it. */
export function asksUser(task: RemoteTask): boolean {
  return isWaiting(task.state) && awaitedOthersOf(task) === undefined
}

/** The user's parts. Data parts with the name `answers` answer questions by their ids. */
export function partsOf(message: ChatMessage): Part[] {
  return message.parts.flatMap((part): Part[] => {
    const { type, text, url, mediaType, filename, data }: Unread = { ...part }
    if (type === 'text' && typeof text === 'string') return text === '' ? [] : [{ text }]
    if (type === 'data-answers' && isRecord(data)) return [answerPart(data as Record<string, ReadonlyJson>)]
    if (typeof type === 'string' && type.startsWith('data-')) return [{ data: (data ?? null) as never }]
    if (type !== 'file' || typeof url !== 'string') return []
    const about = {
      ...(typeof mediaType === 'string' && { mediaType }),
      ...(typeof filename === 'string' && { filename }),
    }
    const [, raw] = /^data:[^,]*;base64,(.*)$/s.exec(url) ?? []
    return [raw === undefined ? { url, ...about } : { raw, ...about }]
  })
}

/** The answers of a message to approvals that the task still asks for, by the ids of the questions. */
export function approvalsIn(message: ChatMessage, task: RemoteTask): Record<string, 'approve' | 'reject'> {
  const open = openQuestionsOf(task).map(({ id }) => id)
  const entries = message.parts.flatMap((part) => {
    const { state, approval }: Unread = { ...part }
    if (state !== 'approval-responded' || !isRecord(approval)) return []
    const id = open.find((each) => isApprovalOf(approval['id'], each))
    return id === undefined ? [] : [[id, approval['approved'] === true ? 'approve' : 'reject'] as const]
  })
  return Object.fromEntries(entries)
}

/** The headers that the front end adds to each request. */
export function headersOf({ headers }: RequestOptions): Pick<CallOptions, 'headers'> {
  return headers === undefined ? {} : { headers: Object.fromEntries(new Headers(headers)) }
}

/** The metadata that the front end adds to a message. The client refuses what is no JSON. */
export function metadataOf({ body, metadata }: RequestOptions): Pick<SendOptions, 'metadata'> {
  const all = { ...body, ...(isRecord(metadata) && metadata) }
  return Object.keys(all).length === 0 ? {} : { metadata: all as JsonObject }
}
