/**
 * Conversion of objects from the spelling of any version to that of A2A 1.0, which the shared schemas validate.
 *
 * @module
 */
import { isRecord, type Unread } from '../runtime/unread.js'
import { invalidParams } from '../core/errors.js'

/** One field as a version writes it. */
export interface Field {
  /** The field's name in 1.0. If both names occur, the value under the name of 1.0 is used. */
  readonly name?: string
  /** Other spellings of its values. */
  readonly values?: { get(value: unknown): unknown }
  /** The spelling of the object in it, or of each object in its list. */
  readonly of?: Spelling
  /** Whether the value is a map from names to objects. `of` is then the spelling of each object. */
  readonly isMap?: boolean
  /** An empty text means that the field is absent, as in ProtoJSON. */
  readonly isEmptyTextAbsent?: boolean
  /** An empty list means that the field is absent, as in ProtoJSON. */
  readonly isEmptyListAbsent?: boolean
  /** `null` is a value here. Elsewhere it means that the field is absent. */
  readonly isNullable?: boolean
  /** Whether the value may become part of a URL, and so must be text that UTF-8 can encode. */
  readonly isId?: boolean
}

/** How one version writes one kind of object. Fields that are the same in 1.0 are not listed. */
export interface Spelling {
  readonly fields: Readonly<Record<string, Field>>
  /** Values of fields that 1.0 requires and some agents leave out. */
  readonly defaults?: Unread
  /**
   * Rewrites the object before its fields are normalized, for differences that a table cannot describe. `path` leads to
   * it.
   */
  readonly rewrite?: (object: Unread, path: Path) => Unread
}

/** The keys that lead to an object from a root that the caller knows. */
export type Path = readonly PropertyKey[]

/** `['message', 'parts', 0, 'text']` → `message.parts[0].text`. */
export function pathText(path: Path, root = ''): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
  return `${root}${text}`.replace(/^\.+/, '') || 'params'
}

/**
 * Converts `value` to the spelling of A2A 1.0. Returns a value without differences unchanged, not copied, and leaves
 * values that are no objects to the schema. Takes time linear in the size of `value`, and recurses only as deep as
 * `spelling`.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path, after `root`, of a value that 1.0 cannot express.
 */
export function normalize(value: unknown, spelling: Spelling, root: string): unknown {
  return normalizeValue(value, spelling, [root])
}

function normalizeValue(value: unknown, spelling: Spelling, path: PropertyKey[]): unknown {
  if (!isRecord(value)) return value
  const { fields, defaults, rewrite } = spelling
  const rewritten = rewrite === undefined ? value : rewrite(value, path)
  const respelled = withFields(withoutAbsent(rewritten, fields), fields, path)
  return defaults === undefined ? respelled : withDefaults(respelled, defaults)
}

function withoutAbsent(object: Unread, fields: Spelling['fields']): Unread {
  for (const key in object) {
    if (isAbsent(object[key], key, fields)) {
      const kept = Object.entries(object).filter(([name, value]) => !isAbsent(value, name, fields))
      return Object.fromEntries(kept)
    }
  }
  return object
}

function isAbsent(value: unknown, key: string, fields: Spelling['fields']): boolean {
  if (value === null) return fieldOf(fields, key)?.isNullable !== true
  if (value === undefined) return true
  if (value === '') return fieldOf(fields, key)?.isEmptyTextAbsent === true
  return Array.isArray(value) && value.length === 0 && fieldOf(fields, key)?.isEmptyListAbsent === true
}

function fieldOf(fields: Spelling['fields'], key: string): Field | undefined {
  return Object.hasOwn(fields, key) ? fields[key] : undefined
}

function withFields(object: Unread, fields: Spelling['fields'], path: PropertyKey[]): Unread {
  let copy: Record<string, unknown> | undefined
  for (const key in object) {
    const field = fieldOf(fields, key)
    if (field === undefined) continue
    const { name = key } = field
    if (name !== key && object[name] !== undefined) continue
    const given = object[key]
    path.push(key)
    const value = fieldValue(given, field, path)
    path.pop()
    if (value === given && name === key) continue
    copy ??= { ...object }
    copy[name] = value
  }
  return copy ?? object
}

function fieldValue(value: unknown, field: Field, path: PropertyKey[]): unknown {
  if (field.isId === true) requireWellFormed(value, path)
  if (field.of !== undefined) {
    return field.isMap === true ? normalizeMap(value, field.of, path) : normalizeMember(value, field.of, path)
  }
  return field.values?.get(value) ?? value
}

function normalizeMember(value: unknown, spelling: Spelling, path: PropertyKey[]): unknown {
  if (!Array.isArray(value)) return normalizeValue(value, spelling, path)
  let copy: unknown[] | undefined
  for (const [index, element] of value.entries()) {
    path.push(index)
    const normalized = normalizeValue(element, spelling, path)
    path.pop()
    if (normalized === element) continue
    copy ??= value.slice()
    copy[index] = normalized
  }
  return copy ?? value
}

function normalizeMap(value: unknown, spelling: Spelling, path: PropertyKey[]): unknown {
  if (!isRecord(value)) return value
  const entries = Object.entries(value).map(([name, member]) => {
    path.push(name)
    const normalized = normalizeValue(member, spelling, path)
    path.pop()
    return [name, normalized] as const
  })
  return Object.fromEntries(entries)
}

function withDefaults(object: Unread, defaults: Unread): Unread {
  for (const key in defaults) if (object[key] === undefined) return { ...defaults, ...object }
  return object
}

function requireWellFormed(value: unknown, path: Path): void {
  if (typeof value !== 'string' || !/\p{Cs}/u.test(value)) return
  throw invalidParams(pathText(path), 'must be well-formed')
}
