/**
 * Answers to questions with a schema: values by the ids of the questions, or what a text certainly means.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import { isThenable } from '../../core/emitter.js'
import { JsonReader } from '../../core/json.js'
import type { JsonObject, ReadonlyJson } from '../../core/json-types.js'
import { valueFromText, wantedBy, type Form } from '../../wire/question/form.js'
import { answersIn } from '../../wire/question/questions.js'
import { textOf } from '../../wire/text.js'
import type { TurnPort } from '../journal/turn-port.js'
import { linesOf, pathOf, type StandardResult, type StandardSchema } from '../standard-schema.js'
import type { ReadonlyMessage, Say } from './run.js'

/** A question as the code asks it. */
export interface Item {
  readonly key: string
  /** The key, with what tells it from questions of the same key. */
  readonly label: string
  readonly id: string
  readonly say: Say
  readonly schema: StandardSchema
  readonly jsonSchema: JsonObject
  readonly form: Form
  /** Where the user authorizes. */
  readonly url?: string
  /** The call of a tool that the question is about. */
  readonly toolCallId?: string
}

/** As much of a question as words are read by. */
type Asked = Pick<Item, 'key' | 'id' | 'form' | 'url'>

/** What the journal keeps of an answer. A type, as JSON. */
export type Found = {
  /** By the ids of the questions. */
  readonly values: { readonly [id: string]: ReadonlyJson }
  /** What is wrong with the rest. */
  readonly problem?: string
  /** Whether the time limit has passed. */
  readonly isLate?: boolean
  /** Whether the message came before the question, and can be no answer. */
  readonly isEarly?: boolean
}

type Limits = Pick<TurnPort, 'settings'>

/** The most questions of one message. */
export const MAX_QUESTIONS = 50
/** The most characters that are said of an answer that does not fit. */
const MAX_PROBLEM = 1_000

/**
 * Checks the values of a message that the task does not have yet. Schemas that answer with a promise check later.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path below `answers`.
 */
export function requireFitting(items: readonly Item[], answers: ReadonlyMap<string, ReadonlyJson>): void {
  for (const { id, schema } of items) {
    const value = answers.get(id)
    if (value === undefined) continue
    const checked = validated(schema, value)
    if (checked instanceof Promise || checked.issues === undefined) continue
    const [issue] = checked.issues
    // Both may repeat what the client has sent.
    const at = issue === undefined ? '' : pathOf(issue).slice(0, MAX_PROBLEM)
    const path = `answers.${id}${at === '' || at.startsWith('[') ? at : `.${at}`}`
    throw invalidParams(path, (issue?.message ?? 'does not fit the schema').slice(0, MAX_PROBLEM))
  }
}

/** A schema that throws refuses the value: it comes from a client. */
function validated(
  schema: StandardSchema,
  value: unknown,
): StandardResult<unknown> | Promise<StandardResult<unknown>> {
  const refuse = (error: unknown): StandardResult<unknown> => ({
    issues: [{ message: error instanceof Error ? error.message : 'does not fit the schema' }],
  })
  try {
    const checked = schema['~standard'].validate(value)
    return isThenable(checked) ? Promise.resolve(checked).catch(refuse) : checked
  } catch (error) {
    return refuse(error)
  }
}

/** Reads one answer: at once where the schemas answer at once. What does not fit is left open. */
export function readAnswer(
  host: Limits,
  items: readonly Item[],
  message: ReadonlyMessage,
): Found | Promise<Found> {
  const given = answersIn(message) ?? plainAnswers(items, message)
  const checks = [...given].flatMap(([id, value]) => {
    const item = items.find((each) => each.id === id)
    return item === undefined ? [] : [checkedBy(host, item, value)]
  })
  const ready = checks.filter((checked): checked is Checked => !(checked instanceof Promise))
  return ready.length === checks.length
    ? foundBy(host, items, ready)
    : Promise.all(checks.map(async (each) => await each)).then((all) => foundBy(host, items, all))
}

interface Checked {
  readonly item: Item
  readonly result: StandardResult<unknown>
}

function checkedBy(host: Limits, item: Item, value: ReadonlyJson): Checked | Promise<Checked> {
  const problem = excessOf(host, item, value)
  const result = problem === undefined ? validated(item.schema, value) : { issues: [{ message: problem }] }
  return result instanceof Promise ? result.then((later) => ({ item, result: later })) : { item, result }
}

function foundBy(host: Limits, items: readonly Item[], checks: readonly Checked[]): Found {
  const values: Record<string, ReadonlyJson> = {}
  const problems: string[] = []
  for (const { item, result } of checks) {
    const subject = items.length > 1 ? `${item.key}: ` : ''
    if (result.issues !== undefined) problems.push(`${subject}${linesOf(result.issues)}`)
    else if (result.value !== undefined) values[item.id] = readValue(host, item, result.value)
    else problems.push(`${subject}no value`)
  }
  if (problems.length === 0 && Object.keys(values).length === 0) problems.push(wanted(items))
  return { values, ...(problems.length > 0 && { problem: problems.join('; ').slice(0, MAX_PROBLEM) }) }
}

/** What to answer, in words. */
export function wanted(items: readonly Asked[]): string {
  const [only, ...others] = items
  if (only?.url !== undefined) return 'The authorization has not arrived yet'
  if (only !== undefined && others.length === 0) return `Please answer with ${wantedBy(only.form)}`
  const lines = items.map(({ key, form }) => `${key}: ${wantedBy(form)}`)
  return `Please answer each question on a line of its own (${lines.join('; ')})`
}

/** The answers of a client that does not know the extension. */
export function plainAnswers(
  items: readonly Asked[],
  message: ReadonlyMessage,
): ReadonlyMap<string, ReadonlyJson> {
  const text = textOf(message)
  const [only, ...others] = items
  if (only === undefined || others.length > 0) return answerLines(items, text)
  const data = message.parts.flatMap((part) => (part.data === undefined ? [] : [part.data]))
  const [value] = data
  if (value !== undefined && data.length === 1) return new Map([[only.id, value]])
  const read = valueFromText(only.form, text)
  return new Map(read === undefined || text.trim() === '' ? [] : [[only.id, read.value]])
}

/** Lines that begin with the name of a question, such as `city: Rome`. */
function answerLines(items: readonly Asked[], text: string): ReadonlyMap<string, ReadonlyJson> {
  const answers = new Map<string, ReadonlyJson>()
  for (const line of text.split('\n', MAX_QUESTIONS)) {
    const at = line.indexOf(':')
    const key = line.slice(0, at).trim().toLowerCase()
    const item = at === -1 ? undefined : items.find((each) => each.key.toLowerCase() === key)
    const read = item && valueFromText(item.form, line.slice(at + 1))
    if (item !== undefined && read !== undefined) answers.set(item.id, read.value)
  }
  return answers
}

/** Why a value that was read from a text or a data part without an id is too large, or too deep. */
function excessOf(host: Limits, item: Item, value: ReadonlyJson): string | undefined {
  try {
    readValue(host, item, value)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : undefined
  }
}

/** A copy of what the schema has returned. */
function readValue({ settings: { limits } }: Limits, { id }: Item, value: unknown): ReadonlyJson {
  const limit = { subject: `Answer ${id}`, option: 'limits.maxStepBytes', maxBytes: limits.maxStepBytes }
  const reader = new JsonReader(limit, limits.maxDepth)
  const read = reader.read(value, `answers.${id}`)
  reader.check(read)
  return read
}
