/**
 * JSON within protocol objects: checked one level deep. How deep it goes, and how plain it is, is checked where it is
 * taken in.
 *
 * @module
 */
import * as z from 'zod/mini'

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject
export interface JsonObject {
  [key: string]: JsonValue
}

const JSON_TYPES: readonly string[] = ['string', 'number', 'boolean', 'object']

/** Anything but `undefined` and what JSON has no type for; passed on as it is, not copied. */
export const JsonValueSchema = z.custom<JsonValue>(
  (value: unknown) => JSON_TYPES.includes(typeof value),
  'must be JSON',
)

/** An object that is no array; passed on as it is, not copied. */
export const JsonObjectSchema = z.custom<JsonObject>(
  (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be an object',
)
