/**
 * Base64 for URLs (RFC 4648 §5), without padding.
 *
 * @module
 */

export function toBase64Url(bytes: Uint8Array): string {
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
  return text.replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '')
}

/** The bytes; `undefined` for any other text. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined
  try {
    const binary = atob(text.replace(/-/g, '+').replace(/_/g, '/'))
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0))
    // The last character may have unused bits. Only the canonical spelling is accepted, so that each value has one form.
    return toBase64Url(bytes) === text ? bytes : undefined
  } catch {
    return undefined
  }
}
