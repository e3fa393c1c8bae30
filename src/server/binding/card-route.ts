/**
 * The route of the agent's card, with caching.
 *
 * @module
 */
import { toHybridCard } from '../../agent-card/versions.js'
import type { Clock } from '../../runtime/clock.js'
import { sha256 } from '../../runtime/crypto.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { HttpAnswer, HttpRequest } from './exchange.js'
import type { Dialects } from '../negotiation.js'

interface Representation {
  readonly body: string
  readonly etag: string
}

/** Serves the card in each version, with the headers that clients need to cache it (A2A 1.0 §8.6.1). */
export class CardRoute {
  readonly #card: AgentCard
  readonly #maxAgeSeconds: number
  readonly #clock: Clock
  #lastModified: Date | undefined
  readonly #made = new Map<string, Promise<Representation>>()

  constructor(card: AgentCard, maxAgeSeconds: number, clock: Clock) {
    this.#card = card
    this.#maxAgeSeconds = maxAgeSeconds
    this.#clock = clock
  }

  /** @param dialects - That of the requested version, or all if the request names none. */
  async respond(request: HttpRequest, dialects: Dialects): Promise<HttpAnswer> {
    const { body, etag } = await this.#representation(dialects)
    const headers = {
      'content-type': 'application/json',
      'cache-control': `public, max-age=${this.#maxAgeSeconds}`,
      etag,
      'last-modified': this.#modified().toUTCString(),
      vary: 'A2A-Version',
    }
    if (this.#isNotModified(request, etag)) return { status: 304, headers, body: null }
    return { status: 200, headers, body: request.method === 'HEAD' ? null : body }
  }

  /** The time of the first request: while a Cloudflare Worker loads its module, its clock stands at 1970. */
  #modified(): Date {
    this.#lastModified ??= new Date(Math.floor(this.#clock.now() / 1000) * 1000)
    return this.#lastModified
  }

  /** `If-None-Match` takes precedence over `If-Modified-Since` (RFC 9110 §13.2.2). */
  #isNotModified(request: HttpRequest, etag: string): boolean {
    const tags = request.header('if-none-match')
    if (tags !== null) {
      return tags.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')))
    }
    const since = request.header('if-modified-since')
    return since !== null && this.#modified().getTime() <= Date.parse(since)
  }

  #representation(dialects: Dialects): Promise<Representation> {
    const key = dialects.map(({ version }) => version).join()
    const made = this.#made.get(key) ?? represent(dialects, this.#card)
    this.#made.set(key, made)
    return made
  }
}

async function represent(dialects: Dialects, card: AgentCard): Promise<Representation> {
  const body = JSON.stringify(toHybridCard(card, dialects))
  return { body, etag: `"${await digest(body)}"` }
}

/** The first 128 bits of the SHA-256 of a text, in hexadecimal. */
async function digest(text: string): Promise<string> {
  const bytes = await sha256(text)
  return [...bytes.slice(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
