/**
 * Part: a piece of content of a message or an artifact.
 *
 * @module
 */
import { JsonObjectSchema, JsonValueSchema } from './json.js'
import { exactlyOneOf } from './one-of.js'
import { STRICT, type Rules } from './rules.js'
import { object, optional, string } from './scalars.js'
import type { Infer } from './schema.js'

export function definePart({ text, base64 }: Rules) {
  return exactlyOneOf(
    object({
      text: optional(string),
      raw: optional(base64),
      url: optional(text),
      data: optional(JsonValueSchema),
      metadata: optional(JsonObjectSchema),
      filename: optional(text),
      mediaType: optional(text),
    }),
    ['text', 'raw', 'url', 'data'],
  )
}

/** A2A 1.0 §4.1.6. */
export const PartSchema = definePart(STRICT)
export type Part = Infer<typeof PartSchema>
