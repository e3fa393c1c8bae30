/**
 * JSON Schema as a form: which fields a user fills in, and what a text answer certainly means.
 *
 * Schemas come from other agents, so reading is bounded in depth, in fields, in options, and in references that are
 * followed. What has no field of its own is a field for JSON. Patterns are not used, here and in `violation`: one can take for
 * ever. The schema of the agent's own code has its patterns.
 *
 * @module
 */
import type { ReadonlyJson } from '../../core/json-types.js'
import { isRecord, type Unread } from '../../runtime/unread.js'

/** One of the values that a question offers. */
export interface FormOption {
  readonly value: string | number | boolean | null
  readonly label: string
}

/** A field of an object. */
export interface FormField {
  readonly name: string
  /** How a user reads it: the title of the schema, or the name. */
  readonly label: string
  /** The description of the schema, at most 1,000 characters of it. */
  readonly description?: string
  readonly isRequired: boolean
  readonly form: Form
}

/** What a user enters. Everything but these kinds is entered as JSON. */
export type Form =
  | { readonly type: 'text'; readonly format?: string }
  | { readonly type: 'number'; readonly isWhole: boolean }
  | { readonly type: 'boolean' }
  | { readonly type: 'choice'; readonly options: readonly FormOption[] }
  | { readonly type: 'object'; readonly fields: readonly FormField[] }
  | { readonly type: 'json' }

const MAX_DEPTH = 5
const MAX_FIELDS = 100
const MAX_OPTIONS = 100
const MAX_LABEL = 200
const MAX_DESCRIPTION = 1_000
/** Of all fields together. A choice beyond it is a field for its kind of value. */
const MAX_ALL_OPTIONS = 1_000
const MAX_REFERENCES = 10
const MAX_REFERENCE = 1_000
/** The most names in a reference. */
const MAX_NAMES = 20
/** The longest text that may be a value of another kind. */
const MAX_VALUE = 1_000
/** The longest text that is read as JSON. Parsing it costs far more memory than its characters. */
const MAX_JSON = 65_536

interface Reading {
  readonly root: Unread
  fields: number
  options: number
}

/** Reads a schema as a form. Never throws, whatever the schema is. */
export function formOf(schema: unknown): Form {
  if (!isRecord(schema)) return { type: 'json' }
  return read(schema, { root: schema, fields: 0, options: 0 }, 0)
}

function read(given: unknown, reading: Reading, depth: number): Form {
  const schema = withoutNull(resolved(given, reading.root), reading.root)
  if (!isRecord(schema)) return { type: 'json' }
  const options = optionsOf(schema, reading)
  if (options !== undefined) return { type: 'choice', options }
  const { format } = schema
  const type = typeOf(schema)
  if (type === 'string') return { type: 'text', ...(typeof format === 'string' && { format }) }
  if (type === 'number' || type === 'integer') return { type: 'number', isWhole: type === 'integer' }
  if (type === 'boolean') return { type: 'boolean' }
  return (type === 'object' ? fieldsOf(schema, reading, depth) : undefined) ?? { type: 'json' }
}

/** `undefined` for more than a form can show. */
function fieldsOf(schema: Unread, reading: Reading, depth: number): Form | undefined {
  const { properties, required } = schema
  if (depth >= MAX_DEPTH || reading.fields > MAX_FIELDS || !isRecord(properties)) return undefined
  const names = Object.keys(properties)
  reading.fields += names.length
  if (reading.fields > MAX_FIELDS) return undefined
  const needed: ReadonlySet<unknown> = new Set(Array.isArray(required) ? required.slice(0, MAX_FIELDS) : [])
  const fields = names.map((name) => ({
    name,
    label: labelOf(properties[name], name),
    ...descriptionOf(properties[name]),
    isRequired: needed.has(name),
    form: read(properties[name], reading, depth + 1),
  }))
  return { type: 'object', fields }
}

function labelOf(schema: unknown, name: string): string {
  const { title } = isRecord(schema) ? schema : {}
  return (typeof title === 'string' && title !== '' ? title : name).slice(0, MAX_LABEL)
}

function descriptionOf(schema: unknown): { readonly description?: string } {
  const { description } = isRecord(schema) ? schema : {}
  return typeof description === 'string' && description !== ''
    ? { description: description.slice(0, MAX_DESCRIPTION) }
    : {}
}

/** The schema that a reference within the document names, after at most ten of them, each of at most 20 names. */
export function resolved(given: unknown, root: Unread): unknown {
  let schema = given
  for (let count = 0; count < MAX_REFERENCES; count += 1) {
    if (!isRecord(schema) || typeof schema['$ref'] !== 'string') return schema
    schema = referenced(schema['$ref'], root)
  }
  return undefined
}

function referenced(reference: string, root: Unread): unknown {
  if (reference.length > MAX_REFERENCE) return undefined
  const [start, ...names] = reference.split('/')
  if (start !== '#' || names.length > MAX_NAMES) return undefined
  let found: unknown = root
  for (const name of names) {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    const isOwn = (isRecord(found) || Array.isArray(found)) && Object.hasOwn(found, key)
    found = isOwn ? Reflect.get(found as object, key) : undefined
  }
  return found
}

/** The kind of a value beside `null`, where it may be `null`: a form leaves it out. */
function typeOf({ type }: Unread): unknown {
  if (!Array.isArray(type)) return type
  const others: readonly unknown[] = type.filter((each) => each !== 'null')
  return others.length === 1 ? others[0] : undefined
}

/** As {@link typeOf}, of alternatives. */
function withoutNull(schema: unknown, root: Unread): unknown {
  const any = alternativesOf(schema)
  if (any?.length !== 2) return schema
  const others = any.filter((each) => !isRecord(each) || each['type'] !== 'null')
  return others.length === 1 ? resolved(others[0], root) : schema
}

function alternativesOf(schema: unknown): readonly unknown[] | undefined {
  if (!isRecord(schema)) return undefined
  const { anyOf, oneOf } = schema
  const any = anyOf ?? oneOf
  return Array.isArray(any) ? any : undefined
}

function optionsOf(schema: Unread, reading: Reading): readonly FormOption[] | undefined {
  const values: unknown = schema['enum']
  const any = alternativesOf(schema) ?? ('const' in schema ? [schema] : undefined)
  const given: readonly unknown[] | undefined = Array.isArray(values) ? values : any
  if (given === undefined || given.length > MAX_OPTIONS || reading.options > MAX_ALL_OPTIONS) return undefined
  reading.options += given.length
  if (given === values) return options(given.map((value) => ({ value })))
  const constants = given.map((each) => resolved(each, reading.root))
  const found = constants.flatMap((each) =>
    isRecord(each) && 'const' in each ? [{ value: each['const'], title: each['title'] }] : [],
  )
  return found.length === given.length ? options(found) : undefined
}

function options(
  given: readonly { readonly value: unknown; readonly title?: unknown }[],
): readonly FormOption[] | undefined {
  const read = given.flatMap(({ value, title }) => {
    if (!isPlainValue(value)) return []
    const label = typeof title === 'string' && title !== '' ? title : String(value)
    return [{ value, label: label.slice(0, MAX_LABEL) }]
  })
  return read.length === given.length && read.length > 0 ? read : undefined
}

function isPlainValue(value: unknown): value is FormOption['value'] {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

const YES = new Set(['yes', 'y', 'true'])
const NO = new Set(['no', 'n', 'false'])
const NUMBER = /^[-+]?(\d+(\.\d*)?|\.\d+)(e[-+]?\d{1,3})?$/i

/** What a text certainly means as a value of this form; `undefined` where it is not certain. */
export function valueFromText(form: Form, given: string): { readonly value: ReadonlyJson } | undefined {
  const text = given.trim()
  if (form.type === 'text') return { value: text }
  if (form.type === 'object' || form.type === 'json') return jsonOf(text)
  if (text.length > MAX_VALUE) return undefined
  // As people end a sentence.
  const word = text.replace(/[.!]+$/, '').toLowerCase()
  if (form.type === 'choice') {
    const matching = form.options.filter(({ value, label }) =>
      [label, String(value)].some(
        (each) => each.toLowerCase() === word || each.toLowerCase() === text.toLowerCase(),
      ),
    )
    const [only] = matching
    if (only !== undefined) return matching.length === 1 ? { value: only.value } : undefined
    return verdictOf(form.options, word)
  }
  if (form.type === 'boolean')
    return YES.has(word) ? { value: true } : NO.has(word) ? { value: false } : undefined
  if (!NUMBER.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) && (!form.isWhole || Number.isSafeInteger(value)) ? { value } : undefined
}

/** A yes or no where the choice is to approve or to reject, and nothing else. */
function verdictOf(options: readonly FormOption[], word: string): { readonly value: string } | undefined {
  const verdict = YES.has(word) ? 'approve' : NO.has(word) ? 'reject' : undefined
  const isVerdict =
    options.length === 2 && ['approve', 'reject'].every((each) => options.some(({ value }) => value === each))
  return verdict !== undefined && isVerdict ? { value: verdict } : undefined
}

function jsonOf(text: string): { readonly value: ReadonlyJson } | undefined {
  if (text.length > MAX_JSON || !/^[[{]/.test(text)) return undefined
  try {
    return { value: JSON.parse(text) as ReadonlyJson }
  } catch {
    return undefined
  }
}

/** What a text answer has to be, in words. */
export function wantedBy(form: Form): string {
  switch (form.type) {
    case 'text':
      return 'a text'
    case 'number':
      return form.isWhole ? 'a whole number' : 'a number'
    case 'boolean':
      return 'yes or no'
    case 'choice':
      return `one of ${form.options.map(({ label }) => label).join(', ')}`
    default:
      return 'JSON'
  }
}
