/**
 * Requests in every form that ProtoJSON allows, read by the schemas of the form of A2A 1.0 (ADR-001).
 *
 * The table of spellings of each schema is derived from the schema. Free JSON, such as `metadata` and the `data` of a
 * part, has no fields and is not changed.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import { isRecord, type Unread } from '../runtime/unread.js'
import { JsonValueSchema } from '../schemas/json.js'
import { RoleSchema } from '../schemas/message.js'
import { Fault, type Schema, type SchemaOf } from '../schemas/schema.js'
import { TaskStateSchema } from '../schemas/task.js'
import { normalize, pathText, type Field, type Path, type Spelling } from './normalize.js'

/**
 * Returns `value` as `schema` defines it, without unknown fields. As in ProtoJSON, fields have the name of JSON
 * (`taskId`) or that of the proto (`task_id`), but not both; enums have their name or number; a number may be written as
 * a string; and a field that is `null`, or an empty text, is absent. Takes time linear in the size of `value`.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of the first fault, as `value` spells it.
 */
export function decode<T>(schema: SchemaOf<T>, value: unknown): T {
  const read = schema.read(normalize(value, spellingOf(schema), ''))
  if (read instanceof Fault) throw invalidParams(pathText(asWritten(read.path, value)), read.reason)
  return read
}

const spellings = new WeakMap<Schema, Spelling>()

/** The spellings that ProtoJSON allows of the objects of `schema`. */
function spellingOf(schema: Schema): Spelling {
  const known = spellings.get(schema)
  if (known !== undefined) return known
  const derived = derive(schema)
  spellings.set(schema, derived)
  return derived
}

/** The texts that are members of a oneof, in parts and in files of 0.3. */
const MEMBERS: readonly string[] = ['text', 'raw', 'url', 'uri', 'fileWithUri', 'bytes', 'fileWithBytes']

function derive({ definition }: Schema): Spelling {
  const shape = definition.type === 'object' ? definition.shape : {}
  const protoNames = new Map<string, string>()
  const fields: Record<string, Field> = {}
  for (const [name, member] of Object.entries(shape)) {
    const protoName = protoNameOf(name)
    if (protoName !== name) protoNames.set(protoName, name)
    fields[name] = fieldOf(member, MEMBERS.includes(name))
  }
  return { fields, rewrite: (object, path) => withNames(object, protoNames, path) }
}

/** An empty text of a oneof is a value: its presence shows which member the object has. */
function fieldOf(schema: Schema, isMember: boolean): Field {
  if (schema === JsonValueSchema) return { isNullable: true }
  const { definition } = schema
  switch (definition.type) {
    case 'list':
      return fieldOf(definition.element, true)
    case 'optional':
      return optionalField(definition.inner, isMember)
    case 'object':
      return { of: spellingOf(schema) }
    case 'number':
      return NUMERIC
    case 'enum':
      return { values: numbersOf(definition.values) }
    default:
      return {}
  }
}

function optionalField(schema: Schema, isMember: boolean): Field {
  return schema.definition.type === 'string' && !isMember
    ? { isEmptyTextAbsent: true }
    : fieldOf(schema, isMember)
}

/** The enums of the proto, in the order of their numbers. */
const ENUMS: readonly (readonly string[])[] = [
  ['ROLE_UNSPECIFIED', ...RoleSchema.options],
  ['TASK_STATE_UNSPECIFIED', ...TaskStateSchema.options],
]

/** As the proto of 0.3 has it. */
const OTHER_NAMES: readonly (readonly [string, string])[] = [['TASK_STATE_CANCELLED', 'TASK_STATE_CANCELED']]

/** The names of an enum by their numbers and by other names. Enums that are not in the proto have none. */
function numbersOf(values: readonly unknown[]): ReadonlyMap<unknown, string> {
  const names = ENUMS.find((each) => each.some((name) => values.includes(name))) ?? []
  const numbers = names.map((name, number): [unknown, string] => [number, name])
  return new Map([...numbers, ...OTHER_NAMES.filter(([, name]) => names.includes(name))])
}

/** As JSON writes numbers. */
const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/

const NUMERIC: Field = {
  values: {
    get: (value) => (typeof value === 'string' && NUMBER.test(value) ? Number(value) : value),
  },
}

function withNames(object: Unread, protoNames: ReadonlyMap<string, string>, path: Path): Unread {
  let copy: Record<string, unknown> | undefined
  for (const key in object) {
    const name = protoNames.get(key)
    if (name === undefined || object[key] === undefined) continue
    if (object[name] !== undefined) {
      throw invalidParams(pathText([...path, key]), `must not be given together with ${name}`)
    }
    copy ??= { ...object }
    copy[name] = object[key]
  }
  return copy ?? object
}

/** `taskId` → `task_id`. */
export function protoNameOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** The names that `value` has on the way along `path`. */
function asWritten(path: readonly PropertyKey[], value: unknown): PropertyKey[] {
  let at = value
  return path.map((key) => {
    const protoName = typeof key === 'string' ? protoNameOf(key) : key
    const isOther = isRecord(at) && !Object.hasOwn(at, key) && Object.hasOwn(at, protoName)
    const name = isOther ? protoName : key
    at = typeof at === 'object' && at !== null ? Reflect.get(at, name) : undefined
    return name
  })
}
