/**
 * Error texts of the schemas, worded to follow the path of a value.
 *
 * @module
 */
import type * as z from 'zod/mini'

export function wrongType(expected: string, value: unknown): string {
  return value === undefined
    ? 'is missing'
    : `must be ${withArticle(expected)}, got ${withArticle(typeOf(value))}`
}

export function notOneOf(values: readonly unknown[]): string {
  return `must be one of ${values.map(String).join(', ')}`
}

/** The error text for an issue of a schema of zod that has no text of its own. */
export function reasonOf(issue: z.core.$ZodRawIssue): string | undefined {
  // zod's word for an object with arbitrary keys is record.
  if (issue.code === 'invalid_type')
    return wrongType(issue.expected === 'record' ? 'object' : issue.expected, issue.input)
  return issue.code === 'invalid_value' ? notOneOf(issue.values) : undefined
}

function withArticle(type: string): string {
  if (type === 'null') return type
  return /^[aeio]/.test(type) ? `an ${type}` : `a ${type}`
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}
