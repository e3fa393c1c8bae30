/**
 * The check of an answer before its task changes, in any process.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import { jsonSize } from '../../core/json.js'
import { isInterrupted } from '../../core/lifecycle.js'
import type { DeepReadonly, Message, TaskSnapshot } from '../../core/task.js'
import { answersIn, openQuestionsOf } from '../../wire/question/questions.js'
import { violationOf } from '../../wire/question/violation.js'

/** The most characters of an unknown id in an error. */
const MAX_ID = 100

/**
 * Requires that a message which answers questions by their ids answers only open ones, with values that fit. What the task shows
 * decides this: when the message is then added to this very task, no other one has answered the question before.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path below `answers`; `LIMIT_EXCEEDED`.
 */
export function requireOpenAnswer(
  task: TaskSnapshot,
  message: DeepReadonly<Message>,
  { maxStepBytes }: { readonly maxStepBytes: number },
): void {
  const answers = answersIn(message)
  if (answers === undefined) return
  if (answers.size === 0) throw invalidParams('answers', 'must have a value for an open question')
  const open = new Map(isInterrupted(task.state) ? openQuestionsOf(task).map((each) => [each.id, each]) : [])
  for (const [id, value] of answers) {
    const question = open.get(id)
    const path = `answers.${question === undefined ? id.slice(0, MAX_ID) : id}`
    if (question === undefined)
      throw invalidParams(path, 'is not open: the question was answered, has expired, or was never asked')
    const actual = jsonSize(value)
    if (actual > maxStepBytes) {
      const text = `${path} (${actual} bytes) exceeds limits.maxStepBytes (${maxStepBytes})`
      throw new A2AError('LIMIT_EXCEEDED', text, { limit: 'limits.maxStepBytes', max: maxStepBytes, actual })
    }
    const found = violationOf(question.schema, value)
    if (found !== undefined) throw invalidParams(`${path}${found.path}`, found.reason)
  }
}
