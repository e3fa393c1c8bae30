/**
 * Refusal of fields that a schema does not have, in objects that a program passes.
 *
 * What other parties send is read without this check: they may use a later version of the protocol.
 *
 * @module
 */
import type * as z from 'zod/mini'
import { invalidParams } from '../core/errors.js'
import { knownNames } from '../runtime/known-names.js'
import { isRecord } from '../runtime/unread.js'

/** Lists and records of ours also have the schema of their members. */
type Definition = z.core.$ZodTypes['_zod']['def'] & {
  readonly element?: z.core.$ZodType
  readonly member?: z.core.$ZodType
}

/**
 * Refuses fields that `schema` does not have, at every depth. Free JSON, such as metadata, may have any.
 *
 * @param path - That of `value`.
 * @throws {A2AError} `INVALID_PARAMS` with the path of the first such field.
 */
export function requireKnownFields(schema: z.core.$ZodType, value: unknown, path: string): void {
  // Every schema of zod is one of these types.
  const definition = schema._zod.def as Definition
  const { element, member } = definition
  if (definition.type === 'optional') requireKnownFields(definition.innerType, value, path)
  if (element !== undefined && Array.isArray(value))
    for (const [index, each] of value.entries()) requireKnownFields(element, each, `${path}[${index}]`)
  if (!isRecord(value)) return
  const shape = definition.type === 'object' ? definition.shape : undefined
  for (const [key, child] of Object.entries(value)) {
    if (shape !== undefined && !Object.hasOwn(shape, key)) {
      throw invalidParams(`${path}.${key}`, `is unknown${knownNames(key, Object.keys(shape))}`)
    }
    const inner = shape?.[key] ?? member
    if (inner !== undefined) requireKnownFields(inner, child, `${path}.${key}`)
  }
}
