/**
 * One run of AG-UI: a message to the agent, or the answers to its questions.
 *
 * @module
 */
import type { ReadonlyJson } from '../core/json-types.js'
import type { Part } from '../core/task.js'
import { isApproval, writeReply, type Reply } from '../chat/reply.js'
import { asksUser, isWaiting, lastTaskOf } from '../chat/request.js'
import { replay, runInContext } from '../chat/turn.js'
import type { RunOptions, RunResult, RunUpdate } from '../client/run/run-types.js'
import { compact } from '../runtime/compact.js'
import { AG_UI_KEY } from '../runtime/protocols.js'
import { recordOf } from '../runtime/unread.js'
import type { RemoteTask } from '../wire/client/dialect.js'
import { answerPart, openQuestionsOf, QUESTIONS } from '../wire/question/questions.js'
import { eventWriter } from './events.js'
import type { RunInput } from './input.js'
import type { AgUiAgent } from './options.js'
import type { AgUiEvent } from './types.js'

export async function runInput(
  agent: AgUiAgent,
  input: RunInput,
  write: (event: AgUiEvent) => void,
  given: Pick<RunOptions, 'signal' | 'timeoutMs'>,
): Promise<void> {
  const { threadId, runId, replies, resume, frontEnd } = input
  write({ type: 'RUN_STARTED', threadId, runId, protocolVersion: '1.0' })
  const last = lastTaskOf(replies)
  const taskId = resume?.taskId ?? (isWaiting(last.state) ? last.taskId : undefined)
  const { signal } = given
  const before = taskId === undefined ? undefined : await agent.getTask(taskId, { signal })
  const events = eventWriter(write, input)
  const reply = writeReply({
    write: events.chunk,
    id: () => `${runId}-reply`,
    hasApprovals: false,
    ...(before && { continued: { id: '', role: 'assistant', parts: replies.flatMap(({ parts }) => parts) } }),
  })
  const options = compact({
    ...given,
    onUpdate: ({ event }: RunUpdate) => reply.event(event),
    metadata: frontEnd && { [AG_UI_KEY]: frontEnd },
  })
  const contextId = last.contextId ?? { wished: threadId }
  const result =
    before === undefined
      ? await runInContext(agent, messageOf(input, said(input)), contextId, options)
      : await continueTask(agent, input, before, reply, options)
  reply.end(result)
  events.end(result, before)
}

async function continueTask(
  agent: AgUiAgent,
  input: RunInput,
  task: RemoteTask,
  reply: Reply,
  options: RunOptions,
): Promise<RunResult> {
  const repeated = task.messages.find(({ messageId }) => messageId === input.runId)
  if (repeated !== undefined) return await replay(agent, task, repeated, reply, options)
  reply.skip({ type: 'task', task })
  const parts = said(input, task)
  const { answers, texts, isGivenUp } = answersTo(task, input)
  const context = task.contextId ?? input.threadId
  if (isGivenUp) await agent.cancelTask(task.id, { signal: options.signal })
  // Another task begins where this one waits for nothing.
  if (isGivenUp || !asksUser(task)) {
    if (parts.length > 0) return await runInContext(agent, messageOf(input, parts), context, options)
  } else {
    const given = Object.keys(answers).length > 0 ? [answerPart(answers)] : []
    const all = [...given, ...texts, ...parts] as Part[]
    const extensions = given.length > 0 ? [QUESTIONS] : undefined
    const message = { ...messageOf(input, all), ...compact({ taskId: task.id, extensions }) }
    if (all.length > 0) return await runInContext(agent, message, context, options)
  }
  return await agent.resume({ messageId: input.runId, taskId: task.id }, options)
}

interface Answers {
  readonly answers: Record<string, ReadonlyJson>
  /** Answers to a question in words. */
  readonly texts: readonly Part[]
  /** A question that cannot be answered by a no was cancelled. */
  readonly isGivenUp: boolean
}

/** What answers the questions that are still open. */
function answersTo(task: RemoteTask, { resume }: RunInput): Answers {
  const open = openQuestionsOf(task)
  const inWords = open.length === 0 ? (task.message?.messageId ?? '') : undefined
  const answers: Record<string, ReadonlyJson> = {}
  const texts: Part[] = []
  let isGivenUp = false
  for (const { id, isCancelled, payload } of asksUser(task) ? (resume?.resolutions ?? []) : []) {
    const question = open.find((each) => each.id === id)
    if (question === undefined && id !== inWords) continue
    if (isCancelled && question !== undefined && isApproval(question)) answers[id] = 'reject'
    else if (isCancelled) isGivenUp = true
    else if (question !== undefined) answers[id] = payload
    else texts.push(...partsIn(payload))
  }
  return { answers, texts, isGivenUp }
}

/** The answer to a question in words. Without any, the user has done what was asked. */
function partsIn(payload: ReadonlyJson): Part[] {
  if (typeof payload === 'string') return payload === '' ? [] : [{ text: payload }]
  return payload === null ? [] : [{ data: payload } as Part]
}

/** The parts of the user's messages that the task does not have. */
function said(input: RunInput, task?: RemoteTask): Part[] {
  const known = new Set((task?.messages ?? []).flatMap(({ metadata }) => idsIn(metadata)))
  return input.said.filter(({ id }) => !known.has(id)).flatMap(({ parts }) => parts)
}

function idsIn(metadata: object | undefined): readonly unknown[] {
  const ids = recordOf(recordOf(metadata)?.[AG_UI_KEY])?.['messageIds']
  return Array.isArray(ids) ? ids : []
}

interface Sent {
  readonly messageId: string
  readonly parts: readonly Part[]
  readonly metadata: { readonly [AG_UI_KEY]: { readonly messageIds: string[] } }
}

/** A run that is repeated sends the same message. The ids in it say later which messages of the thread the task has. */
function messageOf({ runId, said }: RunInput, parts: readonly Part[]): Sent {
  return { messageId: runId, parts, metadata: { [AG_UI_KEY]: { messageIds: said.map(({ id }) => id) } } }
}
