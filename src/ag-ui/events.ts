/**
 * The reply of an agent as events of AG-UI: each piece of the reply is one event or a few.
 *
 * @module
 */
import { spendingOf, type Amounts } from '../core/spending.js'
import { isApproval } from '../chat/reply.js'
import type { ChatChunk, ChatMetadata } from '../chat/types.js'
import type { RunResult } from '../client/run/run-types.js'
import { compact } from '../runtime/compact.js'
import type { RemoteTask } from '../wire/client/dialect.js'
import type { OpenQuestion } from '../wire/question/questions.js'
import { describeError } from '../wire/errors.js'
import { interruptIdOf, type RunInput } from './input.js'
import type { AgUiEvent, AgUiInterrupt, AgUiUsage } from './types.js'

export interface EventWriter {
  readonly chunk: (chunk: ChatChunk) => void
  /** Call it last. `before` is the task as it was when the run began. */
  readonly end: (result: RunResult, before: RemoteTask | undefined) => void
}

type Task = ChatMetadata['a2a']

export function eventWriter(
  write: (event: AgUiEvent) => void,
  { threadId, runId, messages, replies }: RunInput,
): EventWriter {
  /** The calls of tools without a result, by the names of the tools: questions are about them. */
  const open = new Map<string, string>()
  for (const { toolCallId, toolName, isOver } of replies.flatMap(({ calls }) => calls))
    if (!isOver) open.set(toolName, toolCallId)
  const reasoned = new Set<string>()
  const questions: OpenQuestion[] = []
  let id = ''
  let told: Task | undefined
  let count = 0

  const activity = (name: string, activityType: string, content: object): void =>
    write({ type: 'ACTIVITY_SNAPSHOT', messageId: `${id}/${name}`, activityType, content, replace: true })

  const tell = (metadata: ChatMetadata | undefined): void => {
    if (metadata === undefined) return
    told = metadata.a2a
    activity('task', 'a2a-task', told)
  }

  const result = (toolCallId: string, content: string, metadata?: object): void => {
    for (const [name, call] of open) if (call === toolCallId) open.delete(name)
    const messageId = `${id}/${toolCallId}`
    write({
      type: 'TOOL_CALL_RESULT',
      messageId,
      toolCallId,
      role: 'tool',
      content,
      ...(metadata && { metadata }),
    })
  }

  /** A front end keeps reasoning through a snapshot. A second time, it would have it twice. */
  const reason = (name: string, events: readonly Reasoning[]): void => {
    if (!reasoned.has(name)) for (const event of events) write({ ...event, messageId: `${id}/${name}` })
  }

  const chunk = (chunk: ChatChunk): void => {
    switch (chunk.type) {
      case 'start':
        id = chunk.messageId
        tell(chunk.messageMetadata)
        return
      case 'message-metadata':
        tell(chunk.messageMetadata)
        return
      case 'reset-step':
        // The messages of this run are made again. Front ends keep what the snapshot has none of: reasoning and activities.
        count = 0
        write({ type: 'MESSAGES_SNAPSHOT', messages: messages.filter(isOfConversation) })
        return
      case 'text-start':
        write({ type: 'TEXT_MESSAGE_START', messageId: `${id}/${chunk.id}`, role: 'assistant' })
        return
      case 'text-delta':
        write({ type: 'TEXT_MESSAGE_CONTENT', messageId: `${id}/${chunk.id}`, delta: chunk.delta })
        return
      case 'text-end':
        write({
          type: 'TEXT_MESSAGE_END',
          messageId: `${id}/${chunk.id}`,
          ...(told && { metadata: about(told) }),
        })
        return
      case 'reasoning-start':
        reason(chunk.id, [
          { type: 'REASONING_START' },
          { type: 'REASONING_MESSAGE_START', role: 'reasoning' },
        ])
        return
      case 'reasoning-delta':
        reason(chunk.id, [{ type: 'REASONING_MESSAGE_CONTENT', delta: chunk.delta }])
        return
      case 'reasoning-end':
        reason(chunk.id, [{ type: 'REASONING_MESSAGE_END' }, { type: 'REASONING_END' }])
        reasoned.add(chunk.id)
        return
      default:
        showCall(chunk)
    }
  }

  const showCall = (chunk: ChatChunk): void => {
    switch (chunk.type) {
      case 'tool-input-available': {
        const { toolCallId, toolName, input } = chunk
        open.set(toolName, toolCallId)
        write({ type: 'TOOL_CALL_START', toolCallId, toolCallName: toolName })
        write({ type: 'TOOL_CALL_ARGS', toolCallId, delta: JSON.stringify(input ?? {}) })
        write({ type: 'TOOL_CALL_END', toolCallId })
        return
      }
      case 'tool-output-available': {
        const { toolCallId, output, preliminary } = chunk
        if (preliminary === true)
          activity(`${toolCallId}/progress`, 'a2a-tool-progress', { toolCallId, output })
        else result(toolCallId, typeof output === 'string' ? output : JSON.stringify(output))
        return
      }
      case 'tool-output-error':
        result(chunk.toolCallId, chunk.errorText, { a2a: { state: 'failed' } })
        return
      case 'tool-output-denied':
        result(chunk.toolCallId, 'rejected', { a2a: { state: 'rejected' } })
        return
      default:
        showPart(chunk)
    }
  }

  const showPart = (chunk: ChatChunk): void => {
    switch (chunk.type) {
      case 'file':
        activity(`file-${(count += 1)}`, 'a2a-file', { url: chunk.url, mediaType: chunk.mediaType })
        return
      case 'data-json':
        activity(chunk.id, 'a2a-data', { data: chunk.data })
        return
      case 'source-url':
      case 'source-document': {
        const { type, ...source } = chunk
        activity(`${type}-${source.sourceId}`, 'a2a-source', source)
        return
      }
      case 'data-question':
        questions.push(chunk.data)
        return
      default:
      // Approvals are questions, steps have no name, and the result says how the run ends.
    }
  }

  const interruptsOf = (task: RemoteTask, text: string, isAuth: boolean): AgUiInterrupt[] => {
    const { id: taskId, message } = task
    const auth = isAuth ? ('a2a:auth_required' as const) : undefined
    if (questions.length === 0) {
      const interruptId = interruptIdOf(taskId, message?.messageId ?? '')
      return [{ id: interruptId, reason: auth ?? 'input_required', message: text }]
    }
    return questions.map((question) => {
      const { id: questionId, message, schema, expiresAt, url } = question
      const toolCallId = open.get(questionId.replace(/#\d+$/, ''))
      const kind = isApproval(question) ? 'confirmation' : 'input_required'
      return {
        id: interruptIdOf(taskId, questionId),
        reason: auth ?? (toolCallId === undefined ? kind : 'tool_call'),
        message,
        responseSchema: schema,
        ...(toolCallId !== undefined && { toolCallId }),
        ...(expiresAt !== undefined && { expiresAt }),
        ...(url !== undefined && { metadata: { a2a: { url } } }),
      }
    })
  }

  const end = (result: RunResult, before: RemoteTask | undefined): void => {
    const { task } = result
    const spent = spentSince(before, task)
    const end = { metadata: about(told, spent), ...usageOf(spent) }
    const finished = { type: 'RUN_FINISHED', threadId, runId, ...end } as const
    switch (result.type) {
      case 'message':
      case 'completed':
        write({ ...finished, outcome: { type: 'success' }, result: result.text })
        return
      case 'input-required':
      case 'auth-required': {
        const interrupts = interruptsOf(result.task, result.text, result.type === 'auth-required')
        write({ ...finished, outcome: { type: 'interrupt', interrupts } })
        return
      }
      case 'canceled':
      case 'aborted':
        write({ ...finished, outcome: { type: 'cancelled' } })
        return
      default: {
        const text = result.text || `The task has ${result.type}`
        // Failures on the way to the agent may name addresses that are not for front ends.
        const { message, code } =
          result.type === 'error'
            ? { ...describeError(result.error), code: result.error.code }
            : { message: text, code: result.type }
        write({ type: 'RUN_ERROR', message, code, ...end })
      }
    }
  }
  return { chunk, end }
}

type Reasoning =
  | { readonly type: 'REASONING_START' | 'REASONING_MESSAGE_END' | 'REASONING_END' }
  | { readonly type: 'REASONING_MESSAGE_START'; readonly role: 'reasoning' }
  | { readonly type: 'REASONING_MESSAGE_CONTENT'; readonly delta: string }

interface Spent {
  readonly units: Amounts
  readonly model?: string | undefined
}

/** What a later run of the thread, or its page, needs to know of the task. */
function about(told: Task | undefined, spent?: Spent): object {
  if (told === undefined) return {}
  const { taskId, contextId, state } = told
  return { a2a: compact({ taskId, contextId, state, spent: spent?.units }) }
}

function isOfConversation(message: unknown): boolean {
  const role: unknown = (message as { readonly role?: unknown }).role
  return role !== 'reasoning' && role !== 'activity'
}

/** What the task has spent in this run. */
function spentSince(before: RemoteTask | undefined, task: RemoteTask | undefined): Spent | undefined {
  const spending = spendingOf(task)
  if (spending === undefined) return undefined
  const earlier = spendingOf(before)?.total ?? {}
  const units = Object.entries(spending.total).map(([unit, amount]) => [
    unit,
    Math.max(0, amount - (earlier[unit] ?? 0)),
  ])
  const [model, ...others] = Object.keys(spending.models)
  return { units: Object.fromEntries(units) as Amounts, model: others.length === 0 ? model : undefined }
}

const TOKENS = [
  ...['inputTokens', 'outputTokens', 'totalTokens'],
  ...['reasoningTokens', 'cachedInputTokens', 'cacheWriteInputTokens'],
]

function usageOf(spent: Spent | undefined): { readonly usage?: readonly AgUiUsage[] } {
  const tokens = Object.entries(spent?.units ?? {}).filter(
    ([unit, amount]) => TOKENS.includes(unit) && Number.isInteger(amount),
  )
  if (tokens.length === 0) return {}
  const model = spent?.model === undefined ? {} : { model: spent.model }
  return { usage: [{ ...model, ...Object.fromEntries(tokens) }] }
}
