/**
 * Sealed handles that find a task at its service from any process.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { fromBase64Url, toBase64Url } from '../../runtime/base64url.js'
import { platformCrypto, type AesKey } from '../../runtime/crypto.js'
import type { TaskRef } from '../provider.js'

/** Contents of a handle. */
export interface HandleContents {
  readonly taskId: string
  readonly contextId: string
  readonly agentId: string
  /** Canonical name of the agent's provider. A `ref` is meaningless to another provider. */
  readonly provider: string
  readonly ref: TaskRef
  /** The principal that the task belongs to. Absent for a task without an owner. */
  readonly owner?: string
}

const PREFIX = 'a2ah1.'
const NONCE_BYTES = 12
const MIN_SECRET = 32
/** In characters. Far above the size of any `ref`. */
const MAX_LENGTH = 16_384
const PURPOSE = new TextEncoder().encode('a2a-tasks gateway handle 1')

/** Whether `text` has the prefix of a handle. No task id has it. */
export function isHandle(text: string): boolean {
  return text.startsWith(PREFIX)
}

/**
 * Seals handles with AES-256-GCM (NIST SP 800-38D) under a key derived from a secret with HKDF. The holder of a handle
 * can neither read, change nor forge it. Any process with the same secret opens it.
 */
export class HandleSeal {
  readonly #keys: readonly Promise<AesKey>[]

  /**
   * @param secrets - The first seals, all open. To rotate, put a new secret in front and keep the old one as long as
   *   its handles are in use.
   * @throws {RangeError} for a secret with fewer than 32 characters.
   */
  constructor(secrets: readonly string[]) {
    if (secrets.some((secret) => secret.length < MIN_SECRET)) {
      throw new RangeError(`"handleSecret" must have at least ${MIN_SECRET} characters`)
    }
    this.#keys = (secrets.length > 0 ? secrets : [randomSecret()]).map(deriveKey)
    // `seal` and `open` await the key and report its failure.
    for (const key of this.#keys) key.catch(() => undefined)
  }

  async seal(contents: HandleContents): Promise<string> {
    const { subtle } = platformCrypto()
    const nonce = randomBytes(NONCE_BYTES)
    const plain = new TextEncoder().encode(JSON.stringify(contents))
    const [key] = this.#keys
    // The constructor adds at least one key.
    const sealed = await subtle.encrypt(algorithm(nonce), await (key as Promise<AesKey>), plain)
    return PREFIX + toBase64Url(new Uint8Array([...nonce, ...new Uint8Array(sealed)]))
  }

  /** @throws {A2AError} `TASK_NOT_FOUND` when no secret sealed this handle. The error does not say why. */
  async open(handle: string): Promise<HandleContents> {
    const bytes = handle.length > MAX_LENGTH ? undefined : fromBase64Url(handle.slice(PREFIX.length))
    if (isHandle(handle) && bytes !== undefined && bytes.length > NONCE_BYTES) {
      for (const key of this.#keys) {
        const plain = await unseal(await key, bytes)
        // Authenticated encryption guarantees that `seal` wrote this text.
        if (plain !== undefined) return JSON.parse(new TextDecoder().decode(plain)) as HandleContents
      }
    }
    throw new A2AError('TASK_NOT_FOUND', 'Task not found: the handle was not made with this secret', {
      taskId: handle.slice(0, 40),
    })
  }
}

async function deriveKey(secret: string): Promise<AesKey> {
  const { subtle } = platformCrypto()
  const material = await subtle.importKey('raw', new TextEncoder().encode(secret), 'HKDF', false, [
    'deriveKey',
  ])
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(32), info: PURPOSE }
  return await subtle.deriveKey(derivation, material, { name: 'AES-GCM', length: 256 }, false, [
    'encrypt',
    'decrypt',
  ])
}

async function unseal(key: AesKey, bytes: Uint8Array<ArrayBuffer>): Promise<ArrayBuffer | undefined> {
  try {
    const nonce = bytes.slice(0, NONCE_BYTES)
    return await platformCrypto().subtle.decrypt(algorithm(nonce), key, bytes.slice(NONCE_BYTES))
  } catch {
    return undefined
  }
}

function algorithm(iv: Uint8Array<ArrayBuffer>) {
  return { name: 'AES-GCM', iv, additionalData: PURPOSE }
}

function randomBytes(length: number): Uint8Array<ArrayBuffer> {
  return platformCrypto().getRandomValues(new Uint8Array(length))
}

/** Without a secret, handles are valid as long as their gateway exists. */
function randomSecret(): string {
  return toBase64Url(randomBytes(MIN_SECRET))
}
