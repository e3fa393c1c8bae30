/**
 * Bytes as Node has them.
 *
 * @module
 */

/** The bytes as a `Buffer`, whose methods executors call; unchanged on platforms without it. */
export function toBuffer(bytes: Uint8Array): Uint8Array {
  const { Buffer } = globalThis as { Buffer?: { from(bytes: Uint8Array): Uint8Array } }
  return Buffer === undefined ? bytes : Buffer.from(bytes)
}
