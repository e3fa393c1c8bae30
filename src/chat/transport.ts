/**
 * A transport of AI SDK's chats to an A2A agent.
 *
 * @module
 */
import { A2AError } from '../core/errors.js'
import type { Message } from '../core/task.js'
import { observed } from '../runtime/abort.js'
import { requireObject } from '../runtime/options.js'
import { compact } from '../runtime/compact.js'
import type { CallOptions } from '../client/message.js'
import type { RunOptions, RunResult, RunUpdate } from '../client/run/run-types.js'
import type { RunHandle } from '../remote/runner.js'
import type { RemoteTask } from '../wire/client/dialect.js'
import { answerPart, QUESTIONS, senderOf } from '../wire/question/questions.js'
import type { ChatClient } from './chat-client.js'
import { writeReply } from './reply.js'
import { replyStream } from './reply-stream.js'
import {
  approvalsIn,
  asksUser,
  headersOf,
  isWaiting,
  lastTaskOf,
  metadataOf,
  partsOf,
  targetOf,
} from './request.js'
import { replay, runInContext } from './turn.js'
import type {
  A2AChatTransport,
  ChatChunk,
  ChatMessage,
  ChatMetadata,
  RequestOptions,
  SendRequest,
} from './types.js'

/** How the ids of the messages begin that answer approvals: they begin no message of the assistant. */
const APPROVAL = 'approval/'

/**
 * A transport for AI SDK's `useChat` and `Chat`: each message of the user is a message to the agent, and what its task shows is
 * the message of the assistant. The id of the chat is the id of the A2A context, so give the chat an id that cannot be guessed.
 *
 * - If the agent waits for an answer, the next message goes to the same task. Approvals that have no other answers than yes and
 *   no are approvals of AI SDK; all other questions are `data-question` parts, and `data-answers` parts answer them.
 * - Stopping the chat cancels the task. A stream that is only no longer read does not.
 * - `resume` shows the reply to the last message of the user again from its beginning, also if it has ended, and goes on. It needs
 *   an agent that lists its tasks, and finds the reply by the id of the chat.
 * - A connection that breaks is opened again by the client.
 *
 * Agents of A2A 0.3 over JSON-RPC list no tasks: `resume` does nothing there.
 *
 * @param client - The client, or a promise of one: `A2AClient.connect('/agent', { sameOrigin: true })`.
 * @throws {TypeError} for anything else, such as a URL.
 * @example
 * const transport = a2aChatTransport(A2AClient.connect('/agent', { sameOrigin: true }))
 * const { messages, sendMessage } = useChat({ id: 'c0ffee…', transport, resume: true })
 */
export function a2aChatTransport(client: ChatClient | PromiseLike<ChatClient>): A2AChatTransport {
  requireObject('client', client, 'a2aChatTransport()', 'an A2AClient, or a promise of one')
  // It may fail before the first message.
  const connecting = observed(Promise.resolve(client))
  /** The last resumption of each chat. */
  const resumed = new Map<string, object>()

  return {
    resumeStreamIsReplay: true,

    sendMessages: async (request) => {
      const agent = await connecting
      return replyStream({ abortSignal: request.abortSignal, failure }, (write, signal) =>
        send(agent, request, write, signal),
      )
    },

    reconnectToStream: async (request) => {
      const { chatId, abortSignal } = request
      const token = {}
      resumed.set(chatId, token)
      const isLast = (): boolean => resumed.get(chatId) === token
      const forget = (): void => {
        if (isLast()) resumed.delete(chatId)
      }
      let found: RemoteTask | undefined
      try {
        found = await lastTaskIn(await connecting, request)
      } finally {
        if (found === undefined) forget()
      }
      if (found === undefined) return null
      const [agent, task] = [await connecting, found]
      // AI SDK also aborts a resumption because another one takes its place.
      return replyStream({ abortSignal, isStopped: isLast, failure }, (write, signal) =>
        showAgain(agent, request, task, write, signal).finally(forget),
      )
    },
  }
}

type Write = (chunk: ChatChunk) => void

async function send(
  agent: ChatClient,
  request: SendRequest,
  write: Write,
  signal: AbortSignal,
): Promise<void> {
  const target = targetOf(request)
  const isAnswer = target.role === 'assistant'
  const last = lastTaskOf(isAnswer ? [target] : request.messages)
  const headers = headersOf(request)
  const task = await taskToContinue(agent, last, isAnswer, { ...headers, signal })
  // An edit or a retry is a message that the agent has not seen.
  const isNew = request.trigger === 'submit-message' && request.messageId === undefined
  let id = isNew ? target.id : undefined
  const reply = writeReply({
    write,
    id: () => (isAnswer ? target.id : replyIdOf(id ?? request.chatId)),
    continued: isAnswer ? target : undefined,
    earlier:
      task === undefined ? [] : request.messages.filter((each) => each !== target && isAbout(each, task)),
  })
  // While it waits, it does not change.
  if (task !== undefined) reply.skip({ type: 'task', task })
  const options = {
    ...headers,
    ...metadataOf(request),
    signal,
    onUpdate: ({ event }: RunUpdate) => reply.event(event),
    onStart: ({ messageId }: RunHandle) => void (id = messageId),
  }
  if (isAnswer) {
    reply.end(await approve(agent, target, task, options))
    return
  }
  const message = compact({ parts: partsOf(target), messageId: id, taskId: task?.id })
  reply.end(await runInContext(agent, message, last.contextId ?? { wished: request.chatId }, options))
}

function isAbout(message: ChatMessage, task: RemoteTask): boolean {
  return message.role === 'assistant' && lastTaskOf([message]).taskId === task.id
}

/** The task that waits for the message. Approvals go to theirs in any case. */
async function taskToContinue(
  agent: ChatClient,
  { taskId, state }: Partial<ChatMetadata['a2a']>,
  isAnswer: boolean,
  options: CallOptions,
): Promise<RemoteTask | undefined> {
  if (taskId === undefined || !(isAnswer || isWaiting(state))) return undefined
  const task = await agent.getTask(taskId, options)
  return isAnswer || asksUser(task) ? task : undefined
}

/** Sends the approvals that a message of the assistant asks for. */
async function approve(
  agent: ChatClient,
  target: ChatMessage,
  task: RemoteTask | undefined,
  options: RunOptions,
): Promise<RunResult> {
  if (task === undefined) throw new TypeError('The message asks for no approval')
  const answers = approvalsIn(target, task)
  const ids = Object.keys(answers)
  const about = { messageId: `${APPROVAL}${task.id}/${ids.join()}`, taskId: task.id }
  // Without any, another page has answered.
  if (ids.length === 0) return await agent.resume(about, options)
  return await agent.run({ ...about, parts: [answerPart(answers)], extensions: [QUESTIONS] }, options)
}

/** The task of the chat that has changed last. */
async function lastTaskIn(agent: ChatClient, request: RequestOptions): Promise<RemoteTask | undefined> {
  const options = { ...headersOf(request), signal: request.abortSignal }
  try {
    const { tasks } = await agent.listTasks({ contextId: request.chatId, pageSize: 1, ...options })
    return tasks[0] && (await agent.getTask(tasks[0].id, options))
  } catch (error) {
    if (A2AError.is(error, 'UNSUPPORTED_OPERATION') || A2AError.is(error, 'METHOD_NOT_FOUND'))
      return undefined
    throw error
  }
}

/** Shows the reply to the last message of the user again, and goes on. */
async function showAgain(
  agent: ChatClient,
  request: RequestOptions,
  task: RemoteTask,
  write: Write,
  signal: AbortSignal,
): Promise<void> {
  const isMessage = (message: Message): boolean =>
    message.role === 'user' && !message.messageId.startsWith(APPROVAL) && senderOf(message) === undefined
  const message = task.messages.findLast(isMessage)
  const messageId = message?.messageId ?? task.id
  const reply = writeReply({ write, id: () => replyIdOf(messageId) })
  reply.end(await replay(agent, task, message, reply, { ...headersOf(request), signal }))
}

function replyIdOf(messageId: string): string {
  return `${messageId}-reply`
}

function failure(error: unknown): ChatChunk {
  return { type: 'error', errorText: error instanceof Error ? error.message : String(error) }
}
