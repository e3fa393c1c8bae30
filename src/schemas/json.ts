/**
 * JSON within protocol objects, checked one level deep. The core checks its depth and content when it stores it.
 *
 * @module
 */
import * as z from 'zod/mini'

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject
/** A JSON object. */
export interface JsonObject {
  [key: string]: JsonValue
}

const JSON_TYPES: readonly string[] = ['string', 'number', 'boolean', 'object']

/** Any value of a JSON type. Returned unchanged, not copied. */
export const JsonValueSchema = z.custom<JsonValue>(
  (value: unknown) => JSON_TYPES.includes(typeof value),
  'must be JSON',
)

/** The error text of {@link JsonObjectSchema}. */
export const NOT_AN_OBJECT = 'must be an object'

/** An object, not an array. Returned unchanged, not copied. */
export const JsonObjectSchema = z.custom<JsonObject>(
  (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  NOT_AN_OBJECT,
)
