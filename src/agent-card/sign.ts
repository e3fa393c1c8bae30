/**
 * Signatures of cards: who signed that an agent is what its card says (A2A 1.0 §8.4).
 *
 * @module
 */
import type * as jose from 'jose'
import { A2AError, invalidParams } from '../core/errors.js'
import { AgentCardSchema, type AgentCard, type AgentCardSignature } from '../schemas/agent-card.js'
import { check } from '../wire/check.js'
import { canonicalizeAgentCard, canonicalizeStripped } from './canonical.js'
import { allowed, faultOf, fetchKeys, isJwk, type FetchKeys, type Jwk, type Key } from './keys.js'
import { DELAY, FLAG, FUNCTION, requireOptions, TEXT, TEXTS, type Rules } from './options.js'
import { parseAgentCard } from './parse.js'
import { isRecord } from '../wire/normalize.js'
import { plain } from './plain.js'
import { systemClock } from '../runtime/clock.js'
import { withTimeout } from '../runtime/abort.js'

export interface SignOptions {
  /** The private key. */
  readonly key: Key
  /** Names the key to those who verify. Default is the `kid` of a JWK. */
  readonly kid?: string | undefined
  /** The algorithm, as `ES256`. Default is the `alg` of a JWK. */
  readonly alg?: string | undefined
  /** Where the public key is found, in a key set. Default is that verifiers know. */
  readonly jku?: string | undefined
  /**
   * Signs by the presence rules of §8.4.1 alone. Default is `false`: a card on which verifiers who leave out whatever is
   * empty, as the official SDKs do, would come to another text, gets a second signature, of that text.
   */
  readonly exact?: boolean | undefined
}

/** What is under a signature's protection beside the card. */
export interface SignatureHeader {
  readonly alg: string
  readonly kid: string
  readonly jku?: string
}

export interface VerifyOptions {
  /** Public keys, each with its `kid`: a key set, or a list. */
  readonly keys?: readonly Jwk[] | { readonly keys: readonly Jwk[] } | undefined
  /** Finds the key that a signature names. Nothing: there is none. */
  readonly getKey?:
    ((header: SignatureHeader) => Key | null | undefined | Promise<Key | null | undefined>) | undefined
  /**
   * From where keys may be fetched that are not known otherwise: URLs, and origins, which stand for all of their URLs.
   * Default is from nowhere.
   */
  readonly allowedJku?: readonly string[] | undefined
  /** Default is all of ES, EdDSA, PS and RS: no shared secrets. */
  readonly algorithms?: readonly string[] | undefined
  /** Whether a key must not be used any more, beside those whose JWK says so. Default is that none is. */
  readonly isRevoked?: ((header: SignatureHeader) => boolean | Promise<boolean>) | undefined
  /** Takes no signature of a text without what is empty (see {@link SignOptions.exact}). Default is `false`. */
  readonly exact?: boolean | undefined
  /** Fetches key sets. Default is the runtime's. */
  readonly fetch?: FetchKeys | undefined
  /** How long each of `getKey`, `isRevoked` and a key set may take, in ms. Default is `5_000` (5 seconds). */
  readonly timeoutMs?: number | undefined
  /** Milliseconds since 1970. Default is the runtime's clock. */
  readonly now?: (() => number) | undefined
}

export interface VerifiedCard extends SignatureHeader {
  /** What was signed, and nothing else that the card said. */
  readonly card: AgentCard
}

const ALGORITHMS: readonly string[] = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  ...['PS256', 'PS384', 'PS512', 'RS256', 'RS384', 'RS512'],
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

/** A card has one or two. Each may cost a lookup of its key. */
const MAX_SIGNATURES = 16

/**
 * The card with a signature more (A2A 1.0 §8.4.2); one with the same `kid` is replaced. Needs the package `jose`.
 *
 * @throws {A2AError} `INVALID_PARAMS` with the path of what is missing or wrong. Texts that are required, and the list of
 *   skills, must not be empty without `exact`. `UNSUPPORTED_OPERATION` without `jose`.
 * @throws {TypeError | RangeError} for an option that is unknown, missing, of another type, or out of range.
 */
export async function signAgentCard(card: AgentCard, options: SignOptions): Promise<AgentCard> {
  requireOptions(options, SIGN_OPTIONS, 'signAgentCard')
  const { key, exact = false, jku } = options
  const jwk = isJwk(key) ? key : {}
  const { kid = jwk.kid, alg = jwk.alg } = options
  if (!kid) throw invalidParams('options.kid', 'is missing: it names the key to those who verify')
  if (!alg) throw invalidParams('options.alg', 'is missing: the algorithm of the key, as ES256')
  const { signatures = [], ...checked } = check(AgentCardSchema, plain(card), 'card')
  if (!exact) requireTexts(checked)
  const { FlattenedSign, decodeProtectedHeader } = await loadJose()
  const header = { alg, kid, typ: 'JOSE', ...(jku !== undefined && { jku }) }
  const made = textsOf(checked, exact).map(async (text) => {
    const jws = new FlattenedSign(new TextEncoder().encode(text)).setProtectedHeader(header)
    const signed = await jws.sign(key)
    return { protected: signed.protected ?? '', signature: signed.signature }
  })
  const others = signatures.filter((each) => attempt(() => decodeProtectedHeader(each).kid) !== kid)
  try {
    return { ...checked, signatures: [...others, ...(await Promise.all(made))] }
  } catch (cause) {
    throw invalidParams('options.key', `cannot sign with ${alg}`, cause)
  }
}

/**
 * Who signed the card, if anybody did whose key is known: one valid signature is enough (A2A 1.0 §8.4.3). `card` is JSON
 * of 1.0, or of 1.0 and 0.3 in one. Needs the package `jose`.
 *
 * @throws {A2AError} `SIGNATURE_INVALID` where none is valid; `INVALID_PARAMS` for what is no card. `UNSUPPORTED_OPERATION`
 *   without `jose`.
 * @throws {TypeError | RangeError} for an option that is unknown, missing, of another type, or out of range.
 */
export async function verifyAgentCard(card: unknown, options: VerifyOptions): Promise<VerifiedCard> {
  requireOptions(options, VERIFY_OPTIONS, 'verifyAgentCard')
  if (!options.keys && !options.getKey && !options.allowedJku) {
    throw new TypeError('"keys" is missing, and so are "getKey" and "allowedJku": whose word is taken')
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

/** What has been fetched for this card, by URL: many signatures may name one. */
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

/** What counts is in the protected header: the other one anybody can change. */
function headerOf({ decodeProtectedHeader }: Jose, signature: AgentCardSignature): SignatureHeader {
  const { alg, kid, jku, crit } = attempt(() => decodeProtectedHeader(signature)) ?? {}
  if (typeof alg !== 'string' || typeof kid !== 'string' || kid === '') {
    throw new Error('its protected header does not have alg and kid (§8.4.2)')
  }
  // There is no extension of JWS that a card could need.
  if (crit !== undefined) throw new Error('its header demands an extension')
  return { alg, kid, ...(typeof jku === 'string' && { jku }) }
}

/** More than one where a set has a `kid` twice. */
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
  const url = allowed(header.jku, allowedJku)
  if (url === undefined) throw new Error('its key is not known, and its jku is not allowed')
  const set = sets.get(url.href) ?? fetchKeys(url, get, timeoutMs)
  sets.set(url.href, set)
  return (await set).filter(named)
}

/** What is signed: one text, or, where it makes a difference, a second one without what is empty. */
function textsOf(card: object, exact: boolean): readonly string[] {
  const text = canonicalizeAgentCard(card)
  const stripped = canonicalizeStripped(card)
  return exact || stripped === text ? [text] : [text, stripped]
}

/** They are lost where whatever is empty is left out, and the card is none then. */
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

/** An optional peer: who neither signs nor verifies need not have it. */
async function loadJose(): Promise<Jose> {
  try {
    return await import('jose')
  } catch (cause) {
    throw new A2AError(
      'UNSUPPORTED_OPERATION',
      'Signatures of agent cards need jose: npm install jose',
      { operation: 'signatures of agent cards' },
      { cause },
    )
  }
}
