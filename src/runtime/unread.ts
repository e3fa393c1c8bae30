/**
 * Type of JSON objects before their validation.
 *
 * @module
 */

/** A JSON object whose fields are not validated yet. */
export type Unread = Readonly<Record<string, unknown>>
