/**
 * Questions that others than the owner of their task answer: who may, what they see, and how their messages are known.
 *
 * The question itself names them, so the rule holds wherever and whenever an answer arrives. A message of somebody else says who has
 * sent it, under a key that no client can write.
 *
 * @module
 */
import { A2AError, taskNotFound } from '../../core/errors.js'
import { isInterrupted } from '../../core/lifecycle.js'
import type { DeepReadonly, Message, TaskSnapshot } from '../../core/task.js'
import { describe } from '../../runtime/describe.js'
import { isRecord } from '../../runtime/unread.js'
import { MAX_PRINCIPALS, openQuestionsOf, QUESTIONS } from '../../wire/question/questions.js'
import { requirePrincipal } from '../caller.js'

/** @throws {TypeError} when they are no ids of principals. */
export function requireAnsweredBy(ids: unknown): readonly string[] {
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > MAX_PRINCIPALS)
    throw new TypeError(
      `"answeredBy" must be a list of 1 to ${MAX_PRINCIPALS} ids of principals, got ${describe(ids)}`,
    )
  return ids.map((id: string) => requirePrincipal({ id }).id)
}

/** The principals who may answer what the task asks; `undefined` where only the owner may. */
function answerersOf(task: TaskSnapshot): readonly string[] | undefined {
  if (!isInterrupted(task.state)) return undefined
  // Questions that are asked together have them together.
  return openQuestionsOf(task).find(({ answeredBy }) => answeredBy !== undefined)?.answeredBy
}

/**
 * The id of a principal among the owners of the tenant to which the task belongs; `undefined` for one of another tenant. The part
 * before the id is that of `ownedBy`.
 */
function idFor({ owner: ofTask = '' }: Pick<TaskSnapshot, 'owner'>, owner: string): string | undefined {
  const tenant = ofTask.slice(0, ofTask.lastIndexOf('\n') + 1)
  const id = owner.slice(tenant.length)
  return owner.startsWith(tenant) && !id.includes('\n') ? id : undefined
}

/** Who has sent the message to this task; `undefined` for its owner. */
function senderOf({ metadata }: Pick<DeepReadonly<Message>, 'metadata'>): string | undefined {
  const mark = metadata?.[QUESTIONS]
  return isRecord(mark) && typeof mark['answeredBy'] === 'string' ? mark['answeredBy'] : undefined
}

/** The message without what only a handler may say of its sender. */
export function withoutSender<M extends Pick<Message, 'metadata'>>(message: M): M {
  const { metadata } = message
  if (metadata === undefined || !Object.hasOwn(metadata, QUESTIONS)) return message
  return {
    ...message,
    metadata: Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== QUESTIONS)),
  }
}

/**
 * The message as that of somebody who may answer what the task asks, or has answered it with this message before; `undefined` if
 * its sender is neither.
 */
export function asAnswer<M extends Pick<Message, 'messageId' | 'metadata'>>(
  task: TaskSnapshot,
  owner: string,
  message: M,
): M | undefined {
  const sender = idFor(task, owner)
  if (sender === undefined) return undefined
  const isSent = task.messages.some(
    (each) => each.messageId === message.messageId && senderOf(each) === sender,
  )
  if (!isSent && answerersOf(task)?.includes(sender) !== true) return undefined
  return { ...message, metadata: { ...message.metadata, [QUESTIONS]: { answeredBy: sender } } }
}

/** Whether the sender of this message may answer a question. */
export function isAnsweredBy(
  answeredBy: readonly string[] | undefined,
  task: Pick<TaskSnapshot, 'owner'> | undefined,
  message: DeepReadonly<Message>,
): boolean {
  if (answeredBy === undefined) return senderOf(message) === undefined
  const { owner } = task ?? {}
  const sender = senderOf(message) ?? (owner === undefined ? undefined : idFor({ owner }, owner))
  return sender !== undefined && answeredBy.includes(sender)
}

/**
 * Requires that the sender of a message may answer what the task asks now.
 *
 * @throws {A2AError} `PERMISSION_DENIED` for the owner of the task; `TASK_NOT_FOUND` for everybody else.
 */
export function requireMayAnswer(task: TaskSnapshot, message: DeepReadonly<Message>): void {
  if (isAnsweredBy(answerersOf(task), task, message)) return
  if (senderOf(message) !== undefined) throw taskNotFound(task.id)
  throw new A2AError('PERMISSION_DENIED', 'This question waits for the answer of another user', {})
}

/** What somebody who may answer the open question of the task sees of it; `undefined` for all others. */
export function questionFor(task: TaskSnapshot, owner: string): TaskSnapshot | undefined {
  const sender = idFor(task, owner)
  if (sender === undefined || answerersOf(task)?.includes(sender) !== true) return undefined
  const { id, contextId, skill, state, message, generation, createdAt, updatedAt } = task
  return {
    ...{ id, contextId, skill, state, generation, createdAt, updatedAt },
    ...(message !== undefined && { message }),
    ...{ input: null, output: null, messages: [], artifacts: [], metadata: {}, history: [] },
  }
}
