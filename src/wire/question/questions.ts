/**
 * The extension for questions with a schema: what the message of a question carries beside its sentence, and its answers.
 *
 * A question's message has a data part with the questions that are open. A client that knows the extension answers with a
 * data part that has a value for the ids of one or more of them. All others read the sentence, and answer with a text.
 *
 * @module
 */
import type { JsonObject, ReadonlyJson } from '../../core/json-types.js'
import type { TaskState } from '../../core/lifecycle.js'
import type { DeepReadonly, Message, Part } from '../../core/task.js'
import { isRecord, type Unread } from '../../runtime/unread.js'
import { parseUrl } from '../../runtime/url.js'

/** The URI of the extension, and the key of its data. */
export const QUESTIONS = 'https://a2a-tasks.dev/extensions/questions/v1'

/** The entry for `capabilities.extensions` of an agent's card. */
export const QUESTIONS_EXTENSION = {
  uri: QUESTIONS,
  description: 'Questions with an id and a JSON Schema, which are answered by id',
  required: false,
} as const

/** A question of an agent. */
export interface OpenQuestion {
  /** Answers name the question by it: unique in the task. */
  readonly id: string
  /** What the agent asks. */
  readonly message: string
  /** The JSON Schema of the answer. */
  readonly schema: ReadonlySchema
  /** When the agent stops to wait for the answer, in ISO 8601. Absent without a limit. */
  readonly expiresAt?: string
  /** The http or https address where the user gives authorization. Absent for all other questions. */
  readonly url?: string
  /** The call of a tool that the question is about. */
  readonly toolCallId?: string
  /** The ids of the principals who may answer: the owner of the task only if one of them. Absent where only the owner may. */
  readonly answeredBy?: readonly string[]
}

export type ReadonlySchema = { readonly [key: string]: ReadonlyJson }

type Parts = readonly DeepReadonly<Part>[]

/** The most questions and answers that are read of a message. */
const MAX_QUESTIONS = 100
/** The most characters of an id. */
const MAX_ID = 1_024
/** The characters of the sentence of a question that are read. */
const MAX_MESSAGE = 16_384
/** The most characters of a schema that is read, as JSON. */
const MAX_SCHEMA = 262_144
/** The most characters of an address for authorization. */
const MAX_LINK = 8_192

/** The most principals who may answer a question. */
export const MAX_PRINCIPALS = 100
/** The most characters of the id of a principal. */
const MAX_PRINCIPAL = 512

/** The part that asks these questions. */
export function questionPart(questions: readonly OpenQuestion[]): { readonly data: object } {
  return { data: { [QUESTIONS]: { questions } } }
}

/** The part that answers questions, by their ids. */
export function answerPart(answers: Readonly<Record<string, ReadonlyJson>>): { readonly data: JsonObject } {
  return { data: { [QUESTIONS]: { answers: copyOf(answers) } } }
}

/** The questions of an agent's message, at most 100. What is no question, or too large, is left out. */
export function questionsIn(message: { readonly parts?: Parts } | undefined): readonly OpenQuestion[] {
  const lists = dataOf(message).map(({ questions }) =>
    Array.isArray(questions) ? (questions as readonly unknown[]) : [],
  )
  const found = new Map<string, OpenQuestion>()
  for (const given of lists.flat().slice(0, MAX_QUESTIONS)) {
    const question = readQuestion(given)
    if (question !== undefined) found.set(question.id, question)
  }
  return [...found.values()]
}

/** The values of a message of the user, by the ids of their questions; `undefined` for a message without any. */
export function answersIn(message: {
  readonly parts?: Parts
}): ReadonlyMap<string, ReadonlyJson> | undefined {
  const given = dataOf(message).flatMap(({ answers }) => (isRecord(answers) ? [answers] : []))
  if (given.length === 0) return undefined
  // Parts are JSON.
  const entries = given.flatMap((answers) => Object.entries(answers)) as [string, ReadonlyJson][]
  return new Map(entries)
}

/** What a task shows of its questions. */
interface AskingTask {
  readonly message?: string | DeepReadonly<Message> | undefined
  readonly messages: readonly DeepReadonly<Message>[]
}

/**
 * The questions that the status message of a task asks, without those that the user has answered since: by id, or all by a
 * message without ids. The process that receives the next message decides by this, so that an answer is taken once.
 */
export function openQuestionsOf({ message, messages }: AskingTask): readonly OpenQuestion[] {
  if (message === undefined || typeof message === 'string') return []
  const asked = questionsIn(message)
  if (asked.length === 0) return []
  const at = messages.findLastIndex(({ messageId }) => messageId === message.messageId)
  const answers = at === -1 ? [] : messages.slice(at + 1).filter(({ role }) => role === 'user')
  const answered = answers.map(answersIn)
  if (answered.includes(undefined)) return []
  return asked.filter(({ id }) => !answered.some((values) => values?.has(id)))
}

/** Who may answer what a message asks. */
export interface Answerers {
  readonly ids: readonly string[]
  /** Whether the owner of the task is one of them. */
  readonly hasOwner: boolean
}

/** The metadata of a message by which its agent says who may answer. */
export function answerersMark({ ids, hasOwner }: Answerers): JsonObject {
  return { [QUESTIONS]: { answeredBy: [...ids], ...(hasOwner && { byOwner: true }) } }
}

/** Who may answer what a message asks; `undefined` where that is the user who reads it. */
export function answerersIn(
  message: string | Pick<DeepReadonly<Message>, 'metadata'> | undefined,
): Answerers | undefined {
  const mark = typeof message === 'object' ? message.metadata?.[QUESTIONS] : undefined
  if (!isRecord(mark) || !Array.isArray(mark['answeredBy'])) return undefined
  return { ids: readPrincipals(mark['answeredBy']), hasOwner: mark['byOwner'] === true }
}

/** Who has sent the message to its task; `undefined` for the owner of the task. */
export function senderOf({ metadata }: Pick<DeepReadonly<Message>, 'metadata'>): string | undefined {
  const mark = metadata?.[QUESTIONS]
  return isRecord(mark) && typeof mark['answeredBy'] === 'string' ? mark['answeredBy'] : undefined
}

/**
 * The ids of the users for whose answer the task waits, where the user of this client is none of them: an answer of his is refused.
 * `undefined` for a task that waits for him, or for no answer.
 */
export function awaitedOthersOf({
  state,
  message,
}: Pick<AskingTask, 'message'> & { readonly state: TaskState }): readonly string[] | undefined {
  const answerers = state === 'input-required' ? answerersIn(message) : undefined
  return answerers?.hasOwner === false ? answerers.ids : undefined
}

/**
 * The address, as users may be sent to it, in ASCII; `undefined` for all but http and https URLs of at most 8,192 characters. One
 * with a name or password is refused, since it looks like that of another host: `https://bank.example@evil.example`.
 */
export function linkOf(value: unknown): string | undefined {
  const url = typeof value === 'string' && value.length <= MAX_LINK ? parseUrl(value) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined
  return url.username === '' && url.password === '' ? url.href : undefined
}

function dataOf(message: { readonly parts?: Parts } | undefined): readonly Unread[] {
  return (message?.parts ?? []).flatMap(({ data }) => {
    const own = isRecord(data) && Object.hasOwn(data, QUESTIONS) ? data[QUESTIONS] : undefined
    return isRecord(own) ? [own] : []
  })
}

function readQuestion(given: unknown): OpenQuestion | undefined {
  if (!isRecord(given)) return undefined
  const { id, message, schema, expiresAt, url, toolCallId, answeredBy } = given
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID) return undefined
  if (typeof message !== 'string') return undefined
  const link = linkOf(url)
  // A client shows a question whose schema it cannot use, with a field for any value.
  const isUsable = isRecord(schema) && JSON.stringify(schema).length <= MAX_SCHEMA
  return {
    id,
    message: message.slice(0, MAX_MESSAGE),
    // Parts are JSON.
    schema: isUsable ? (schema as ReadonlySchema) : {},
    ...(typeof expiresAt === 'string' && { expiresAt }),
    ...(link !== undefined && { url: link }),
    ...(typeof toolCallId === 'string' && toolCallId.length <= MAX_ID && { toolCallId }),
    ...(Array.isArray(answeredBy) && { answeredBy: readPrincipals(answeredBy) }),
  }
}

/** What is no id names no user: the question is then for fewer people, and never for all. */
function readPrincipals(given: readonly unknown[]): readonly string[] {
  return given
    .slice(0, MAX_PRINCIPALS)
    .flatMap((id) => (typeof id === 'string' && id.length <= MAX_PRINCIPAL ? [id] : []))
}

function copyOf(answers: Readonly<Record<string, ReadonlyJson>>): JsonObject {
  return structuredClone(answers) as JsonObject
}
