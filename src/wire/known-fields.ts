/**
 * Refusal of fields that a schema does not have, in objects that a program passes.
 *
 * What other parties send is read without this check: they may use a later version of the protocol.
 *
 * @module
 */
import { invalidParams } from '../core/errors.js'
import { knownNames } from '../runtime/known-names.js'
import { isRecord } from '../runtime/unread.js'
import type { Schema } from '../schemas/schema.js'

/**
 * Refuses fields that `schema` does not have, at every depth. Free JSON, such as metadata, may have any.
 *
 * @param path - That of `value`.
 * @throws {A2AError} `INVALID_PARAMS` with the path of the first such field.
 */
export function requireKnownFields({ definition }: Schema, value: unknown, path: string): void {
  if (definition.type === 'optional') requireKnownFields(definition.inner, value, path)
  if (definition.type === 'list' && Array.isArray(value))
    for (const [index, each] of value.entries())
      requireKnownFields(definition.element, each, `${path}[${index}]`)
  if (!isRecord(value)) return
  const shape = definition.type === 'object' ? definition.shape : undefined
  const member = definition.type === 'record' ? definition.member : undefined
  for (const [key, child] of Object.entries(value)) {
    if (shape !== undefined && !Object.hasOwn(shape, key)) {
      throw invalidParams(`${path}.${key}`, `is unknown${knownNames(key, Object.keys(shape))}`)
    }
    const inner = shape?.[key] ?? member
    if (inner !== undefined) requireKnownFields(inner, child, `${path}.${key}`)
  }
}
