/**
 * Ids of questions, and of the messages that answer them.
 *
 * @module
 */
import { fittingId } from '../server/idempotency.js'

/**
 * The id of a request to the client: any process can tell by it which question of which task the answer is for.
 *
 * @param times - How often this call has asked it before.
 */
export function questionId(taskId: string, key: string, times = 0): string {
  return `${taskId.length}${times === 0 ? '' : `.${times}`}/${taskId}/${key}`
}

/** A question of a task. */
export interface Question {
  readonly taskId: string
  readonly key: string
}

/** What {@link questionId} was made of. */
export function questionIn(id: string): Question | undefined {
  const [, length = '0', rest = ''] = /^(\d{1,4})(?:\.\d+)?\/(.+)$/s.exec(id) ?? []
  const taskId = rest.slice(0, Number(length))
  const key = rest.slice(taskId.length + 1)
  return taskId === '' || key === '' ? undefined : { taskId, key }
}

/**
 * The id of the message that answers a question.
 *
 * @param asked - The id of the message that asks.
 * @param answered - The ids of its questions that are answered by id.
 */
export function answerId(asked: string, answered: readonly string[] = []): string {
  return fittingId([asked, 'answer', ...answered.map(encodeURIComponent)].join('/'))
}
