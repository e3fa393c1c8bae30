/**
 * Discovery of agent cards over HTTP.
 *
 * @module
 */
import { parseAgentCard } from '../../agent-card/parse.js'
import { A2AError, invalidAnswer } from '../../core/errors.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import { toAgentUrl } from './agent-url.js'
import { AgentCardCache, type FetchedCard } from './card-cache.js'
import { ExternalServiceError, ValidationError, withNote } from '../../http/errors.js'
import {
  request,
  toHttpSettings,
  type CallLimits,
  type HttpCall,
  type HttpOptions,
  type HttpSettings,
} from '../../http/request.js'
import type { Unread } from '../../runtime/unread.js'
import { fieldsOf, parseJson } from '../../http/json.js'
import { requireKnown, requireMethods, requirePositive } from '../../runtime/options.js'
import { shownUrl, trimSlashes } from '../../http/url.js'
import { parseUrl } from '../../runtime/url.js'

/** Options of {@link fetchAgentCard} and {@link discoverAgent}. */
export interface FetchAgentCardOptions extends HttpOptions {
  /** Aborts the call, which then fails with `REQUEST_ABORTED`. */
  readonly signal?: AbortSignal | undefined
  /** Time limit, in ms. Default is 10,000. */
  readonly timeoutMs?: number | undefined
  /**
   * Cache of cards, or `false` for none. Default is a cache of this module, which keeps a card for at most 5 minutes; none
   * for calls with `headers` or `auth`. Calls with different `fetch` functions never share cards.
   */
  readonly cache?: AgentCardCache | false | undefined
}

/**
 * A card as its agent wrote it, of any version of A2A. Only `name` and `version` are checked. Use `parseAgentCard` to
 * validate the other fields.
 */
export interface AgentCardJson {
  readonly name: string
  readonly version: string
  readonly description?: string
  readonly url?: string
  readonly provider?: { readonly organization?: string; readonly url?: string }
  readonly documentationUrl?: string
  readonly iconUrl?: string
  readonly protocolVersion?: string
  readonly preferredTransport?: string
  readonly additionalInterfaces?: readonly { readonly url: string; readonly transport: string }[]
  readonly supportedInterfaces?: readonly {
    readonly url: string
    readonly protocolBinding: string
    readonly protocolVersion: string
    readonly tenant?: string
  }[]
  readonly supportedProtocols?: readonly (
    string | { readonly protocol: string; readonly description?: string; readonly endpoint?: string }
  )[]
  readonly capabilities?: {
    readonly streaming?: boolean
    readonly pushNotifications?: boolean
    readonly stateTransitionHistory?: boolean
    readonly extendedAgentCard?: boolean
  }
  readonly authentication?: { readonly schemes: readonly string[]; readonly credentials?: string }
  readonly defaultInputModes?: readonly string[]
  readonly defaultOutputModes?: readonly string[]
  readonly skills?: readonly {
    readonly id: string
    readonly name: string
    readonly description?: string
    readonly tags?: readonly string[]
    readonly examples?: readonly string[]
    readonly inputModes?: readonly string[]
    readonly outputModes?: readonly string[]
  }[]
  readonly [field: string]: unknown
}

const KEYS = ['fetch', 'headers', 'auth', 'urlGuard', 'clock', 'signal', 'timeoutMs', 'cache']
const TIMEOUT_MS = 10_000
const MAX_CARD_BYTES = 1_048_576
const MAX_DEPTH = 64

/** Without a stale period: an agent that is unavailable for 5 minutes has no card. */
const shared = new AgentCardCache({ softTtlMs: 300_000, hardTtlMs: 300_000 })

/**
 * Fetches the card at `baseUrl` + `/.well-known/agent-card.json`, from the cache if it is fresh.
 *
 * @throws {A2AError} `EXTERNAL_SERVICE_ERROR` if the agent cannot be reached or responds with a status other than 2xx;
 *   `INVALID_PARAMS` if `baseUrl` is no URL; `VALIDATION_ERROR` if the card has no `name` or `version`;
 *   `INVALID_AGENT_RESPONSE` if it is not a JSON object;
 *   `LIMIT_EXCEEDED` if it exceeds 1 MiB or 64 levels; `REQUEST_TIMED_OUT`; `REQUEST_ABORTED`; `URL_BLOCKED`.
 * @throws {TypeError | RangeError} for an invalid option; the message names it.
 */
export async function fetchAgentCard(
  baseUrl: string,
  options: FetchAgentCardOptions = {},
): Promise<AgentCardJson> {
  return await fetcher(options, 'fetchAgentCard')(baseUrl)
}

/**
 * Fetches a card as {@link fetchAgentCard} does. Resolves to `null` if there is none, whatever the reason.
 *
 * @throws {TypeError | RangeError} for an invalid option; the message names it.
 */
export async function discoverAgent(
  baseUrl: string,
  options: FetchAgentCardOptions = {},
): Promise<AgentCardJson | null> {
  const fetchFrom = fetcher(options, 'discoverAgent')
  try {
    return await fetchFrom(baseUrl)
  } catch {
    return null
  }
}

/** Checks the options of `where`. Returns what fetches the card of an agent. */
function fetcher(options: FetchAgentCardOptions, where: string): (baseUrl: string) => Promise<AgentCardJson> {
  requireKnown(options, KEYS, where)
  const { signal, timeoutMs = TIMEOUT_MS, headers, auth } = options
  const { cache = headers === undefined && auth === undefined ? shared : false } = options
  if (cache !== false) requireMethods('cache', cache, ['get', 'clear'], 'be an AgentCardCache or false')
  const limits = { signal, timeoutMs: requirePositive('timeoutMs', timeoutMs), cache }
  const settings = toHttpSettings(options, MAX_CARD_BYTES)
  return async (baseUrl) =>
    await getCard(settings, cardUrl(toAgentUrl(baseUrl), AGENT_CARD), limits, requireNamed)
}

/** Clears the default cache of {@link fetchAgentCard}. */
export function clearAgentCardCache(): void {
  shared.clear()
}

export interface CardLimits extends CallLimits {
  readonly cache?: AgentCardCache | false | undefined
}

const AGENT_CARD = '/.well-known/agent-card.json'
/** The path before A2A 0.3. */
const OLD_AGENT_CARD = '/.well-known/agent.json'

export interface LoadSettings extends HttpSettings {
  readonly timeoutMs?: number | undefined
}

/** A card, and the URL that it was requested from. */
export interface LoadedCard {
  readonly card: AgentCard
  readonly cardUrl: string
}

/**
 * Fetches a card in the form of A2A 1.0: the one at `at` if that ends in `.json`, else that of the agent with this base URL,
 * else that of the agent's origin (A2A 1.0 §8.2).
 *
 * @throws {TypeError} if `cardCache` is none.
 * @throws {A2AError} as {@link fetchAgentCard}; `INVALID_PARAMS` with the path of the invalid field.
 */
export async function loadCard(
  settings: LoadSettings,
  at: string | URL,
  { cardCache: cache, signal }: LoadOptions,
): Promise<LoadedCard> {
  if (cache !== undefined) requireMethods('cardCache', cache, ['get', 'clear'], 'be an AgentCardCache')
  const url = toAgentUrl(at)
  const { origin = url, pathname = '/' } = parseUrl(url) ?? {}
  const bases = new Set(/^\/*$/.test(pathname) ? [url] : [url, origin])
  const urls = pathname.endsWith('.json')
    ? [url]
    : [...bases].flatMap((base) => [AGENT_CARD, OLD_AGENT_CARD].map((path) => cardUrl(base, path)))
  const limits = { cache, signal, timeoutMs: settings.timeoutMs ?? TIMEOUT_MS }
  return await firstCard(settings, urls, limits, (card, from) => {
    // Some servers answer any path with JSON, such as an error.
    if (card['name'] == null) throw invalidAnswer(`${shownUrl(from)} is no card: card.name is missing`)
    return { card: parseAgentCard(card), cardUrl: from }
  })
}

interface LoadOptions {
  readonly cardCache?: AgentCardCache | undefined
  readonly signal?: AbortSignal | undefined
}

/** Fetches a card as the agent wrote it, first from the path that KAOS uses. */
export function loadKaosCard(settings: HttpSettings, baseUrl: string, limits: CardLimits): Promise<Unread> {
  const urls = [OLD_AGENT_CARD, AGENT_CARD].map((path) => cardUrl(baseUrl, path))
  return firstCard(settings, urls, limits, (card) => card)
}

/** Fetches the card of the first URL that has one. If none has, throws the error of the first URL, which also names the origin's. */
async function firstCard<T>(
  settings: HttpSettings,
  urls: readonly string[],
  limits: CardLimits,
  read: (card: Unread, url: string) => T,
): Promise<T> {
  let failure: unknown
  for (const url of urls) {
    try {
      return await getCard(settings, url, limits, read)
    } catch (error) {
      failure ??= error
      if (!isMissing(error, settings)) throw error
    }
  }
  const others = urls.slice(1).map(shownUrl)
  // Each base has two places. The error names none that only agents before A2A 0.3 use.
  if (others.length < 2) throw failure
  const note = `Nor is there a card at ${others.at(-2)}`
  if (A2AError.is(failure, 'EXTERNAL_SERVICE_ERROR')) throw withNote(failure, note)
  throw A2AError.is(failure, 'INVALID_AGENT_RESPONSE')
    ? invalidAnswer(`${failure.data.reason}. ${note}`, failure.cause)
    : failure
}

/**
 * Returns whether there is no card at a URL. Some servers respond to any path with their start page, some gateways to
 * unknown paths with 403. An agent that refuses credentials is there.
 */
function isMissing(error: unknown, settings: HttpSettings): boolean {
  if (A2AError.is(error, 'INVALID_AGENT_RESPONSE')) return true
  const statuses = [400, 404, 405, 410, ...(hasCredentials(settings) ? [] : [401, 403])]
  return A2AError.is(error, 'EXTERNAL_SERVICE_ERROR') && statuses.includes(error.data.status ?? 0)
}

function hasCredentials({ auth, headers }: HttpSettings): boolean {
  return auth !== undefined || Object.keys(headers).length > 0
}

async function getCard<T>(
  settings: HttpSettings,
  url: string,
  { cache, signal, timeoutMs }: CardLimits,
  read: (card: Unread, url: string) => T,
): Promise<T> {
  if (!cache) {
    const { card } = await fetchCard(settings, url, { signal, timeoutMs }, {})
    return read(card === 'unchanged' ? {} : card, url)
  }
  const card = await cache.get(settings, url, { signal, timeoutMs }, async (conditions) => {
    const fetched = await fetchCard(settings, url, { timeoutMs }, conditions)
    // Validated here, because an error keeps the card out of the cache.
    if (fetched.card !== 'unchanged') read(fetched.card, url)
    return fetched
  })
  return read(card, url)
}

async function fetchCard(
  settings: HttpSettings,
  url: string,
  limits: CallLimits,
  conditions: Readonly<Record<string, string>>,
): Promise<FetchedCard> {
  // The card decides where credentials are sent: do not accept one from another origin.
  const call: HttpCall = {
    method: 'GET',
    url,
    headers: { accept: 'application/json', ...conditions },
    isSameOriginOnly: hasCredentials(settings),
  }
  const { status, statusText, text, headers } = await request(settings, call, limits)
  if (status === 304 && Object.keys(conditions).length > 0) return { card: 'unchanged', headers }
  if (status < 200 || status > 299) {
    const shown = shownUrl(url)
    const message = `Failed to fetch Agent Card from ${shown}: HTTP ${status} ${statusText}`.trimEnd()
    throw new ExternalServiceError('A2A', message, { url: shown, status })
  }
  const json = parseJson(text, MAX_DEPTH, shownUrl(url))
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw invalidAnswer('its card is not an object')
  }
  return { card: fieldsOf(json), headers }
}

function requireNamed(card: Unread, url: string): AgentCardJson {
  const { name, version } = card
  if (typeof name !== 'string' || typeof version !== 'string' || name === '' || version === '') {
    throw new ValidationError(
      `Invalid Agent Card from ${shownUrl(url)}: missing required fields (name, version)`,
    )
  }
  // The other fields are the agent's claims, as the type documents.
  return card as unknown as AgentCardJson
}

function cardUrl(baseUrl: string, path: string): string {
  const url = parseUrl(baseUrl)
  // The request reports the invalid URL.
  if (url === undefined) return baseUrl
  url.pathname = trimSlashes(url.pathname) + path
  return url.href
}
