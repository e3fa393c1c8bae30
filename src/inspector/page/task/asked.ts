/**
 * The questions of a task, and answers that are being entered.
 *
 * @module
 */
import type { JsonObject, ReadonlyJson } from '../../../core/json-types.js'
import type { DeepReadonly, Message } from '../../../core/task.js'
import { formOf, type Form } from '../../../wire/question/form.js'
import { answerPart, openQuestionsOf, type OpenQuestion } from '../../../wire/question/questions.js'
import type { Snapshot } from './log.js'

/** A question with its form. Its id is empty where the agent has sent only a schema. */
export interface Asked extends OpenQuestion {
  readonly form: Form
}

/** What has been entered: a text, or for an object what is in its fields. The place of an option is its text. */
export type Draft = string | { readonly [name: string]: Draft }

/** Why an answer does not fit, and where, such as `.days[0]`. */
export interface Problem {
  readonly path: string
  readonly reason: string
}

/** The questions of a task that have a form. */
export function askedBy(task: Snapshot): readonly Asked[] {
  const open = openQuestionsOf(task)
  if (open.length > 0) return open.map((question) => ({ ...question, form: formOf(question.schema) }))
  const schema = partsOf(task.message)
    .map(({ data }) => schemaIn(data))
    .find((each) => each !== undefined)
  return schema === undefined ? [] : [{ id: '', message: '', schema, form: formOf(schema) }]
}

function partsOf(message: Snapshot['message']): DeepReadonly<Message>['parts'] {
  return typeof message === 'object' ? message.parts : []
}

/** The JSON Schema of an object that the data of a part is, or has as `schema`. */
export function schemaIn(data: unknown): JsonObject | undefined {
  const inner = typeof data === 'object' && data !== null && 'schema' in data ? data.schema : undefined
  return [data, inner].find((each): each is JsonObject => {
    const form = formOf(each)
    return form.type === 'object' && form.fields.length > 0
  })
}

/** One answer of several. */
export interface Choice {
  readonly label: string
  readonly draft: Draft
}

const MAX_BUTTONS = 6

/** The answers of a form that has few of them, also as its only field; `undefined` for every other form. */
export function choicesOf(
  form: Form,
): { readonly label?: string; readonly choices: readonly Choice[] } | undefined {
  if (form.type === 'boolean')
    return {
      choices: [
        { label: 'Yes', draft: 'true' },
        { label: 'No', draft: 'false' },
      ],
    }
  if (form.type === 'choice' && form.options.length <= MAX_BUTTONS)
    return { choices: form.options.map(({ label }, index) => ({ label, draft: String(index) })) }
  const [field, ...others] = form.type === 'object' ? form.fields : []
  if (field === undefined || others.length > 0) return undefined
  if (!field.isRequired && field.form.type !== 'boolean') return undefined
  const inner = choicesOf(field.form)
  return (
    inner && {
      label: field.label,
      choices: inner.choices.map(({ label, draft }) => ({ label, draft: { [field.name]: draft } })),
    }
  )
}

/** Whether nothing is entered. */
export function isEmpty(draft: Draft | undefined): boolean {
  return typeof draft === 'object' ? Object.values(draft).every(isEmpty) : (draft ?? '').trim() === ''
}

/** What is in one field of an object. */
export function inField(draft: Draft | undefined, name: string): Draft | undefined {
  return typeof draft === 'object' && Object.hasOwn(draft, name) ? draft[name] : undefined
}

/** What is in a field that has no fields. */
export function textIn(draft: Draft | undefined): string {
  return typeof draft === 'string' ? draft : ''
}

/** The value of what is entered; `undefined` if it is not complete. */
export function valueOf(form: Form, draft: Draft | undefined): { readonly value: ReadonlyJson } | undefined {
  if (form.type !== 'object') return valueOfText(form, textIn(draft))
  const entries: [string, ReadonlyJson][] = []
  for (const { name, form: inner, isRequired } of form.fields) {
    const entered = inField(draft, name)
    if (!isRequired && inner.type !== 'boolean' && isEmpty(entered)) continue
    // A box that is not ticked says no.
    const found = inner.type === 'boolean' ? { value: entered === 'true' } : valueOf(inner, entered)
    if (found === undefined) return undefined
    entries.push([name, found.value])
  }
  return { value: Object.fromEntries(entries) }
}

function valueOfText(form: Form, text: string): { readonly value: ReadonlyJson } | undefined {
  if (text.trim() === '') return undefined
  switch (form.type) {
    case 'text':
      return { value: form.format === 'date-time' ? instantOf(text) : text }
    case 'number': {
      const value = Number(text)
      return Number.isFinite(value) && (!form.isWhole || Number.isInteger(value)) ? { value } : undefined
    }
    case 'boolean':
      return { value: text === 'true' }
    case 'choice': {
      const option = form.options[Number(text)]
      return option && { value: option.value }
    }
    default:
      try {
        return { value: JSON.parse(text) as ReadonlyJson }
      } catch {
        return undefined
      }
  }
}

/** Browsers give a time without a zone, which is that of the user. */
function instantOf(text: string): string {
  const time = Date.parse(text)
  return Number.isNaN(time) ? text : new Date(time).toISOString()
}

/** What is wrong with a field while it is filled in. */
export function draftProblem(form: Form, draft: Draft | undefined): string | undefined {
  if (isEmpty(draft) || valueOf(form, draft) !== undefined) return undefined
  if (form.type === 'number') return form.isWhole ? 'must be a whole number' : 'must be a number'
  return form.type === 'json' ? 'is no JSON' : undefined
}

/** Whether a field of the form has this path, or contains it. Other problems are shown beside the question. */
export function hasField(form: Form, path: string, at = ''): boolean {
  if (form.type !== 'object') return isWithin(path, at) && at !== ''
  return form.fields.some((field) => hasField(field.form, path, `${at}.${field.name}`))
}

/** Whether a path is this one, or below it. */
export function isWithin(path: string, at: string): boolean {
  return path === at || path.startsWith(`${at}.`) || path.startsWith(`${at}[`)
}

/** The data of a message that answers these questions. */
export function dataOf(answers: readonly { readonly id: string; readonly value: ReadonlyJson }[]): object {
  const [only] = answers
  // A schema without an id is that of an object.
  if (only?.id === '') return only.value as object
  return answerPart(Object.fromEntries(answers.map(({ id, value }) => [id, value]))).data
}
