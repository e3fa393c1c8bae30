/**
 * Questions that others than the owner of their task answer: who may, what they see, and how their messages are known.
 *
 * The message that asks names them, so the rule holds wherever and whenever an answer arrives. A message of another user says who
 * has sent it. Both marks are in the metadata, under a key that neither clients nor the code of agents can write.
 *
 * @module
 */
import { A2AError, invalidParams, taskNotFound } from '../../core/errors.js'
import { isInterrupted } from '../../core/lifecycle.js'
import type { DeepReadonly, Message, TaskSnapshot } from '../../core/task.js'
import { describe } from '../../runtime/describe.js'
import { formOf } from '../../wire/question/form.js'
import {
  answerersIn,
  answersIn,
  MAX_PRINCIPALS,
  openQuestionsOf,
  QUESTIONS,
  senderOf,
  type Answerers,
} from '../../wire/question/questions.js'
import { requirePrincipal } from '../caller.js'
import { isOfOther } from './marks.js'
import { plainAnswers, wanted } from './typed-answers.js'

/** @throws {TypeError} when they are no ids of principals. */
export function requireAnsweredBy(ids: unknown): readonly string[] {
  if (!Array.isArray(ids) || ids.length === 0 || ids.length > MAX_PRINCIPALS)
    throw new TypeError(
      `"answeredBy" must be a list of 1 to ${MAX_PRINCIPALS} ids of principals, got ${describe(ids)}`,
    )
  return ids.map((id: string) => requirePrincipal({ id }).id)
}

/** The principals who may answer what the task asks; `undefined` where only the owner may. */
function answerersOf({ state, message }: TaskSnapshot): readonly string[] | undefined {
  return isInterrupted(state) ? answerersIn(message)?.ids : undefined
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

/**
 * The message as that of a user who may answer what the task asks, or has answered it with this message before; `undefined` if
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

/** These principals as those who answer a question of the task. */
export function answerersFor(ids: readonly string[], task: OwnedTask | null): Answerers {
  return { ids, hasOwner: ids.some((id) => id === ownerOf(task)) }
}

/** Whether the sender of this message may answer a question. */
export function isAnsweredBy(
  answeredBy: readonly string[] | undefined,
  task: OwnedTask | null,
  message: DeepReadonly<Message>,
): boolean {
  if (answeredBy === undefined) return senderOf(message) === undefined
  const sender = senderOf(message) ?? ownerOf(task)
  return sender !== undefined && answeredBy.includes(sender)
}

type OwnedTask = Pick<TaskSnapshot, 'owner'>

/** The id of the principal to whom the task belongs. */
function ownerOf(task: OwnedTask | null): string | undefined {
  const owner = task?.owner
  return owner === undefined ? undefined : idFor({ owner }, owner)
}

/**
 * Requires that the sender of a message may answer what the task asks now. That of another user has to be an answer as far as
 * can be seen: he does not read that he is asked again.
 *
 * @param isAwaited - Whether code waits for the answer. Otherwise the message would ask for new work.
 * @throws {A2AError} `PERMISSION_DENIED` for the owner of the task; `TASK_NOT_FOUND` for everybody else; `INVALID_PARAMS`.
 */
export function requireMayAnswer(
  task: TaskSnapshot,
  message: DeepReadonly<Message>,
  isAwaited: boolean,
): void {
  const isOther = isOfOther(message)
  if (isAnsweredBy(answerersOf(task), task, message) && (isAwaited || !isOther)) {
    if (isOther && answersIn(message) === undefined) requirePlainAnswer(task, message)
    return
  }
  if (isOther) throw taskNotFound(task.id)
  throw new A2AError('PERMISSION_DENIED', 'This question waits for the answer of another user', {})
}

function requirePlainAnswer(task: TaskSnapshot, message: DeepReadonly<Message>): void {
  const items = openQuestionsOf(task).map(({ id, schema, url }) => ({
    ...{ id, key: id.slice(0, id.lastIndexOf('#')), form: formOf(schema) },
    ...(url !== undefined && { url }),
  }))
  if (plainAnswers(items, message).size === 0) throw invalidParams('message', wanted(items))
}

/** What a user who may answer the open question of the task sees of it; `undefined` for all others. */
export function questionFor(task: TaskSnapshot, owner: string): TaskSnapshot | undefined {
  const sender = idFor(task, owner)
  if (sender === undefined || answerersOf(task)?.includes(sender) !== true) return undefined
  const { id, contextId, skill, state, message, generation, createdAt, updatedAt } = task
  return {
    ...{ id, contextId, skill, state, generation, createdAt, updatedAt },
    ...(typeof message === 'object' && { message: { ...message, metadata: {} } }),
    ...{ input: null, output: null, messages: [], artifacts: [], metadata: {}, history: [] },
  }
}
