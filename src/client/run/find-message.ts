/**
 * Whether a message whose answer is lost has arrived.
 *
 * @module
 */
import { A2AError, type AnyA2AError, type ErrorCode } from '../../core/errors.js'
import type { Message } from '../../core/task.js'
import type { RemoteTask } from '../../wire/client/dialect.js'
import type { Connection } from '../connection/connection.js'
import { pause } from '../../http/retry.js'

/** How often the agent has to say that it has no trace of the message before it is believed. */
const REQUIRED_DENIALS = 4

/** What says nothing of whether the agent has got what it was sent. */
const INCONCLUSIVE_CODES: readonly ErrorCode[] = [
  'EXTERNAL_SERVICE_ERROR',
  'REQUEST_TIMED_OUT',
  'INVALID_AGENT_RESPONSE',
  'UNAVAILABLE',
]

export function isInconclusive(error: unknown): error is AnyA2AError {
  if (!A2AError.is(error) || !INCONCLUSIVE_CODES.includes(error.code)) return false
  // Told by the agent, it is an answer: that of another agent was none.
  return error.code !== 'INVALID_AGENT_RESPONSE' || error.cause === undefined || error.cause instanceof Error
}

/** How much of a task's history is asked for: without a number, agents may tell as little as they like. */
const HISTORY_LENGTH = 1_000

/** What a message is found by. */
export type MessageKey = Pick<Message, 'messageId' | 'taskId' | 'contextId'>

export type Finding =
  | { readonly type: 'found'; readonly task: RemoteTask }
  /** The agent has no trace of it, as it said several times. */
  | { readonly type: 'nowhere' }
  /** Nobody can tell. `error`: the agent does not say. */
  | { readonly type: 'unknown'; readonly error?: A2AError | undefined }

export interface SearchHints {
  /** Whether nobody else knows the id of the conversation. */
  readonly isOwnContext: boolean
  /** A message that the agent had before: a history with it lacks nothing that came later. */
  readonly earlierMessageId: string
}

/**
 * Looks, with growing pauses, for the task that `message` began or continues.
 *
 * A message that continues a task is found in the task's history; one that begins a task by its conversation. That takes
 * agents of 1.0 at the protocol's word that they keep the id of a conversation, or refuse it (§3.4.1).
 *
 * @throws {A2AError} `REQUEST_ABORTED`.
 */
export async function findTask(
  connection: Connection,
  message: MessageKey,
  signal: AbortSignal,
  hints: SearchHints,
): Promise<Finding> {
  const { pacing } = connection.settings
  let failure: A2AError | undefined
  for (let attempt = 1, denials = 0; attempt <= REQUIRED_DENIALS + 2 * pacing.attempts; attempt += 1) {
    await pause(pacing, signal, attempt)
    try {
      const finding = await search(connection, message, signal, hints)
      if (finding.type !== 'nowhere') return finding
      denials += 1
      if (denials === REQUIRED_DENIALS) return finding
    } catch (error) {
      if (signal.aborted || !A2AError.is(error)) throw error
      if (!isInconclusive(error)) return { type: 'unknown', error }
      failure = error
    }
  }
  return { type: 'unknown', error: failure }
}

async function search(
  connection: Connection,
  message: MessageKey,
  signal: AbortSignal,
  { isOwnContext, earlierMessageId }: SearchHints,
): Promise<Finding> {
  const { taskId, contextId } = message
  const historyLength = HISTORY_LENGTH
  if (taskId !== undefined) {
    const task = await connection.call('GetTask', { id: taskId, historyLength }, { signal })
    if (hasMessage(task, message)) return { type: 'found', task }
    // A history that is not told, or only in part, says nothing.
    return { type: hasMessage(task, { messageId: earlierMessageId }) ? 'nowhere' : 'unknown' }
  }
  if (contextId === undefined) return { type: 'unknown' }
  const page = await connection.call('ListTasks', { contextId, pageSize: 100, historyLength }, { signal })
  const task = page.tasks.find(
    (each) => hasMessage(each, message) || (isOwnContext && each.contextId === contextId),
  )
  if (task !== undefined) return { type: 'found', task }
  // A task begins with a message of the user: a history that does not is told only in part.
  const isPartial = page.tasks.some(
    (each) =>
      each.contextId === undefined || (each.contextId === contextId && each.messages[0]?.role !== 'user'),
  )
  // Agents of 0.3 may give a conversation another id.
  const mayRenameContext = page.tasks.length === 0 && connection.current.selected.dialect.version === '0.3'
  return { type: isPartial || mayRenameContext || page.nextPageToken !== '' ? 'unknown' : 'nowhere' }
}

function hasMessage({ messages }: RemoteTask, { messageId }: MessageKey): boolean {
  return messages.some((message) => message.messageId === messageId)
}
