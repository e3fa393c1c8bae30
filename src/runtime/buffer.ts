/**
 * Bytes as Node has them.
 *
 * @module
 */

interface BufferConstructor {
  from(bytes: Uint8Array): Uint8Array
  isBuffer(value: unknown): boolean
}

/** The bytes as a `Buffer`, whose methods code calls; unchanged on platforms without it. */
export function toBuffer(bytes: Uint8Array): Uint8Array {
  return platformBuffer()?.from(bytes) ?? bytes
}

export function isBuffer(bytes: Uint8Array): boolean {
  return platformBuffer()?.isBuffer(bytes) === true
}

function platformBuffer(): BufferConstructor | undefined {
  return (globalThis as { Buffer?: BufferConstructor }).Buffer
}
