/**
 * The schemas as those of zod/mini.
 *
 * zod/mini has no error texts, and a locale would apply to every other user of zod in the process.
 *
 * @module
 */
import * as z from 'zod/mini'
import { ZodMiniObject } from 'zod/mini'
import { $constructor, $ZodObjectJIT, _isoDateTime } from 'zod/v4/core'
import { isBrowserPage } from '../runtime/environment.js'
import { isRecord } from '../runtime/unread.js'
import type { Check, Definition, Schema } from './schema.js'
import { reasonOf, wrongType } from './texts.js'

const TEXTS = { error: reasonOf }

const made = new WeakMap<Schema, z.ZodMiniType>()

/** The schema of zod that accepts and refuses the same, with the same texts. Always the same one for the same schema. */
export function toZod<Z extends z.ZodMiniType>(schema: Schema<Z>): Z {
  let zod = made.get(schema)
  if (zod === undefined) {
    const { checks } = schema
    zod = ofType(schema.definition)
    if (checks.length > 0) zod = zod.check(...checks.map(refinement))
    made.set(schema, zod)
  }
  // The building blocks state the type of what is made of them.
  return zod as Z
}

function refinement(check: Check): z.core.$ZodCheck<unknown> {
  const { error, path } = check
  return z.refine<unknown>((value) => check.test(value), {
    path: [...path],
    error: typeof error === 'string' ? error : ({ input }) => error(input),
  })
}

function ofType(definition: Definition): z.ZodMiniType {
  switch (definition.type) {
    case 'string':
      return z.string(textsOf(definition.error))
    case 'number':
      return z.number(textsOf(definition.error))
    case 'boolean':
      return z.boolean(TEXTS)
    case 'unknown':
      return z.unknown()
    case 'dateTime':
      // Naming `z.iso` would put all of its formats into the bundle.
      return _isoDateTime(z.ZodMiniISODateTime, {
        offset: true,
        local: definition.local,
        error: definition.error,
      })
    case 'enum':
      return z.enum(definition.values, TEXTS)
    case 'literal':
      return z.literal(definition.values, TEXTS)
    case 'custom':
      return z.custom(definition.test, definition.error)
    case 'list':
      return list(toZod(definition.element), definition.whenEmpty)
    case 'record':
      return record(toZod(definition.member))
    case 'object':
      return object(definition.shape)
    case 'optional':
      // Not z.exactOptional: that parses absent keys as well and discards the issues, which makes reading a message ten
      // times slower. For JSON the two behave alike otherwise.
      return z.optional(toZod(definition.inner))
    case 'nullable':
      return z.nullable(toZod(definition.inner))
  }
}

function textsOf(error: string | undefined): { error: string } | typeof TEXTS {
  return error === undefined ? TEXTS : { error }
}

// The objects of zod/mini walk their shape for every value, which makes reading a message several times slower. These
// are zod's own, which compile the shape to a function where the runtime allows it. Pages keep those of zod/mini: under a
// strict Content-Security-Policy, the browser reports each attempt to compile.
const CompiledObject = $constructor<ZodMiniObject>('CompiledObject', (schema, definition) => {
  if (!isBrowserPage()) $ZodObjectJIT.init(schema, definition)
  ZodMiniObject.init(schema, definition)
})

function object(fields: Readonly<Record<string, Schema>>): ZodMiniObject {
  const shape = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, toZod(field)]))
  return new CompiledObject({ type: 'object', shape, ...TEXTS })
}

/** Stops at the first invalid element: `z.array` keeps the issues of all, which take gigabytes for a body of four megabytes. */
function list(element: z.ZodMiniType, whenEmpty: string | undefined): z.ZodMiniType {
  const transform = z.transform((value: unknown, { issues }) => {
    if (!Array.isArray(value)) {
      const message = wrongType('array', value)
      issues.push({ code: 'invalid_type', expected: 'array', message, input: value })
      return z.NEVER
    }
    if (value.length === 0 && whenEmpty !== undefined) {
      issues.push({ code: 'custom', message: whenEmpty, input: value })
    }
    const elements: unknown[] = []
    for (let index = 0; index < value.length; index += 1) {
      const parsed = element.safeParse(value[index])
      if (!parsed.success) {
        issues.push(issueAt(index, parsed.error, value))
        return z.NEVER
      }
      elements.push(parsed.data)
    }
    return elements
  })
  return z.pipe(z.unknown(), transform)
}

/** Stops at the first invalid value, as {@link list} does. */
function record(member: z.ZodMiniType): z.ZodMiniType {
  const transform = z.transform((given: unknown, { issues }) => {
    if (!isRecord(given)) {
      const message = wrongType('object', given)
      issues.push({ code: 'invalid_type', expected: 'object', message, input: given })
      return z.NEVER
    }
    const entries: [name: string, value: unknown][] = []
    for (const [name, child] of Object.entries(given)) {
      const parsed = member.safeParse(child)
      if (!parsed.success) {
        issues.push(issueAt(name, parsed.error, given))
        return z.NEVER
      }
      // A key of that name must not become the prototype of a copy.
      if (name !== '__proto__') entries.push([name, parsed.data])
    }
    return Object.fromEntries(entries)
  })
  return z.pipe(z.unknown(), transform)
}

/** The first issue of a member, with the path from its parent. */
function issueAt(key: PropertyKey, error: z.core.$ZodError, input: unknown): z.core.$ZodRawIssue {
  const [issue] = error.issues
  // A raw issue is an issue with its input.
  return { ...issue, path: [key, ...(issue?.path ?? [])], input } as z.core.$ZodRawIssue
}
