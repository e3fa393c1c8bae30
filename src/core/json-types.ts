/**
 * Types of JSON values.
 *
 * @module
 */

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject
/** A JSON object. */
export interface JsonObject {
  [key: string]: JsonValue
}

/** JSON that cannot be changed. */
export type ReadonlyJson =
  string | number | boolean | null | readonly ReadonlyJson[] | { readonly [key: string]: ReadonlyJson }
