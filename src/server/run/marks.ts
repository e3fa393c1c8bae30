/**
 * Marks in the metadata of messages that only the library writes: who may answer a question, and who has answered it.
 *
 * @module
 */
import type { DeepReadonly, Message } from '../../core/task.js'
import { isRecord } from '../../runtime/unread.js'
import { QUESTIONS } from '../../wire/question/questions.js'
import type { Say } from './run.js'

type SaidMessage = Exclude<Say, string>

/** The questions of the library itself. Other messages of an agent name no user, whatever they repeat of others. */
const PROMPTS = new WeakSet<object>()

/** The message as a question that these principals answer. */
export function askedOf(message: SaidMessage, answeredBy: readonly string[]): SaidMessage {
  const prompt = {
    ...message,
    metadata: { ...message.metadata, [QUESTIONS]: { answeredBy: [...answeredBy] } },
  }
  PROMPTS.add(prompt)
  return prompt
}

/** A message of an agent, without a mark that the library has not made. */
export function withoutAnswerers(message: SaidMessage): SaidMessage {
  return PROMPTS.has(message) ? message : withoutMark(message)
}

/** Who has sent the message to this task; `undefined` for its owner. */
export function senderOf({ metadata }: Pick<DeepReadonly<Message>, 'metadata'>): string | undefined {
  const mark = metadata?.[QUESTIONS]
  return isRecord(mark) && typeof mark['answeredBy'] === 'string' ? mark['answeredBy'] : undefined
}

/** Whether another user than the owner of its task has sent the message: it answers a question, and asks for nothing. */
export function isOfOther(message: Pick<DeepReadonly<Message>, 'metadata'>): boolean {
  return senderOf(message) !== undefined
}

/** The message without what only the library may say in it. */
export function withoutMark<M extends Pick<SaidMessage, 'metadata'>>(message: M): M {
  const { metadata } = message
  if (metadata === undefined || !Object.hasOwn(metadata, QUESTIONS)) return message
  return {
    ...message,
    metadata: Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== QUESTIONS)),
  }
}
