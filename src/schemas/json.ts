/**
 * JSON within protocol objects, checked one level deep. The core checks its depth and content when it stores it.
 *
 * @module
 */
import { isRecord } from '../runtime/unread.js'
import { custom } from './scalars.js'

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject
/** A JSON object. */
export interface JsonObject {
  [key: string]: JsonValue
}

const JSON_TYPES: readonly string[] = ['string', 'number', 'boolean', 'object']

/** Any value of a JSON type. Returned unchanged, not copied. */
export const JsonValueSchema = custom<JsonValue>((value) => JSON_TYPES.includes(typeof value), 'must be JSON')

/** The error text of {@link JsonObjectSchema}. */
export const NOT_AN_OBJECT = 'must be an object'

/** An object, not an array. Returned unchanged, not copied. */
export const JsonObjectSchema = custom<JsonObject>(isRecord, NOT_AN_OBJECT)
