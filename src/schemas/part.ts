/**
 * A piece of content.
 *
 * @module
 */
import * as z from 'zod/mini'
import { JsonObjectSchema, JsonValueSchema } from './json.js'
import { exactlyOneOf } from './one-of.js'
import { nonEmptyString, object, optional, string } from './scalars.js'

/** A2A 1.0 §4.1.6. */
export const PartSchema = exactlyOneOf(
  object({
    text: optional(string),
    raw: optional(string.check(z.refine(isBase64, 'must be base64'))),
    url: optional(nonEmptyString),
    data: optional(JsonValueSchema),
    metadata: optional(JsonObjectSchema),
    filename: optional(nonEmptyString),
    mediaType: optional(nonEmptyString),
  }),
  ['text', 'raw', 'url', 'data'],
)
export type Part = z.infer<typeof PartSchema>

const STANDARD = /^[A-Za-z0-9+/]*={0,2}$/
const URL_SAFE = /^[A-Za-z0-9_-]*={0,2}$/

/** ProtoJSON takes either alphabet, with padding or without. */
function isBase64(text: string): boolean {
  const digitsOver = text.length % 4
  return (
    (text.endsWith('=') ? digitsOver === 0 : digitsOver !== 1) && (STANDARD.test(text) || URL_SAFE.test(text))
  )
}
