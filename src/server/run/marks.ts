/**
 * Marks in the metadata of messages that only the library writes: who may answer a question, and who has answered it.
 *
 * @module
 */
import type { DeepReadonly, Message } from '../../core/task.js'
import { answerersMark, QUESTIONS, senderOf, type Answerers } from '../../wire/question/questions.js'
import type { Say } from './run.js'

type SaidMessage = Exclude<Say, string>

/** The questions of the library itself. Other messages of an agent name no user, whatever they repeat of others. */
const PROMPTS = new WeakSet<object>()

/** The message as a question that these principals answer. */
export function askedOf(message: SaidMessage, answerers: Answerers): SaidMessage {
  const prompt = { ...message, metadata: { ...message.metadata, ...answerersMark(answerers) } }
  PROMPTS.add(prompt)
  return prompt
}

/** A message of an agent, without a mark that the library has not made. */
export function withoutAnswerers(message: SaidMessage): SaidMessage {
  return PROMPTS.has(message) ? message : withoutMark(message)
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
