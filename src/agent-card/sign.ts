/**
 * Signing and verification of agent cards (A2A 1.0 §8.4).
 *
 * @module
 */
import type * as jose from 'jose'
import { A2AError, invalidParams, missingPackage } from '../core/errors.js'
import { AgentCardSchema, type AgentCard, type AgentCardSignature } from '../schemas/agent-card.js'
import { check } from '../wire/check.js'
import { canonicalizeAgentCard, canonicalizeStripped } from './canonical.js'
import { allowedUrl, faultOf, fetchKeys, isJwk, type FetchKeys, type Jwk, type Key } from './keys.js'
import { DELAY, FLAG, FUNCTION, requireOptions, TEXT, TEXTS, type Rules } from './options.js'
import { parseAgentCard } from './parse.js'
import { isRecord } from '../runtime/unread.js'
import { plain } from './plain.js'
import { systemClock } from '../runtime/clock.js'
import { withTimeout } from '../runtime/abort.js'

/** Options of {@link signAgentCard}. */
export interface SignOptions {
  /** The private key. */
  readonly key: Key
  /** Name of the key for verifiers. Default is the `kid` of a JWK. */
  readonly kid?: string | undefined
  /** The algorithm, such as `ES256`. Default is the `alg` of a JWK. */
  readonly alg?: string | undefined
  /** URL of a key set with the public key. Default is none: verifiers must have the key. */
  readonly jku?: string | undefined
  /**
   * Signs by the presence rules of §8.4.1 only. Default is `false`: when the card has empty values, a second signature
   * covers the text without them, for verifiers that drop empty values, as the official SDKs do.
   */
  readonly exact?: boolean | undefined
}

/** The protected header of a signature. */
export interface SignatureHeader {
  readonly alg: string
  readonly kid: string
  readonly jku?: string
}

/**
 * Options of {@link verifyAgentCard}. Pass `keys`, `getKey` or `allowedJku`; of several, the first that has the key is
 * used, in this order.
 */
export interface VerifyOptions {
  /** Public keys, each with its `kid`: a key set, or a list. */
  readonly keys?: readonly Jwk[] | { readonly keys: readonly Jwk[] } | undefined
  /** Returns the key that a signature names, or nothing if there is none. */
  readonly getKey?:
    ((header: SignatureHeader) => Key | null | undefined | Promise<Key | null | undefined>) | undefined
  /** Where unknown keys may be fetched from: URLs, and origins, which allow all of their URLs. Default is nowhere. */
  readonly allowedJku?: readonly string[] | undefined
  /** Default is all algorithms of ES, EdDSA, PS and RS, which excludes shared secrets. */
  readonly algorithms?: readonly string[] | undefined
  /** Whether a key is revoked, in addition to those whose JWK says so. Default is that none is. */
  readonly isRevoked?: ((header: SignatureHeader) => boolean | Promise<boolean>) | undefined
  /** Refuses signatures of a text without empty values (see {@link SignOptions.exact}). Default is `false`. */
  readonly exact?: boolean | undefined
  /** Fetches key sets. Default is the runtime's `fetch`. */
  readonly fetch?: FetchKeys | undefined
  /** Time limit for each call of `getKey` and `isRevoked` and for each key set, in ms. Default is 5,000. */
  readonly timeoutMs?: number | undefined
  /** Returns the time in ms since 1970. Default is the runtime's clock. */
  readonly now?: (() => number) | undefined
}

/** A card with a valid signature, and the header of that signature. */
export interface VerifiedCard extends SignatureHeader {
  /** The signed content of the card, without anything that the signature does not cover. */
  readonly card: AgentCard
}

const ALGORITHMS: readonly string[] = [
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
]

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

const SIGN_OPTIONS: Rules<SignOptions> = {
  key: { wanted: 'a private key', isMet: isObject },
  kid: TEXT,
  alg: TEXT,
  jku: TEXT,
  exact: FLAG,
}

const VERIFY_OPTIONS: Rules<VerifyOptions> = {
  keys: {
    wanted: 'a list of JWKs, or a key set',
    isMet(value) {
      const keys = isRecord(value) ? value['keys'] : value
      return Array.isArray(keys) && keys.every(isRecord)
    },
  },
  getKey: FUNCTION,
  allowedJku: TEXTS,
  algorithms: TEXTS,
  isRevoked: FUNCTION,
  exact: FLAG,
  fetch: FUNCTION,
  timeoutMs: DELAY,
  now: FUNCTION,
}

/** A card has one or two signatures. Each may cost a lookup of its key. */
const MAX_SIGNATURES = 16

/**
 * Returns the card with a signature added (A2A 1.0 §8.4.2). It replaces signatures with the same `kid`. Needs the
 * package `jose`.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of what is missing or wrong. Without `exact`, required texts and
 *   the list of skills must not be empty. `UNSUPPORTED_OPERATION` without `jose`.
 * @throws {TypeError | RangeError} for an option that is unknown, missing, of another type, or out of range.
 */
export async function signAgentCard(card: AgentCard, options: SignOptions): Promise<AgentCard> {
  requireOptions(options, SIGN_OPTIONS, 'signAgentCard')
  const { key, exact = false, jku } = options
  const jwk = isJwk(key) ? key : {}
  const { kid = jwk.kid, alg = jwk.alg } = options
  if (!kid) throw invalidParams('options.kid', 'is missing: pass the name by which verifiers find the key')
  if (!alg) throw invalidParams('options.alg', 'is missing: pass the algorithm of the key, such as ES256')
  const { signatures = [], ...checked } = check(AgentCardSchema, plain(card), 'card')
  if (!exact) requireTexts(checked)
  const { FlattenedSign, decodeProtectedHeader } = await loadJose()
  const header = { alg, kid, typ: 'JOSE', ...(jku !== undefined && { jku }) }
  const signing = textsOf(checked, exact).map(async (text) => {
    const jws = new FlattenedSign(new TextEncoder().encode(text)).setProtectedHeader(header)
    const signed = await jws.sign(key)
    return { protected: signed.protected ?? '', signature: signed.signature }
  })
  const others = signatures.filter((each) => attempt(() => decodeProtectedHeader(each).kid) !== kid)
  try {
    return { ...checked, signatures: [...others, ...(await Promise.all(signing))] }
  } catch (cause) {
    throw invalidParams('options.key', `cannot sign with ${alg}`, cause)
  }
}

/**
 * Verifies the signatures of a card and returns the first valid one: one is enough (A2A 1.0 §8.4.3). `card` is JSON of
 * A2A 1.0, or a hybrid of 1.0 and 0.3. At most 16 signatures are tried. Needs the package `jose`.
 *
 * @throws {A2AError} `SIGNATURE_INVALID` when none is valid; `INVALID_PARAMS` for JSON that is not a card;
 *   `UNSUPPORTED_OPERATION` without `jose`.
 * @throws {TypeError | RangeError} for an option that is unknown, missing, of another type, or out of range.
 */
export async function verifyAgentCard(card: unknown, options: VerifyOptions): Promise<VerifiedCard> {
  requireOptions(options, VERIFY_OPTIONS, 'verifyAgentCard')
  if (!options.keys && !options.getKey && !options.allowedJku) {
    throw new TypeError('"keys" is missing: pass "keys", "getKey" or "allowedJku"')
  }
  const { signatures = [], ...rest } = parseAgentCard(card)
  const texts = textsOf(isRecord(card) ? card : rest, options.exact ?? false)
  const loaded = await loadJose()
  const faults: string[] = []
  const causes: unknown[] = []
  const sets: KeySets = new Map()
  for (const [index, signature] of signatures.slice(0, MAX_SIGNATURES).entries()) {
    try {
      const { header, text } = await verifyOne(loaded, signature, texts, options, sets)
      return { ...header, card: { ...parseAgentCard(JSON.parse(text)), signatures } }
    } catch (cause) {
      causes.push(cause)
      faults.push(`card.signatures[${index}]: ${cause instanceof Error ? cause.message : 'failed'}`)
    }
  }
  const reason = faults.length === 0 ? 'it has none' : faults.join('; ')
  const [cause] = causes
  throw new A2AError('SIGNATURE_INVALID', `The card has no valid signature: ${reason}`, { reason }, { cause })
}

type Jose = typeof jose

/** Key sets fetched for this card, by URL, since several signatures may name the same one. */
type KeySets = Map<string, Promise<readonly Jwk[]>>

async function verifyOne(
  jose: Jose,
  signature: AgentCardSignature,
  texts: readonly string[],
  options: VerifyOptions,
  sets: KeySets,
): Promise<{ header: SignatureHeader; text: string }> {
  const header = headerOf(jose, signature)
  const { algorithms = ALGORITHMS, isRevoked, timeoutMs = 5_000 } = options
  if (!algorithms.includes(header.alg))
    throw new Error(`the algorithm ${header.alg.slice(0, 20)} is not allowed`)
  if (isRevoked && (await withTimeout(timeoutMs, () => isRevoked(header))))
    throw new Error('its key is revoked')
  const found = await keysFor(header, options, sets)
  if (found.length === 0) throw new Error('its key is not known')
  const now = options.now?.() ?? systemClock.now()
  const live = found.filter((key) => faultOf(key, now) === undefined)
  if (live.length === 0) throw new Error(found.map((key) => faultOf(key, now)).join(', '))
  let failure: unknown
  for (const key of live) {
    for (const text of texts) {
      const jws = { ...signature, payload: jose.base64url.encode(text) }
      try {
        await jose.flattenedVerify(jws, key, {
          algorithms: [header.alg],
        })
        return { header, text }
      } catch (cause) {
        failure ??= cause
      }
    }
  }
  throw new Error('it does not match', { cause: failure })
}

/** Only the protected header is signed; the unprotected one may have been changed. */
function headerOf({ decodeProtectedHeader }: Jose, signature: AgentCardSignature): SignatureHeader {
  const { alg, kid, jku, crit } = attempt(() => decodeProtectedHeader(signature)) ?? {}
  if (typeof alg !== 'string' || typeof kid !== 'string' || kid === '') {
    throw new Error('its protected header does not have alg and kid (§8.4.2)')
  }
  // No JWS extension applies to cards.
  if (crit !== undefined) throw new Error('its header requires an extension of JWS, which is not supported')
  return { alg, kid, ...(typeof jku === 'string' && { jku }) }
}

/** Several keys when a set has a `kid` twice. */
async function keysFor(
  header: SignatureHeader,
  options: VerifyOptions,
  sets: KeySets,
): Promise<readonly Key[]> {
  const { keys = [], getKey, allowedJku = [], fetch: get = fetch, timeoutMs = 5_000 } = options
  const named = (each: Jwk): boolean => each.kid === header.kid
  const known = ('length' in keys ? keys : keys.keys).filter(named)
  if (known.length > 0) return known
  const given = getKey && (await withTimeout(timeoutMs, () => getKey(header)))
  if (given) return [given]
  if (header.jku === undefined) return []
  const url = allowedUrl(header.jku, allowedJku)
  if (url === undefined) throw new Error('its key is not known, and its jku is not allowed')
  const set = sets.get(url.href) ?? fetchKeys(url, get, timeoutMs)
  sets.set(url.href, set)
  return (await set).filter(named)
}

/** Returns the texts that a signature may cover: the canonical one and, if it differs, the one without empty values. */
function textsOf(card: object, exact: boolean): readonly string[] {
  const text = canonicalizeAgentCard(card)
  const stripped = canonicalizeStripped(card)
  return exact || stripped === text ? [text] : [text, stripped]
}

/** Without these fields the text without empty values is not a valid card. */
function requireTexts({ name, description, version, provider, skills }: AgentCard): void {
  const texts = [
    ...Object.entries({ name, description, version, 'provider.organization': provider?.organization }),
    ...skills.flatMap((skill, index) => [
      [`skills[${index}].name`, skill.name] as const,
      [`skills[${index}].description`, skill.description] as const,
    ]),
    ['skills', skills.length === 0 ? '' : undefined] as const,
  ]
  const [path] = texts.find(([, text]) => text === '') ?? []
  if (path !== undefined) throw invalidParams(`card.${path}`, 'must not be empty in a card to sign')
}

function attempt<T>(get: () => T): T | undefined {
  try {
    return get()
  } catch {
    return undefined
  }
}

/** `jose` is an optional peer, loaded on demand. */
async function loadJose(): Promise<Jose> {
  try {
    return await import('jose')
  } catch (cause) {
    throw missingPackage('Signatures of agent cards need jose', 'jose', 'signatures of agent cards', cause)
  }
}
