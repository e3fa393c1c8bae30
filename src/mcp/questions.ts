/**
 * Questions of an agent as requests for its user (elicitation), and the answers.
 *
 * Forms of MCP are flat, with plain values only. A question whose schema is one plain value is a form with the field `value`, and
 * what such a form cannot show is a field for JSON. A question in words is a form with the field `answer`.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import type { JsonObject, ReadonlyJson } from '../core/json-types.js'
import { isInterrupted } from '../core/lifecycle.js'
import type { Part } from '../core/task.js'
import { isRecord, recordOf, type Unread } from '../runtime/unread.js'
import type { RemoteTask } from '../wire/client/dialect.js'
import { formOf, resolved, valueFromText, type Form, type FormOption } from '../wire/question/form.js'
import {
  answerPart,
  awaitedOthersOf,
  openQuestionsOf,
  QUESTIONS,
  questionsIn,
  type OpenQuestion,
} from '../wire/question/questions.js'
import { violationOf } from '../wire/question/violation.js'
import { textOf } from '../wire/text.js'
import type { Capabilities } from './protocol.js'
import { answerId } from './question-ids.js'

/** A request for the user, without its place in JSON-RPC. */
export interface InputRequest {
  readonly method: 'elicitation/create'
  readonly params: JsonObject
}

/** What answers the questions of a task. */
export interface Answer {
  /** The same for every answer to the same questions, so that the agent takes one of them, however many arrive. */
  readonly messageId: string
  /** Empty where nothing was answered. */
  readonly parts: readonly Part[]
  readonly extensions?: readonly string[]
  /** The user does not want to answer. */
  readonly isGivenUp: boolean
  /** The user has gone to an address. What happens there is for the agent to know. */
  readonly isSent: boolean
}

/** The field of a form for a question that is one value. */
const VALUE = 'value'
/** The field of a form for a question in words. */
const ANSWER = 'answer'
/** What an approval and an authorization understand as no. */
const NO = ['reject', 'decline']

/**
 * What the task asks, by the ids of the questions, as far as the client can ask its user. `idOf` adds the id of the request, which
 * the generation with sessions demands of addresses.
 */
export function inputRequestsOf(
  task: RemoteTask,
  { form, url }: Capabilities,
  idOf?: (key: string) => string,
): Readonly<Record<string, InputRequest>> {
  if (!isAsking(task)) return {}
  const requests: Record<string, InputRequest> = {}
  const ask = (key: string, params: object): void => {
    // Parts of messages are JSON.
    requests[key] = { method: 'elicitation/create', params: params as JsonObject }
  }
  for (const question of openQuestionsOf(task)) {
    const { id, message } = question
    if (question.url !== undefined) {
      const about = idOf === undefined ? {} : { elicitationId: idOf(id) }
      if (url) ask(id, { mode: 'url', message, url: question.url, ...about })
    } else if (form)
      ask(id, { mode: 'form', message, requestedSchema: shownFormOf(question).requestedSchema })
  }
  const words = inWords(task)
  if (words !== undefined && form)
    ask(words.id, { mode: 'form', message: words.text, requestedSchema: WORDS })
  return requests
}

/** A question without a schema. For credentials, a text is no answer. */
function inWords(task: RemoteTask): { readonly id: string; readonly text: string } | undefined {
  const { message, state } = task
  if (state !== 'input-required' || message === undefined || questionsIn(message).length > 0) return undefined
  return { id: message.messageId, text: textOf(message) }
}

/** Whether the task waits for the user of this client. */
export function isAsking(task: RemoteTask): boolean {
  return isInterrupted(task.state) && awaitedOthersOf(task) === undefined
}

const WORDS = { type: 'object', properties: { [ANSWER]: { type: 'string' } }, required: [ANSWER] }

/**
 * The answers among these responses to questions that are open. All others are left out: they come late, or answer nothing.
 *
 * @throws {A2AError} `INVALID_PARAMS` for an answer that does not fit its question.
 */
export function answerTo(task: RemoteTask, responses: Unread): Answer {
  const open = isAsking(task) ? openQuestionsOf(task) : []
  const replies = open.map((question) => ({ id: question.id, reply: replyTo(question, responses) }))
  const words = inWords(task)
  const { action, content } = (words && responseOf(responses, words.id)) ?? {}
  const isRefused = action === 'decline' || action === 'cancel'
  const isGivenUp = isRefused || replies.some(({ reply }) => reply === 'given up')
  const isSent = replies.some(({ reply }) => reply === 'sent')
  const answers = Object.fromEntries(
    replies.flatMap(({ id, reply }) => (typeof reply === 'object' ? [[id, reply.value] as const] : [])),
  )
  const text = action === 'accept' ? recordOf(content)?.[ANSWER] : undefined
  const parts: Part[] = typeof text === 'string' ? [{ text }] : []
  const answered = Object.keys(answers)
  const messageId = answerId(task.message?.messageId ?? task.id, answered)
  const base = { messageId, isGivenUp, isSent }
  if (answered.length === 0) return { ...base, parts }
  return { ...base, parts: [answerPart(answers), ...parts], extensions: [QUESTIONS] }
}

/** `undefined` without an answer. */
function replyTo(
  question: OpenQuestion,
  responses: Unread,
): { readonly value: ReadonlyJson } | 'given up' | 'sent' | undefined {
  const { action, content } = responseOf(responses, question.id) ?? {}
  if (action === 'accept') return question.url === undefined ? { value: valueOf(question, content) } : 'sent'
  if (action !== 'decline' && action !== 'cancel') return undefined
  const no = noOf(question)
  return no === undefined ? 'given up' : { value: no }
}

function responseOf(responses: Unread, id: string): Unread | undefined {
  return Object.hasOwn(responses, id) ? recordOf(responses[id]) : undefined
}

/** The value that says no to this question, if it has one. */
function noOf({ url, schema }: OpenQuestion): string | undefined {
  if (url !== undefined) return 'decline'
  const { enum: values } = schema
  return Array.isArray(values) ? NO.find((each) => values.includes(each)) : undefined
}

function valueOf(question: OpenQuestion, content: unknown): ReadonlyJson {
  const given = recordOf(content) ?? {}
  const form = shownFormOf(question).form
  const value =
    form.type === 'object'
      ? Object.fromEntries(
          form.fields
            .filter(({ name }) => Object.hasOwn(given, name))
            .map((field) => [field.name, fieldValue(field.form, given[field.name])]),
        )
      : fieldValue(form, given[VALUE])
  const found = violationOf(question.schema, value)
  if (found !== undefined)
    throw invalidParams(`inputResponses.${question.id}.content${found.path}`, found.reason)
  return value
}

/** What a client has filled in. Fields for JSON, and for choices that are no texts, are texts of a form. */
function fieldValue(form: Form, given: unknown): ReadonlyJson {
  const isText = form.type === 'choice' || form.type === 'json' || form.type === 'object'
  const read = isText && typeof given === 'string' ? valueFromText(form, given) : undefined
  // The body is JSON.
  return read === undefined ? ((given ?? null) as ReadonlyJson) : read.value
}

/** The most characters of a form, as JSON: that of a larger schema is at most twice as large. */
const MAX_FORM = 16_384
/** The most characters of a value that a field has from its schema. */
const MAX_VALUE = 1_000
/** A field for what no other field can show. */
const AS_JSON = { type: 'string', description: 'As JSON' }

/** How a question is shown, and answered. References in its schema could make a form of any size: that is a field for JSON. */
function shownFormOf({ schema }: OpenQuestion): { readonly form: Form; readonly requestedSchema: object } {
  const form = formOf(schema)
  const requestedSchema = formFor(form, schema)
  const max = Math.max(MAX_FORM, 2 * JSON.stringify(schema).length)
  if (JSON.stringify(requestedSchema).length <= max) return { form, requestedSchema }
  const properties = { [VALUE]: AS_JSON }
  return { form: { type: 'json' }, requestedSchema: { type: 'object', properties, required: [VALUE] } }
}

function formFor(form: Form, schema: OpenQuestion['schema']): object {
  if (form.type !== 'object')
    return { type: 'object', properties: { [VALUE]: fieldFor(form, schema) }, required: [VALUE] }
  const properties = recordOf(schema['properties']) ?? {}
  return {
    type: 'object',
    properties: Object.fromEntries(
      form.fields.map(({ name, label, description, form: field }) => [
        name,
        {
          ...(label !== name && { title: label }),
          ...(description !== undefined && { description }),
          ...fieldFor(field, resolved(properties[name], schema)),
        },
      ]),
    ),
    required: form.fields.filter(({ isRequired }) => isRequired).map(({ name }) => name),
  }
}

const FORMATS = ['email', 'uri', 'date', 'date-time']

/** The schema of one field. A client checks with it; the agent's own has the last word. */
function fieldFor(form: Form, schema: unknown): object {
  const given: Unread = isRecord(schema) ? schema : {}
  const kept = (...names: readonly string[]): object =>
    Object.fromEntries(names.filter((name) => isSmall(given[name])).map((name) => [name, given[name]]))
  switch (form.type) {
    case 'text': {
      const format = FORMATS.includes(form.format ?? '') ? { format: form.format } : {}
      return { type: 'string', ...format, ...kept('minLength', 'maxLength', 'default') }
    }
    case 'number':
      return { type: form.isWhole ? 'integer' : 'number', ...kept('minimum', 'maximum', 'default') }
    case 'boolean':
      return { type: 'boolean', ...kept('default') }
    case 'choice':
      if (!form.options.every(({ value }) => value === null || isSmall(value))) return AS_JSON
      return { type: 'string', ...optionsFor(form.options, 'oneOf'), ...kept('default') }
    default: {
      const items = given['type'] === 'array' ? formOf(given['items']) : form
      if (items.type !== 'choice') return AS_JSON
      if (!items.options.every(({ value }) => typeof value === 'string' && isSmall(value))) return AS_JSON
      const { options } = items
      const isTitled = options.some(({ value, label }) => value !== label)
      const each = { ...(!isTitled && { type: 'string' }), ...optionsFor(options, 'anyOf') }
      return { type: 'array', items: each, ...kept('minItems', 'maxItems') }
    }
  }
}

function isSmall(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= MAX_VALUE
  return typeof value === 'number' || typeof value === 'boolean'
}

/** Options with titles have them under `key`. */
function optionsFor(options: readonly FormOption[], key: 'oneOf' | 'anyOf'): object {
  if (options.every(({ value, label }) => value === label)) return { enum: options.map(({ label }) => label) }
  return { [key]: options.map(({ value, label }) => ({ const: String(value), title: label })) }
}
