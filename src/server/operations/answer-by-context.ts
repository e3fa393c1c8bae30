/**
 * Answers of clients that name the conversation of a task, and not the task.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { OwnerFilter } from '../../core/queries.js'
import type { Requests } from '../../wire/dialect.js'
import { messageOf } from '../idempotency.js'
import type { Settings } from '../options.js'
import type { AcceptedMessage } from '../schedule/accepted-message.js'

type SendRequest = Requests['SendMessage']
type Accept = (request: SendRequest) => Promise<AcceptedMessage>

/** How many tasks of a context are searched for a message that was sent before, those that changed last. */
const SEARCHED_TASKS = 20

/** Whether the message may be an answer that names no task. */
export function mayAnswer(
  { answerByContext }: Pick<Settings, 'answerByContext'>,
  { message, chosenId }: SendRequest,
): boolean {
  return answerByContext && chosenId === undefined && message.taskId === undefined && !!message.contextId
}

/**
 * Accepts the message as the answer to the one task of its context and owner that waits for input. Without such a task, or
 * with several, the message begins a task.
 */
export async function acceptInContext(
  tasks: Settings['tasks'],
  request: SendRequest,
  owner: OwnerFilter,
  accept: Accept,
): Promise<AcceptedMessage> {
  const { message } = request
  const taskId = await answeredBy(tasks, message, owner)
  if (taskId === undefined) return await accept(request)
  try {
    return await accept({ ...request, message: { ...message, taskId } })
  } catch (error) {
    // Another message has answered it, or it has ended by itself, since it was found.
    if (!A2AError.is(error, 'TASK_TERMINAL') && !A2AError.is(error, 'TASK_NOT_FOUND')) throw error
    return await accept(request)
  }
}

/** The task that the message answers, or has answered when it was sent before. */
async function answeredBy(
  tasks: Settings['tasks'],
  { messageId, contextId }: SendRequest['message'],
  owner: OwnerFilter,
): Promise<string | undefined> {
  const inContext = { ...owner, contextId }
  // In this order: a message that another process stores in between is found in one of them.
  const waiting = await tasks.pageTasks({ ...inContext, state: 'input-required', pageSize: 2 })
  const { tasks: latest } = await tasks.pageTasks({ ...inContext, pageSize: SEARCHED_TASKS })
  const known = latest.find((task) => messageOf(task, messageId) !== undefined)
  if (known !== undefined) {
    const isFirst = known.messages.findIndex((each) => each.messageId === messageId) === 0
    return isFirst ? undefined : known.id
  }
  const [first, ...others] = waiting.tasks
  return others.length === 0 ? first?.id : undefined
}
