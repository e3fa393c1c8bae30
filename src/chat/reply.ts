/**
 * The events of a task as one message of the assistant.
 *
 * @module
 */
import type { Message } from '../core/task.js'
import type { TaskState } from '../core/lifecycle.js'
import type { RunResult } from '../client/run/run-types.js'
import { isLink } from '../runtime/link.js'
import { isRecord, type Unread } from '../runtime/unread.js'
import type { RemoteEvent, RemoteTask } from '../wire/client/dialect.js'
import {
  awaitedOthersOf,
  openQuestionsOf,
  questionsIn,
  type OpenQuestion,
} from '../wire/question/questions.js'
import { textOf } from '../wire/text.js'
import { toolCallsIn, type ToolCall } from '../wire/tool-calls.js'
import { partsWriter } from './parts.js'
import type { ChatChunk, ChatMessage, ChatMetadata } from './types.js'

type Artifact = RemoteTask['artifacts'][number]

/** A call of a tool, as far as the message shows it. */
interface ShownCall {
  readonly name: string
  readonly isOver: boolean
  readonly isAsked: boolean
  /** An earlier message of the chat shows it, and this one does not. */
  readonly isEarlier: boolean
}

export interface Reply {
  /** What this event tells is shown by an earlier message of the chat. */
  readonly skip: (event: RemoteEvent) => void
  readonly event: (event: RemoteEvent) => void
  /** The questions of this message have been asked; the approvals among them have answers, by the ids of the questions. */
  readonly answered: (message: Message | undefined, answers: ReadonlyMap<string, unknown>) => void
  /** Call it last. */
  readonly end: (result: RunResult) => void
}

/** Where a reply goes. */
interface ReplyOptions {
  readonly write: (chunk: ChatChunk) => void
  /** The id of the message. Asked for when it begins. */
  readonly id: () => string
  /** The message that the reply continues, with the approvals that it has answered. */
  readonly continued?: ChatMessage | undefined
  /** Whether approvals have a form of their own. Otherwise they are questions as all others. Default is that they have. */
  readonly hasApprovals?: boolean
}

const TOOL = { providerExecuted: true, dynamic: true } as const

export function writeReply({ write, id, continued, hasApprovals = true }: ReplyOptions): Reply {
  const parts = partsWriter((chunk) => {
    begin()
    write(chunk)
  })
  const calls = new Map<string, ShownCall>()
  /** The calls of tools by the ids of the questions about them. */
  const approvals = new Map<string, string>()
  const closed: { readonly toolCallId: string; readonly isApproved: boolean }[] = []
  for (const part of continued?.parts ?? []) {
    const { toolCallId, toolName: name, state, approval }: Unread = { ...part }
    if (typeof toolCallId !== 'string' || typeof name !== 'string') continue
    let isOver = typeof state === 'string' && state.startsWith('output-')
    const { id: approvalId, approved } = isRecord(approval) ? approval : {}
    if (typeof approvalId === 'string') approvals.set(approvalId, toolCallId)
    if (state === 'approval-responded' && approvalId === toolCallId) {
      // It is about no call of a tool, and over with the answer.
      closed.push({ toolCallId, isApproved: approved === true })
      isOver = true
    }
    calls.set(toolCallId, { name, isOver, isAsked: approvalId !== undefined, isEarlier: false })
  }
  /** By questions: the messages that have asked each. */
  const askings = new Map<string, readonly string[]>()
  const sources = new Set<string>()
  let hasBegun = false
  let hasReports = false
  let told: ChatMetadata['a2a'] | undefined
  let lastReasoning: string | undefined

  const hasOwnForm = (question: OpenQuestion): boolean => hasApprovals && isApproval(question)

  const begin = (): void => {
    if (hasBegun) return
    hasBegun = true
    write({ type: 'start', messageId: id(), ...(told && { messageMetadata: { a2a: told } }) })
    // What is replaced later is removed since here.
    write({ type: 'start-step' })
    for (const { toolCallId, isApproved } of closed) parts.put(outcomeOfApproval(toolCallId, isApproved))
  }

  const tell = (
    state: TaskState,
    about: { taskId?: string; contextId?: string },
    text: string,
    waitsFor: readonly string[] = [],
  ): void => {
    const { taskId, contextId } = about
    const next = { state, text, waitsFor, ...(taskId && { taskId }), ...(contextId && { contextId }) }
    if (JSON.stringify(next) === JSON.stringify(told)) return
    told = next
    if (hasBegun) write({ type: 'message-metadata', messageMetadata: { a2a: next } })
    else begin()
  }

  const showCall = (call: ToolCall): void => {
    const { id: toolCallId, name, state, input } = call
    const known = calls.get(toolCallId)
    const isOver = state !== 'called' && state !== 'progress'
    // An earlier message shows those that are over. Another turn may use the id again.
    if (parts.isEarlier ? !isOver : known?.isOver === true && state !== 'called') return
    if (known === undefined || known.isOver || known.isEarlier) {
      parts.put({ type: 'tool-input-available', toolCallId, toolName: name, input: input ?? null, ...TOOL })
    }
    const isAsked = known?.isAsked === true
    calls.set(toolCallId, { name, isOver, isAsked, isEarlier: parts.isEarlier })
    parts.put(...outcomeOf(call, isAsked))
  }

  const note = (message: Message): void => {
    for (const { id } of questionsIn(message)) {
      const known = askings.get(id) ?? []
      if (!known.includes(message.messageId)) askings.set(id, [...known, message.messageId])
    }
  }

  const showMessage = (message: Message): void => {
    note(message)
    toolCallsIn(message).forEach(showCall)
    const text = textOf(message)
    if (message.metadata?.['reasoning'] === true && message.messageId !== lastReasoning) {
      lastReasoning = message.messageId
      const part = { id: `reasoning-${message.messageId}` }
      parts.put(
        { type: 'reasoning-start', ...part },
        { type: 'reasoning-delta', ...part, delta: text },
        { type: 'reasoning-end', ...part },
      )
    }
    if (isReport(message)) {
      hasReports = true
      return
    }
    parts.show(
      message.messageId,
      message.parts.filter((part) => part.text === undefined),
    )
  }

  const showArtifact = (artifact: Artifact, appends: boolean): void => {
    const { artifactId, parts: shown, metadata } = artifact
    toolCallsIn({ metadata }).forEach(showCall)
    if (appends) parts.append(artifactId, shown)
    else parts.show(artifactId, shown)
    const given: unknown = metadata?.['sources']
    for (const source of Array.isArray(given) ? (given as readonly unknown[]) : [])
      if (isRecord(source)) showSource(source)
  }

  const showSource = ({ id, url, title, filename, mediaType }: Unread): void => {
    const sourceId = String(id)
    if (sources.has(sourceId)) return
    sources.add(sourceId)
    const named = typeof title === 'string' ? { title } : {}
    if (isLink(url)) parts.put({ type: 'source-url', sourceId, url, ...named })
    else if (typeof mediaType === 'string') {
      const file = typeof filename === 'string' ? { filename } : {}
      parts.put({ type: 'source-document', sourceId, mediaType, title: '', ...named, ...file })
    }
  }

  const event = (event: RemoteEvent): void => {
    if (event.type === 'message') return
    if (event.type === 'artifact') {
      showArtifact(event.artifact, event.append)
      return
    }
    const given = event.type === 'task' ? event.task : event
    const { message } = given
    const others = awaitedOthersOf(given)
    // For a user who is not asked, the agent works.
    const state = others ? 'working' : given.state
    if (!parts.isEarlier) {
      const about = event.type === 'task' ? { ...event.task, taskId: event.task.id } : event
      const before = told?.state === state && told.waitsFor.length === 0 ? told.text : ''
      const text = others && message ? textOf(message) : textIn(message, before)
      tell(state, about, text, others)
    }
    if (event.type === 'task') {
      event.task.messages.forEach(note)
      for (const each of event.task.artifacts) showArtifact(each, false)
    }
    if (message !== undefined) showMessage(message)
  }

  const skip = (given: RemoteEvent): void => {
    parts.isEarlier = true
    event(given)
    parts.isEarlier = false
  }

  /** Asks for an approval of a call of a tool, whose id it returns. */
  const ask = ({ id, message, toolCallId: about = '' }: OpenQuestion, approvalId: string): string => {
    const [name = id] = id.split('#', 1)
    const call = calls.get(about)
    const isOpen = call?.isOver === false && !call.isEarlier
    const toolCallId = approvals.get(approvalId) ?? (isOpen ? about : approvalId)
    // A question that is about no call of a tool is one itself.
    if (toolCallId === approvalId) showCall({ id: approvalId, name, state: 'called', input: { message } })
    calls.set(toolCallId, { name, isOver: false, isAsked: true, isEarlier: false })
    parts.put({ type: 'tool-approval-request', approvalId, toolCallId, reason: message })
    return toolCallId
  }

  /** Where words have answered an approval, it is asked again: AI SDK takes the first of several approvals with one id. */
  const approvalIdOf = (id: string, asking: Message | undefined): string => {
    const at = askings.get(id)?.indexOf(asking?.messageId ?? '') ?? 0
    return at > 0 ? `${id}/${at + 1}` : id
  }

  const answered: Reply['answered'] = (message, answers) => {
    for (const question of questionsIn(message).filter(hasOwnForm)) {
      const { id } = question
      if (!answers.has(id)) continue
      const approved = answers.get(id) === 'approve'
      const approvalId = approvalIdOf(id, message)
      const toolCallId = ask(question, approvalId)
      parts.put({ type: 'tool-approval-response', approvalId, approved })
      if (toolCallId !== approvalId) continue
      calls.set(toolCallId, { name: approvalId, isOver: true, isAsked: true, isEarlier: false })
      parts.put(outcomeOfApproval(toolCallId, approved))
    }
  }

  const finish = (result: RunResult): void => {
    switch (result.type) {
      case 'message':
        tell('completed', result.message, '')
        parts.show(result.message.messageId, result.message.parts)
        return
      case 'completed': {
        const status = result.task.message
        // What the agent has said on its way is its answer if there is no other.
        const text = status ? textIn(status, '') : parts.hasText(true) || hasReports ? '' : result.text
        if (!parts.hasText(false)) parts.append('/status', [{ text }])
        return
      }
      case 'input-required':
      case 'auth-required': {
        const questions = openQuestionsOf(result.task)
        for (const question of questions) {
          if (hasOwnForm(question)) ask(question, approvalIdOf(question.id, result.task.message))
          else parts.put({ type: 'data-question', id: question.id, data: question })
        }
        if (questions.length === 0) parts.append('/question', [{ text: result.text }])
        return
      }
      case 'canceled':
      case 'aborted':
        write({ type: 'abort', reason: result.text })
        return
      default:
        write({ type: 'error', errorText: result.text || `The task has ${result.type}` })
    }
  }

  const end = (result: RunResult): void => {
    finish(result)
    parts.close()
    if (!hasBegun) return
    write({ type: 'finish-step' })
    write({ type: 'finish' })
  }
  return { skip, event, answered, end }
}

/** What the state of a call says. `isAsked`: the user was asked for it. */
function outcomeOf({ id: toolCallId, state, output = null, error }: ToolCall, isAsked: boolean): ChatChunk[] {
  if (state === 'called') return []
  if (state === 'done') return [{ type: 'tool-output-available', toolCallId, output }]
  if (state === 'progress') return [{ type: 'tool-output-available', toolCallId, output, preliminary: true }]
  if (state === 'failed') return [{ type: 'tool-output-error', toolCallId, errorText: error ?? 'It failed' }]
  const denied = { type: 'tool-output-denied', toolCallId } as const
  if (isAsked) return [denied]
  // AI SDK knows no call that was denied and not asked for.
  const approvalId = `rejected-${toolCallId}`
  return [
    { type: 'tool-approval-request', approvalId, toolCallId, isAutomatic: true },
    { type: 'tool-approval-response', approvalId, approved: false },
    denied,
  ]
}

/** The end of a call that is nothing but the approval itself. */
function outcomeOfApproval(toolCallId: string, isApproved: boolean): ChatChunk {
  if (!isApproved) return { type: 'tool-output-denied', toolCallId }
  return { type: 'tool-output-available', toolCallId, output: 'approve' }
}

/** What a status message says. A report says nothing, so that what was said before it holds. */
function textIn(message: Message | undefined, before: string): string {
  return message === undefined || isReport(message) ? before : textOf(message)
}

/** A status message that has a form of its own in the chat. */
function isReport(message: Message): boolean {
  return (
    message.metadata?.['reasoning'] === true ||
    toolCallsIn(message).length > 0 ||
    questionsIn(message).length > 0
  )
}

/** Whether an approval is about the question with this id, in one of its askings. */
export function isApprovalOf(approvalId: unknown, id: string): boolean {
  if (typeof approvalId !== 'string' || !approvalId.startsWith(id)) return false
  return approvalId === id || /^\/\d+$/.test(approvalId.slice(id.length))
}

/** Whether its answers are yes and no, as those of an approval of AI SDK. */
export function isApproval({ schema }: OpenQuestion): boolean {
  return JSON.stringify(schema['enum']) === '["approve","reject"]'
}
