/**
 * Bytes as Node has them, and how many a text has.
 *
 * @module
 */

interface BufferConstructor {
  from(bytes: Uint8Array): Uint8Array
  isBuffer(value: unknown): boolean
  byteLength(text: string): number
}

/** The bytes as a `Buffer`, whose methods code calls; unchanged on platforms without it. */
export function toBuffer(bytes: Uint8Array): Uint8Array {
  return platformBuffer()?.from(bytes) ?? bytes
}

export function isBuffer(bytes: Uint8Array): boolean {
  return platformBuffer()?.isBuffer(bytes) === true
}

/** The bytes of a text in UTF-8; `undefined` on platforms without `Buffer`. */
export function utf8Length(text: string): number | undefined {
  return platformBuffer()?.byteLength(text)
}

function platformBuffer(): BufferConstructor | undefined {
  return (globalThis as { Buffer?: BufferConstructor }).Buffer
}
