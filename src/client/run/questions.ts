/**
 * Questions of an agent that have a schema, and their answers.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../core/errors.js'
import type { ReadonlyJson } from '../../core/json-types.js'
import type { RemoteTask } from '../../wire/client/dialect.js'
import { formOf, type Form, type FormOption } from '../../wire/question/form.js'
import { answerPart, openQuestionsOf, QUESTIONS, type OpenQuestion } from '../../wire/question/questions.js'
import { violationOf } from '../../wire/question/violation.js'
import type { MessageContent } from '../message.js'

/** A question of an agent, with what its schema says in short. */
export interface AgentQuestion extends OpenQuestion {
  /** The schema as a form. What a form cannot show is a field for JSON. */
  readonly form: Form
  /** The values that the question offers. Absent if it is open. */
  readonly options?: readonly FormOption[]
  /** What was wrong with the last answer. Absent at first. */
  readonly problem?: string
}

/**
 * Values by the ids of questions, or by the names that agents of this library begin ids with: `book` for `book#1`. Questions
 * without a value stay open.
 */
export type QuestionAnswers = Readonly<Record<string, unknown>>

/** So many answers in a row that do not fit end the run. */
const MAX_REFUSALS = 10

/** The questions of one run, and how often its answers were refused. */
export class AskedQuestions {
  #problems = new Map<string, string>()
  #refusals = 0
  /** The ids of the questions that the last message has answered. */
  #sent: readonly string[] = []

  /** The questions that the task asks. */
  of(task: RemoteTask): readonly AgentQuestion[] {
    return openQuestionsOf(task).map((question) => {
      const form = formOf(question.schema)
      const problem = this.#problems.get(question.id)
      return {
        ...question,
        form,
        ...(form.type === 'choice' && { options: form.options }),
        ...(problem !== undefined && { problem }),
      }
    })
  }

  /**
   * The message with the answers; `undefined` if one of them certainly does not fit, so that the caller asks again.
   *
   * @throws {A2AError} `INVALID_PARAMS` for a value that is not JSON, or of no question, and after ten answers that do not fit.
   */
  answer(questions: readonly AgentQuestion[], answers: QuestionAnswers): MessageContent | undefined {
    const values: Record<string, ReadonlyJson> = {}
    this.#problems = new Map()
    for (const [name, value] of Object.entries(answers)) {
      if (value === undefined) continue
      const named = questions.filter(({ id }) => id === name || id.startsWith(`${name}#`))
      const question = questions.find(({ id }) => id === name) ?? named[0]
      if (question === undefined || (question.id !== name && named.length > 1)) {
        const open = questions.map((each) => each.id).join(', ')
        throw invalidParams(`answers.${name}`, `is no question: open are ${open}`)
      }
      const { id } = question
      const path = `answers.${id}`
      const json = toJson(value, path)
      const found = violationOf(question.schema, json)
      if (found === undefined) Object.defineProperty(values, id, { value: json, enumerable: true })
      else this.#refuse(invalidParams(`${path}${found.path}`, found.reason), id)
    }
    if (this.#problems.size > 0) return undefined
    this.#sent = Object.keys(values)
    return { parts: [answerPart(values)], extensions: [QUESTIONS] }
  }

  /** Whether the agent has refused an answer with this error, and may be given another one. */
  isRefusal(error: unknown): boolean {
    if (!A2AError.is(error, 'INVALID_PARAMS')) return false
    const { path } = error.data
    const id = this.#sent.find((each) => path === `answers.${each}` || /^[.[]/.test(afterId(path, each)))
    if (id === undefined || this.#refusals >= MAX_REFUSALS) return false
    this.#refuse(error, id)
    return true
  }

  /** The agent has taken an answer. */
  taken(): void {
    this.#refusals = 0
    this.#problems.clear()
  }

  #refuse(error: A2AError<'INVALID_PARAMS'>, id: string): void {
    this.#refusals += 1
    if (this.#refusals > MAX_REFUSALS) throw error
    const { path, reason } = error.data
    const at = afterId(path, id).replace(/^\./, '')
    this.#problems.set(id, at === '' ? reason : `${at} ${reason}`)
  }
}

function afterId(path: string, id: string): string {
  const start = `answers.${id}`
  return path.startsWith(start) ? path.slice(start.length) : ''
}

/** A copy. */
function toJson(value: unknown, path: string): ReadonlyJson {
  try {
    // The type omits that the result is undefined for a function or a symbol.
    const text = JSON.stringify(value) as string | undefined
    if (text !== undefined) return JSON.parse(text) as ReadonlyJson
  } catch (cause) {
    throw invalidParams(path, 'must be JSON', cause)
  }
  throw invalidParams(path, 'must be JSON')
}
