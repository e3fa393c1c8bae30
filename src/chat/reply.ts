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
  /** The step of the message that shows it. */
  readonly step: number
}

/** A question that is an approval of a call of a tool. */
interface Asked {
  readonly question: OpenQuestion
  readonly approvalId: string
  readonly toolCallId: string
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
  /** Other messages of the assistant about the same task. The calls of tools that are over in them are not shown again. */
  readonly earlier?: readonly ChatMessage[]
  /** Whether approvals have a form of their own. Otherwise they are questions as all others. Default is that they have. */
  readonly hasApprovals?: boolean
}

const TOOL = { providerExecuted: true, dynamic: true } as const

export function writeReply(options: ReplyOptions): Reply {
  const { write, id, continued, earlier = [], hasApprovals = true } = options
  const parts = partsWriter((chunk) => {
    begin()
    write(chunk)
  })
  const calls = new Map<string, ShownCall>()
  /** The calls of tools by the ids of the questions about them. */
  const approvals = new Map<string, string>()
  const closed: { readonly toolCallId: string; readonly isApproved: boolean }[] = []
  for (const { toolCallId, name, isOver, isAsked } of callsOf(earlier)) {
    if (isOver) calls.set(toolCallId, { name, isOver, isAsked, isEarlier: true, step: 0 })
  }
  for (const { toolCallId, name, isOver, isAsked, state, approval } of callsOf(
    continued ? [continued] : [],
  )) {
    const { id: approvalId, approved } = approval
    if (typeof approvalId === 'string') approvals.set(approvalId, toolCallId)
    // It is about no call of a tool, and over with the answer.
    const isClosed = state === 'approval-responded' && approvalId === toolCallId
    if (isClosed) closed.push({ toolCallId, isApproved: approved === true })
    calls.set(toolCallId, { name, isOver: isOver || isClosed, isAsked, isEarlier: false, step: 0 })
  }
  /** By questions: the messages that have asked each. */
  const askings = new Map<string, readonly string[]>()
  const sources = new Set<string>()
  let hasBegun = false
  let step = 1
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
    const isNew = known === undefined || known.isOver || known.isEarlier
    if (isNew) {
      parts.put({ type: 'tool-input-available', toolCallId, toolName: name, input: input ?? null, ...TOOL })
    }
    const isAsked = known?.isAsked === true
    calls.set(toolCallId, {
      name,
      isOver,
      isAsked,
      isEarlier: parts.isEarlier,
      step: isNew ? step : known.step,
    })
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

  /** Where words have answered an approval, it is asked again: AI SDK takes the first of several approvals with one id. */
  const approvalIdOf = (id: string, asking: Message | undefined): string => {
    const at = askings.get(id)?.indexOf(asking?.messageId ?? '') ?? 0
    return at > 0 ? `${id}/${at + 1}` : id
  }

  const beginStep = (toolCallIds: readonly string[]): void => {
    step += 1
    parts.beginStep(toolCallIds)
    for (const id of toolCallIds) {
      const call = calls.get(id)
      if (call !== undefined) calls.set(id, { ...call, step })
    }
  }

  /** The call of a tool that a question is about: the one that it names, or the only one of the tool with its name. */
  const callAbout = ({ id, toolCallId }: OpenQuestion): string | undefined => {
    const isIn = ([, call]: readonly [string, ShownCall]): boolean =>
      call.step === step && !call.isOver && !call.isAsked && !call.isEarlier
    const open = [...calls].filter(isIn)
    const found = open.filter(([key, { name }]) =>
      toolCallId === undefined ? name === nameOf(id) : key === toolCallId,
    )
    return found.length === 1 ? found[0]?.[0] : undefined
  }

  /** Asks for approvals of calls of tools. A question that is about no call of this step is one itself. */
  const ask = (questions: readonly OpenQuestion[], asking: Message | undefined): readonly Asked[] => {
    const asked: Asked[] = []
    for (const question of questions) {
      const approvalId = approvalIdOf(question.id, asking)
      const about = approvals.get(approvalId) ?? callAbout(question)
      const isFree = about !== undefined && asked.every(({ toolCallId }) => toolCallId !== about)
      asked.push({ question, approvalId, toolCallId: isFree ? about : approvalId })
    }
    const ids = asked.map(({ toolCallId }) => toolCallId)
    // AI SDK sends the answers when each call of the last step has an answer or is over.
    const isOthers = ([id, call]: readonly [string, ShownCall]): boolean =>
      call.step === step && !call.isOver && !call.isEarlier && !ids.includes(id)
    if ([...calls].some(isOthers)) beginStep(ids)
    for (const { question, approvalId, toolCallId } of asked) {
      const { id, message } = question
      const name = nameOf(id)
      if (toolCallId === approvalId) showCall({ id: approvalId, name, state: 'called', input: { message } })
      const shown = calls.get(toolCallId)
      calls.set(toolCallId, {
        name,
        isOver: false,
        isAsked: true,
        isEarlier: false,
        step: shown?.step ?? step,
      })
      parts.put({ type: 'tool-approval-request', approvalId, toolCallId, reason: message })
    }
    return asked
  }

  const answered: Reply['answered'] = (message, answers) => {
    const isAnswered = (question: OpenQuestion): boolean => hasOwnForm(question) && answers.has(question.id)
    const asked = ask(questionsIn(message).filter(isAnswered), message)
    for (const { question, approvalId, toolCallId } of asked) {
      const approved = answers.get(question.id) === 'approve'
      parts.put({ type: 'tool-approval-response', approvalId, approved })
      if (toolCallId !== approvalId) continue
      calls.set(toolCallId, { name: approvalId, isOver: true, isAsked: true, isEarlier: false, step })
      parts.put(outcomeOfApproval(toolCallId, approved))
    }
    // As where the answer continues the message.
    if (asked.length > 0) beginStep([])
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
          if (!hasOwnForm(question)) parts.put({ type: 'data-question', id: question.id, data: question })
        }
        ask(questions.filter(hasOwnForm), result.task.message)
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

/** The name of the tool or of the question, without what makes the id unique. */
function nameOf(id: string): string {
  return id.split('#', 1)[0] ?? id
}

interface CallInMessage extends Pick<ShownCall, 'name' | 'isOver' | 'isAsked'> {
  readonly toolCallId: string
  readonly state: unknown
  readonly approval: Unread
}

/** The calls of tools that these messages show. */
function callsOf(messages: readonly ChatMessage[]): CallInMessage[] {
  return messages.flatMap(({ parts }) =>
    parts.flatMap((part): CallInMessage[] => {
      const { toolCallId, toolName: name, state, preliminary, approval: given }: Unread = { ...part }
      if (typeof toolCallId !== 'string' || typeof name !== 'string') return []
      const approval = isRecord(given) ? given : {}
      const isOver = typeof state === 'string' && state.startsWith('output-') && preliminary !== true
      return [{ toolCallId, name, state, isOver, approval, isAsked: approval['id'] !== undefined }]
    }),
  )
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
