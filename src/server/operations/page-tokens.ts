/**
 * Page tokens that reveal nothing, for tasks in memory.
 *
 * @module
 */
import { invalidParams } from '../../core/errors.js'
import { fromBase64Url, toBase64Url } from '../../runtime/base64url.js'
import { platformCrypto, type AesKey } from '../../runtime/crypto.js'

const NONCE_BYTES = 12
/** In characters. Far above the size of any cursor. */
const MAX_LENGTH = 16_384
/** Tokens have a multiple of this size, so that their length does not show how many changes there were. */
const BLOCK = 64

/**
 * Seals cursors with AES-256-GCM under a key of this process. The cursor of a manager in memory counts the changes of all
 * tasks, also those of other owners.
 */
export class PageTokens {
  #key: Promise<AesKey> | undefined

  /** @param scope - Whom and what the token is for: it opens with the same one only. */
  async seal(cursor: string, scope: string): Promise<string> {
    const platform = platformCrypto()
    const nonce = platform.getRandomValues(new Uint8Array(NONCE_BYTES))
    const text = JSON.stringify(cursor)
    const padded = new TextEncoder().encode(text.padEnd(Math.ceil(text.length / BLOCK) * BLOCK))
    const sealed = await platform.subtle.encrypt(algorithm(nonce, scope), await this.#secret(), padded)
    return toBase64Url(new Uint8Array([...nonce, ...new Uint8Array(sealed)]))
  }

  /** @throws {A2AError} `INVALID_PARAMS`, as a rejection, for a token that was not sealed here for this scope. */
  async open(token: string, scope: string): Promise<string> {
    const bytes = token.length > MAX_LENGTH ? undefined : fromBase64Url(token)
    if (bytes !== undefined && bytes.length > NONCE_BYTES) {
      const key = await this.#secret()
      const nonce = bytes.slice(0, NONCE_BYTES)
      const { subtle } = platformCrypto()
      const opening = subtle.decrypt(algorithm(nonce, scope), key, bytes.slice(NONCE_BYTES))
      const plain = await opening.catch(() => undefined)
      // Authenticated encryption guarantees that `seal` wrote this text.
      if (plain !== undefined) return JSON.parse(new TextDecoder().decode(plain)) as string
    }
    throw invalidParams('pageToken', 'must be a nextPageToken of the same request')
  }

  /** The key is made with the first token: not every agent has a second page. */
  #secret(): Promise<AesKey> {
    const { subtle } = platformCrypto()
    this.#key ??= subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
    return this.#key
  }
}

function algorithm(iv: Uint8Array<ArrayBuffer>, scope: string) {
  return { name: 'AES-GCM', iv, additionalData: new TextEncoder().encode(scope) }
}
