/**
 * Where the store meets the platform.
 *
 * @module
 */

/** A text that nobody has made before. */
export const nonce = (): string => crypto.randomUUID()
