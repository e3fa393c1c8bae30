/**
 * Keys for signatures of cards.
 *
 * @module
 */
import { isRecord } from '../runtime/unread.js'
import { plain } from './plain.js'
import { withTimeout } from '../runtime/abort.js'

/** A JSON Web Key (RFC 7517). A key past its `exp` (in seconds since 1970), or with `revoked`, verifies nothing. */
export interface Jwk {
  readonly kty?: string
  readonly kid?: string
  readonly alg?: string
  readonly exp?: number
  readonly [parameter: string]: unknown
}

/** A `CryptoKey`, or a `KeyObject` of Node. */
export interface NativeKey {
  readonly type: string
}

/** Bytes are a shared secret. */
export type Key = Jwk | NativeKey | Uint8Array

/** Fetches keys. The global `fetch` fits. */
export type FetchKeys = (url: string, init: RequestInit) => Promise<Response>

export function isJwk(key: unknown): key is Jwk {
  return isRecord(key) && typeof key['kty'] === 'string'
}

/** Returns the reason why a key must not be used at this time. */
export function faultOf(key: Key, now: number): string | undefined {
  if (!isJwk(key)) return undefined
  const { exp, nbf, revoked } = key
  if (revoked !== undefined && revoked !== false && revoked !== null) return 'its key is revoked'
  if (exp !== undefined && !(typeof exp === 'number' && now < exp * 1000)) return 'its key has expired'
  if (nbf !== undefined && !(typeof nbf === 'number' && now >= nbf * 1000)) return 'its key is not valid yet'
  return undefined
}

/** Returns the URL if the list allows it. An entry without a path allows its whole origin. */
export function allowedUrl(url: string, list: readonly string[]): URL | undefined {
  const asked = parse(url)
  if (asked === undefined || asked.username !== '' || asked.password !== '') return undefined
  const isListed = list.map(parse).some((entry) => {
    if (entry === undefined) return false
    const isOrigin = entry.pathname === '/' && entry.search === '' && entry.hash === ''
    return isOrigin ? entry.origin === asked.origin : entry.href === asked.href
  })
  return isListed ? asked : undefined
}

/** Other URLs cannot be fetched, and share the origin `null`. */
function parse(url: string): URL | undefined {
  try {
    const parsed = new URL(url)
    return /^https?:$/.test(parsed.protocol) ? parsed : undefined
  } catch {
    return undefined
  }
}

/** Key sets take a few kilobytes. */
const MAX_BYTES = 262_144

/** Fetches the public keys at a URL (RFC 7517 §5). Rejects when there are none, or after `timeoutMs`. */
export async function fetchKeys(url: URL, fetch: FetchKeys, timeoutMs: number): Promise<readonly Jwk[]> {
  const set = plain(JSON.parse(await withTimeout(timeoutMs, (signal) => load(url, fetch, signal))))
  const keys: unknown = isRecord(set) ? set['keys'] : undefined
  if (!Array.isArray(keys)) throw new Error('no key set')
  // A shared secret that is published proves nothing.
  return keys.filter(isJwk).filter(({ kty }) => kty !== 'oct')
}

async function load(url: URL, fetch: FetchKeys, signal: AbortSignal): Promise<string> {
  const headers = { accept: 'application/jwk-set+json, application/json' }
  // Workers do not support the more fitting `'error'`.
  const response = await fetch(url.href, { headers, signal, redirect: 'manual' })
  if (response.status !== 200) throw new Error(`HTTP ${response.status}`)
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  const body: ReadableStream<Uint8Array> | null = response.body
  const reader = body?.getReader()
  while (reader !== undefined) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.byteLength
    if (size > MAX_BYTES) {
      await reader.cancel()
      throw new Error(`more than ${MAX_BYTES} bytes`)
    }
    text += decoder.decode(value, { stream: true })
  }
  return text + decoder.decode()
}
