/**
 * Agent cards that need not be fetched again.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { Clock } from '../../runtime/clock.js'
import { invalidAnswer } from '../../wire/client/answer.js'
import { Abortion } from '../../http/abort.js'
import { isPassing } from '../../http/errors.js'
import { guarded, type CallLimits, type HttpSettings } from '../../http/request.js'
import type { Unread } from '../../http/json.js'
import { requireKnown, requirePositive } from '../options.js'
import { trimSlashes } from '../../http/url.js'

export interface AgentCardCacheOptions {
  /** When there are more, that which was not asked for longest is dropped. Default is 100. */
  readonly maxEntries?: number | undefined
  /** How long a card is good without asking, in ms, unless its agent says so by `Cache-Control`. Default is 5 minutes. */
  readonly softTtlMs?: number | undefined
  /**
   * How long a card is good at most, whatever its agent says, in ms. Between the two the agent is asked whether the card
   * has changed, and the card is good while the agent is out of order. Default is 24 hours.
   */
  readonly hardTtlMs?: number | undefined
}

/** An answer with a card, or that the card is the one that the request has told of (304). */
export interface FetchedCard {
  readonly card: Unread | 'unchanged'
  readonly headers: Headers
}

/** Asks for a card, with the headers that make the request conditional. */
export type FetchCard = (conditions: Readonly<Record<string, string>>) => Promise<FetchedCard>

interface Entry {
  readonly url: string
  readonly card: Unread
  /** What the agent said of it: `etag`, `last-modified`, `cache-control`. */
  readonly cacheHeaders: Readonly<Record<string, string>>
  /** By the clock's `now`. */
  readonly fetchedAt: number
  readonly softTtlMs: number
}

interface PendingCard {
  readonly url: string
  readonly card: Promise<Unread>
}

/**
 * A cache for `fetchAgentCard` and `A2AClient.connect` (A2A 1.0 §8.6.2). Requests that differ in their headers, or are not
 * made with the same `fetch`, `auth`, `urlGuard` and `clock`, share nothing: nobody gets a card that was fetched with the
 * credentials of somebody else, as long as one `auth` stands for one somebody.
 */
export class AgentCardCache {
  readonly #maxEntries: number
  readonly #softTtlMs: number
  readonly #hardTtlMs: number
  /** The one that was asked for last is the last. */
  readonly #entries = new Map<string, Entry>()
  readonly #pending = new Map<string, PendingCard>()
  readonly #ids = new WeakMap<object, number>()
  #lastId = 0

  /** @throws {TypeError | RangeError} naming the option that makes no sense. */
  constructor(options: AgentCardCacheOptions = {}) {
    requireKnown(options, ['maxEntries', 'softTtlMs', 'hardTtlMs'], 'AgentCardCache')
    this.#maxEntries = requirePositive('maxEntries', options.maxEntries ?? 100)
    this.#hardTtlMs = requirePositive('hardTtlMs', options.hardTtlMs ?? 86_400_000)
    this.#softTtlMs = Math.min(this.#hardTtlMs, requirePositive('softTtlMs', options.softTtlMs ?? 300_000))
  }

  /** How many cards it holds. */
  get size(): number {
    return this.#entries.size
  }

  clear(): void {
    this.#entries.clear()
    this.#pending.clear()
  }

  /** Forgets the card at this URL, and those of the agent at this base URL. */
  delete(url: string): void {
    const below = `${trimSlashes(url)}/.well-known/`
    for (const map of [this.#entries, this.#pending]) {
      for (const [key, of] of map) if (of.url === url || of.url.startsWith(below)) map.delete(key)
    }
  }

  /**
   * The card at `url` as the caller's own copy. `fetchCard` is called when it is needed, once for all who ask meanwhile,
   * and must end by itself: a caller who is gone does not end it. Its failure is everybody's, and is not kept.
   *
   * @internal
   */
  async get(settings: HttpSettings, url: string, limits: CallLimits, fetchCard: FetchCard): Promise<Unread> {
    const abortion = new Abortion(settings.clock, limits.signal)
    try {
      const key = this.#keyOf(settings, url)
      const entry = this.#entries.get(key)
      if (entry !== undefined && isFresh(entry, entry.softTtlMs, settings.clock)) {
        this.#store(key, entry)
        abortion.arm(limits.timeoutMs)
        await abortion.race(() => guarded(settings, new URL(url)))
        return structuredClone(entry.card)
      }
      const pending = this.#pending.get(key)
      // Who waits for the request of another waits as long as he wants to, not as long as the other.
      if (pending !== undefined) abortion.arm(limits.timeoutMs)
      const { card } = pending ?? this.#startFetch(key, url, settings.clock, fetchCard)
      return structuredClone(await abortion.race(() => card))
    } finally {
      abortion.dispose()
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
      // Who cleared the cache meanwhile does not want what was on its way.
      if (this.#pending.get(key) === pending) this.#keep(key, received, clock.now())
      return card
    })
    const card = fetched.catch((error: unknown) => {
      const isUnavailable = isPassing(error) || A2AError.is(error, 'REQUEST_TIMED_OUT')
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
    return JSON.stringify([url, [fetch, auth, urlGuard, clock].map((one) => this.#idOf(one)), headers])
  }

  #idOf(one: object | undefined): number {
    if (one === undefined) return 0
    const id = this.#ids.get(one) ?? (this.#lastId += 1)
    this.#ids.set(one, id)
    return id
  }
}

interface ReceivedCard {
  readonly url: string
  readonly card: Unread
  /** What still holds of what was said before: all, where the card is unchanged. */
  readonly cacheHeaders: Entry['cacheHeaders'] | undefined
  readonly headers: Headers
}

/** A clock that was set back makes nothing young. */
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

/** In ms; not above 0 when the agent wants to be asked. `undefined`: it does not say. */
function ttlOf(directives: readonly string[], age: string | null): number | undefined {
  if (directives.some((directive) => directive.startsWith('no-cache'))) return 0
  const [, seconds] =
    directives.map((one) => /^max-age="?(\d+)"?$/.exec(one) ?? []).find((one) => one[1]) ?? []
  return seconds === undefined ? undefined : (Number(seconds) - (Number(age) || 0)) * 1000
}

function allowsStale({ cacheHeaders }: Entry): boolean {
  return !directivesOf(cacheHeaders).some((directive) => /^(must-revalidate|no-cache)/.test(directive))
}
