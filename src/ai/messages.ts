/**
 * The conversation as messages for a model.
 *
 * @module
 */
import type { JsonObject, ReadonlyJson } from '../core/json-types.js'
import type { DeepReadonly, Part } from '../core/task.js'
import { isRecord } from '../runtime/unread.js'
import type { ConversationPage } from '../server/run/run.js'
import { answersIn, questionsIn } from '../wire/question/questions.js'
import { toolCallsIn, type ToolCall } from '../wire/tool-calls.js'
import { answerIdOf, type AgentRun } from './turn.js'
import type { ContentPart, JsonLike, ModelMessageLike, ToolOutput } from './types.js'

type AnyPart = DeepReadonly<Part>
type Entry = ConversationPage['entries'][number]

/** A message, or an artifact with the role `'agent'`: what `run.messages` and `run.conversation()` have. */
export interface ConversationPart {
  readonly role: 'user' | 'agent'
  readonly parts: readonly AnyPart[]
  readonly metadata?: object | undefined
}

/** Options of `messages`. */
export interface MessagesOptions {
  /**
   * How many messages and artifacts of the earlier tasks of the conversation come before those of this task, without the reasons
   * of those that have failed. Default is `0`: the model does not know what was said in earlier tasks.
   */
  readonly earlier?: number | undefined
}

/** The messages of the task, with the answers of its earlier turns, and what came before the task. */
export async function readMessages(
  run: AgentRun,
  { earlier = 0 }: MessagesOptions,
): Promise<ModelMessageLike[]> {
  const before = earlier === 0 ? [] : (await run.conversation({ limit: earlier })).entries.filter(isSaid)
  const { messages, message } = run
  // Reading the task creates it.
  const artifacts = messages.length > 1 ? run.task.artifacts : []
  const own = messages.flatMap((each): ConversationPart[] => {
    const answer = artifacts.find(({ artifactId }) => artifactId === answerIdOf(each.messageId))
    const isPast = each.messageId !== message.messageId && answer?.parts !== undefined
    return isPast ? [each, { role: 'agent', parts: answer.parts, metadata: answer.metadata }] : [each]
  })
  return toModelMessages([...before, ...own])
}

/** All but the reason why a task has failed: a sentence of this library or of the code, which a model would take for its own. */
function isSaid(entry: Entry, at: number, all: readonly Entry[]): boolean {
  const next = all[at + 1]
  const isLast = next?.taskId !== entry.taskId || next.type === 'artifact'
  return !(isLast && entry.type === 'message' && entry.role === 'agent' && entry.state === 'failed')
}

/**
 * Turns messages of a task, and artifacts as messages of the agent, into messages for a model of AI SDK. Files become file parts,
 * data become texts with JSON. The calls of tools that led to an artifact come before it, as they are in its metadata.
 *
 * @example
 * const { text } = await generateText({ model, messages: toModelMessages(run.messages) })
 */
export function toModelMessages(conversation: readonly ConversationPart[]): ModelMessageLike[] {
  return conversation.flatMap((each): ModelMessageLike[] => {
    const content = each.parts.flatMap(toContent)
    if (each.role === 'user') return content.length > 0 ? [{ role: 'user', content }] : []
    const calls = toolCallsIn({ metadata: each.metadata })
    return [
      ...(calls.length > 0 ? toMessages(calls) : []),
      ...(content.length > 0 ? [{ role: 'assistant' as const, content }] : []),
    ]
  })
}

function toMessages(calls: readonly ToolCall[]): ModelMessageLike[] {
  return [
    {
      role: 'assistant',
      content: calls.map(({ id, name, input }) => ({
        ...{ type: 'tool-call' as const, toolCallId: id, toolName: name },
        input: input ?? {},
      })),
    },
    {
      role: 'tool',
      content: calls.map((call) => ({
        ...{ type: 'tool-result' as const, toolCallId: call.id, toolName: call.name },
        output: outputOf(call),
      })),
    },
  ]
}

function outputOf({ state, output, error }: ToolCall): ToolOutput {
  if (state === 'rejected') return { type: 'execution-denied' }
  if (state === 'failed') return { type: 'error-text', value: error ?? 'It failed' }
  if (typeof output === 'string') return { type: 'text', value: output }
  // Only the type of AI SDK says that it may be changed.
  return { type: 'json', value: (output ?? 'The output is too large to be kept') as JsonLike }
}

function toContent(part: AnyPart): ContentPart[] {
  const { text, raw, url, data, filename } = part
  if (text !== undefined) return text === '' ? [] : [{ type: 'text', text }]
  const mediaType = part.mediaType ?? 'application/octet-stream'
  const named = filename === undefined ? {} : { filename }
  if (raw !== undefined) return [{ type: 'file', data: raw, mediaType, ...named }]
  if (url !== undefined)
    return URL.canParse(url) ? [{ type: 'file', data: new URL(url), mediaType, ...named }] : []
  const said = dataOf(part, data)
  return said === undefined ? [] : [{ type: 'text', text: JSON.stringify(said) }]
}

/** Answers by id are said by their values. The sentence of a question has its own part, and so have calls of tools. */
function dataOf(part: AnyPart, data: ReadonlyJson | undefined): ReadonlyJson | JsonObject | undefined {
  const answers = answersIn({ parts: [part] })
  if (answers !== undefined) return Object.fromEntries(answers)
  const isKnown =
    isRecord(data) && (questionsIn({ parts: [part] }).length > 0 || toolCallsIn({ parts: [part] }).length > 0)
  return isKnown ? undefined : data
}
