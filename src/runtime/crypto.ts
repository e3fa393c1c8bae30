/**
 * The platform's cryptography and random numbers.
 *
 * @module
 */

/** The platform's `crypto`, looked up per call so that a replacement of the global takes effect. */
export const platformCrypto = (): typeof crypto => globalThis.crypto

/** A key of Web Crypto. */
export type AesKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>

/** The SHA-256 hash of a text in UTF-8. */
export async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
}

/** A number from 0 to 1, for spreading retries; not for secrets. */
export const platformRandom = (): number => Math.random()
