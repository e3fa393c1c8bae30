/**
 * The fields of a form, from the JSON Schema in a question.
 *
 * @module
 */
import type { DeepReadonly, Message } from '../../../core/task.js'

export interface Field {
  readonly name: string
  readonly label: string
  readonly hint: string
  readonly kind: 'text' | 'number' | 'boolean' | 'choice'
  readonly isInteger: boolean
  readonly choices: readonly string[]
  readonly isRequired: boolean
}

/** What the user has entered, by the names of the fields. */
export type Values = Readonly<Record<string, string>>

const MAX_FIELDS = 30
const KINDS: Readonly<Record<string, Field['kind']>> = {
  string: 'text',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
}

type Json = Readonly<Record<string, unknown>>

/**
 * The fields for the first data part that is a schema of an object, or contains one as `schema`. Empty where there is none, or
 * where one of its properties is more than a text, a number, a choice, or yes or no.
 */
export function fieldsOf(message: string | DeepReadonly<Message> | undefined): readonly Field[] {
  if (typeof message !== 'object') return []
  const schemas = message.parts.map(({ data }) => schemaIn(data))
  const schema = schemas.find((each) => each !== undefined)
  return schema === undefined ? [] : fieldsOfSchema(schema)
}

/** Whether the data of a part is a schema that {@link fieldsOf} makes a form of. */
export function isForm(data: unknown): boolean {
  const schema = schemaIn(data)
  return schema !== undefined && fieldsOfSchema(schema).length > 0
}

interface ObjectSchema {
  readonly properties: Json
  readonly required: readonly unknown[]
}

function schemaIn(data: unknown): ObjectSchema | undefined {
  return objectSchema(data) ?? objectSchema(isObject(data) ? data['schema'] : undefined)
}

function objectSchema(value: unknown): ObjectSchema | undefined {
  if (!isObject(value) || value['type'] !== 'object' || !isObject(value['properties'])) return undefined
  const { required } = value
  return { properties: value['properties'], required: Array.isArray(required) ? required : [] }
}

function fieldsOfSchema({ properties, required }: ObjectSchema): readonly Field[] {
  const fields: Field[] = []
  for (const [name, property] of Object.entries(properties).slice(0, MAX_FIELDS + 1)) {
    if (!isObject(property)) return []
    const { type, title, description, enum: listed } = property
    const isChoice = Array.isArray(listed) && listed.every((each) => typeof each === 'string')
    const kind = isChoice ? 'choice' : KINDS[String(type)]
    if (kind === undefined) return []
    fields.push({
      name,
      kind,
      label: typeof title === 'string' ? title : name,
      hint: typeof description === 'string' ? description : '',
      isInteger: type === 'integer',
      choices: isChoice ? listed : [],
      isRequired: required.includes(name),
    })
  }
  return fields.length > MAX_FIELDS ? [] : fields
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** One answer of several. */
export interface Choice {
  readonly label: string
  readonly value: string
}

const MAX_BUTTONS = 4

/** The answers to a form of one field that has few of them; `undefined` for every other form. */
export function choicesOf(fields: readonly Field[]): readonly Choice[] | undefined {
  const [field] = fields
  if (field === undefined || fields.length > 1) return undefined
  if (field.kind === 'boolean')
    return [
      { label: 'Yes', value: 'true' },
      { label: 'No', value: 'false' },
    ]
  const { choices, isRequired } = field
  if (field.kind !== 'choice' || !isRequired || choices.length > MAX_BUTTONS) return undefined
  return choices.map((value) => ({ label: value, value }))
}

/** The data of an answer. Fields that are empty, and not required, are absent. */
export function dataOf(fields: readonly Field[], values: Values): Record<string, string | number | boolean> {
  const entries = fields.flatMap(({ name, kind, isRequired }): [string, string | number | boolean][] => {
    const value = values[name] ?? ''
    if (kind === 'boolean') return [[name, value === 'true']]
    if (value === '' && !isRequired) return []
    return [[name, kind === 'number' ? Number(value) : value]]
  })
  return Object.fromEntries(entries)
}

/** Whether a form may be sent. */
export function isComplete(fields: readonly Field[], values: Values): boolean {
  return fields.every(({ name, kind, isInteger, isRequired }) => {
    const value = values[name] ?? ''
    if (kind === 'boolean') return true
    if (value === '') return !isRequired
    if (kind !== 'number') return true
    return Number.isFinite(Number(value)) && (!isInteger || Number.isInteger(Number(value)))
  })
}
