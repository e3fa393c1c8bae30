/**
 * JSON from outside against a schema.
 *
 * @module
 */
import type * as z from 'zod'
import { invalidParams } from '../core/errors.js'

/**
 * `value` as `schema` has it, without what the schema does not know.
 *
 * A property that is `null`, and an id that is empty, count as absent, as in ProtoJSON, except where any JSON may stand.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of the first fault, after `root`: `message.parts[0].text …`.
 */
export function check<T>(schema: z.ZodType<T>, value: unknown, root = ''): T {
  const first = schema.safeParse(value)
  if (first.success) return first.data
  // Few peers send nulls and empty texts: only they pay for a second look.
  const second = hasDefaults(value) ? schema.safeParse(withoutDefaults(value)) : first
  if (second.success) return second.data
  const [issue] = second.error.issues
  throw invalidParams(pathText(issue?.path ?? [], root), issue === undefined ? 'is invalid' : reasonOf(issue))
}

/** Reads on after the path. Schemas have texts of their own for what is not a matter of type. */
function reasonOf(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') {
    const [, got] = /received (\w+)/.exec(issue.message) ?? []
    if (got === 'undefined') return 'is missing'
    if (got !== undefined) return `must be ${withArticle(issue.expected)}, got ${withArticle(got)}`
  }
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`
  return issue.message
}

function withArticle(type: string): string {
  if (type === 'null') return type
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`
}

/** Under these keys any JSON may stand, null included. */
const FREE = new Set(['data', 'metadata', 'params', 'header'])
/** What a peer that writes out every default says where it means nothing. */
const OFTEN_EMPTY = new Set(['contextId', 'taskId', 'tenant', 'pageToken', 'filename', 'mediaType'])

function isDefault(key: string, value: unknown): boolean {
  return (value === null && key !== 'data') || (value === '' && OFTEN_EMPTY.has(key))
}

function hasDefaults(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasDefaults)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(
    ([key, child]) => isDefault(key, child) || (!FREE.has(key) && hasDefaults(child)),
  )
}

function withoutDefaults(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDefaults)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([key, child]) => !isDefault(key, child))
  return Object.fromEntries(kept.map(([key, child]) => [key, FREE.has(key) ? child : withoutDefaults(child)]))
}

/** `['message', 'parts', 0, 'text']` → `message.parts[0].text`. */
function pathText(path: readonly PropertyKey[], root: string): string {
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
  return `${root}${text}`.replace(/^\./, '') || 'params'
}
