/**
 * Cache of agent cards.
 *
 * @module
 */
import { A2AError, invalidAnswer } from '../../core/errors.js'
import type { Clock } from '../../runtime/clock.js'
import { AbortScope } from '../../http/abort.js'
import { isTransient } from '../../http/errors.js'
import { requireAllowed, type CallLimits, type HttpSettings } from '../../http/request.js'
import type { Unread } from '../../runtime/unread.js'
import { requireKnown, requirePositive } from '../../runtime/options.js'
import { trimSlashes } from '../../http/url.js'

/** Options of {@link AgentCardCache}. */
export interface AgentCardCacheOptions {
  /** Number of cards to keep. Beyond it, the least recently used one is dropped. Default is 100. */
  readonly maxEntries?: number | undefined
  /** Time that a card is fresh, in ms, unless its agent sends `Cache-Control`. Default is 300,000 (5 minutes). */
  readonly softTtlMs?: number | undefined
  /**
   * Time that a card is kept at most, in ms, whatever `Cache-Control` says. Between the two times the card is revalidated
   * by a conditional request, and used as it is while the agent is unavailable. Default is 86,400,000 (24 hours).
   */
  readonly hardTtlMs?: number | undefined
}

/** A response with a card, or the statement that the card is unchanged (304). */
export interface FetchedCard {
  readonly card: Unread | 'unchanged'
  readonly headers: Headers
}

/** Fetches a card, with the headers of a conditional request. */
export type FetchCard = (conditions: Readonly<Record<string, string>>) => Promise<FetchedCard>

interface Entry {
  readonly url: string
  readonly card: Unread
  /** The response headers `etag`, `last-modified` and `cache-control`. */
  readonly cacheHeaders: Readonly<Record<string, string>>
  /** Time by the clock's `now`, in ms. */
  readonly fetchedAt: number
  readonly softTtlMs: number
}

interface PendingCard {
  readonly url: string
  readonly card: Promise<Unread>
}

/**
 * A cache of cards for `fetchAgentCard` and `A2AClient.connect`, in memory (A2A 1.0 §8.6.2).
 *
 * Requests share an entry only if they have the same headers and the same `fetch`, `auth`, `urlGuard` and `clock` objects.
 * With its own `auth` for each principal, no caller receives a card that was fetched with the credentials of another.
 * Concurrent requests for one entry share one fetch.
 */
export class AgentCardCache {
  readonly #maxEntries: number
  readonly #softTtlMs: number
  readonly #hardTtlMs: number
  /** In order of use, the most recent last. */
  readonly #entries = new Map<string, Entry>()
  readonly #pending = new Map<string, PendingCard>()
  readonly #ids = new WeakMap<object, number>()
  #lastId = 0

  /** @throws {TypeError | RangeError} for an invalid option; the message names it. */
  constructor(options: AgentCardCacheOptions = {}) {
    requireKnown(options, ['maxEntries', 'softTtlMs', 'hardTtlMs'], 'AgentCardCache')
    this.#maxEntries = requirePositive('maxEntries', options.maxEntries ?? 100)
    this.#hardTtlMs = requirePositive('hardTtlMs', options.hardTtlMs ?? 86_400_000)
    this.#softTtlMs = Math.min(this.#hardTtlMs, requirePositive('softTtlMs', options.softTtlMs ?? 300_000))
  }

  /** The number of cards in the cache. */
  get size(): number {
    return this.#entries.size
  }

  /** Removes all cards. A fetch in progress is completed for its callers and not stored. */
  clear(): void {
    this.#entries.clear()
    this.#pending.clear()
  }

  /** Removes the card with this URL, and the cards of the agent with this base URL. */
  delete(url: string): void {
    const below = `${trimSlashes(url)}/.well-known/`
    for (const map of [this.#entries, this.#pending]) {
      for (const [key, of] of map) if (of.url === url || of.url.startsWith(below)) map.delete(key)
    }
  }

  /**
   * Returns a copy of the card at `url`. Calls `fetchCard` if needed, once for all concurrent callers. An abort by one of
   * them does not end it, so that it needs a time limit of its own. Its failure rejects all of them and is not cached.
   *
   * @internal
   */
  async get(settings: HttpSettings, url: string, limits: CallLimits, fetchCard: FetchCard): Promise<Unread> {
    const scope = new AbortScope(settings.clock, limits.signal)
    try {
      const key = this.#keyOf(settings, url)
      const entry = this.#entries.get(key)
      if (entry !== undefined && isFresh(entry, entry.softTtlMs, settings.clock)) {
        this.#store(key, entry)
        scope.arm(limits.timeoutMs)
        await scope.race(() => requireAllowed(settings, new URL(url)))
        return structuredClone(entry.card)
      }
      const pending = this.#pending.get(key)
      // A caller that waits for another's request has its own time limit.
      if (pending !== undefined) scope.arm(limits.timeoutMs)
      const { card } = pending ?? this.#startFetch(key, url, settings.clock, fetchCard)
      return structuredClone(await scope.race(() => card))
    } finally {
      scope.dispose()
    }
  }

  #startFetch(key: string, url: string, clock: Clock, fetchCard: FetchCard): PendingCard {
    const entry = this.#entries.get(key)
    const cached = entry !== undefined && isFresh(entry, this.#hardTtlMs, clock) ? entry : undefined
    const fetched = fetchCard(conditionsOf(cached)).then((answer) => {
      const same = answer.card === 'unchanged' ? cached : undefined
      const card = answer.card === 'unchanged' ? same?.card : answer.card
      if (card === undefined) throw invalidAnswer('it is 304, and nothing is known that could be unchanged')
      const received = { url, card, cacheHeaders: same?.cacheHeaders, headers: answer.headers }
      // Not stored if the cache was cleared during the fetch.
      if (this.#pending.get(key) === pending) this.#keep(key, received, clock.now())
      return card
    })
    const card = fetched.catch((error: unknown) => {
      const isUnavailable = isTransient(error) || A2AError.is(error, 'REQUEST_TIMED_OUT')
      if (isUnavailable && cached !== undefined && allowsStale(cached)) return cached.card
      throw error
    })
    const pending = { url, card }
    this.#pending.set(key, pending)
    const forget = (): void => {
      if (this.#pending.get(key) === pending) this.#pending.delete(key)
    }
    card.then(forget, forget)
    return pending
  }

  #keep(key: string, { url, card, cacheHeaders: before, headers }: ReceivedCard, fetchedAt: number): void {
    const cacheHeaders: Record<string, string> = { ...before }
    for (const name of ['etag', 'last-modified', 'cache-control']) {
      const value = headers.get(name)
      if (value !== null) cacheHeaders[name] = value
    }
    const directives = directivesOf(cacheHeaders)
    const ttlMs = ttlOf(directives, headers.get('age')) ?? this.#softTtlMs
    const softTtlMs = Math.min(ttlMs, this.#hardTtlMs)
    if (directives.includes('no-store')) this.#entries.delete(key)
    else this.#store(key, { url, card, cacheHeaders, fetchedAt, softTtlMs })
  }

  #store(key: string, entry: Entry): void {
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    const [oldest = ''] = this.#entries.keys()
    if (this.#entries.size > this.#maxEntries) this.#entries.delete(oldest)
  }

  #keyOf({ fetch, auth, urlGuard, clock, headers }: HttpSettings, url: string): string {
    return JSON.stringify([url, [fetch, auth, urlGuard, clock].map((option) => this.#idOf(option)), headers])
  }

  #idOf(option: object | undefined): number {
    if (option === undefined) return 0
    const id = this.#ids.get(option) ?? (this.#lastId += 1)
    this.#ids.set(option, id)
    return id
  }
}

interface ReceivedCard {
  readonly url: string
  readonly card: Unread
  /** The headers that still hold: the earlier ones of an unchanged card. */
  readonly cacheHeaders: Entry['cacheHeaders'] | undefined
  readonly headers: Headers
}

/** Returns whether the entry is younger than `ttlMs`. If the clock was set back, it is not. */
function isFresh({ fetchedAt }: Entry, ttlMs: number, clock: Clock): boolean {
  const ageMs = clock.now() - fetchedAt
  return ttlMs > 0 && ageMs >= 0 && ageMs <= ttlMs
}

function conditionsOf(cached: Entry | undefined): Record<string, string> {
  const { etag, 'last-modified': lastModified } = cached?.cacheHeaders ?? {}
  return {
    ...(etag !== undefined && { 'if-none-match': etag }),
    ...(lastModified !== undefined && { 'if-modified-since': lastModified }),
  }
}

function directivesOf(cacheHeaders: Entry['cacheHeaders']): string[] {
  return (cacheHeaders['cache-control'] ?? '').split(',').map((directive) => directive.trim().toLowerCase())
}

/** The lifetime in ms; 0 or less to revalidate on each use; `undefined` if the agent sends none. */
function ttlOf(directives: readonly string[], age: string | null): number | undefined {
  if (directives.some((directive) => directive.startsWith('no-cache'))) return 0
  const [, seconds] =
    directives.map((directive) => /^max-age="?(\d+)"?$/.exec(directive) ?? []).find((match) => match[1]) ?? []
  return seconds === undefined ? undefined : (Number(seconds) - (Number(age) || 0)) * 1000
}

/** Returns whether the entry may be used, while the agent is unavailable, without revalidation. */
function allowsStale({ cacheHeaders }: Entry): boolean {
  return !directivesOf(cacheHeaders).some((directive) => /^(must-revalidate|no-cache)/.test(directive))
}
