/**
 * The agent's card over HTTP.
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

/** Serves a card in each version, with what clients need to keep it (A2A 1.0 §8.6.1). */
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

  /** `dialects`: the version that is asked for, or all where none is. */
  async respond(request: HttpRequest, dialects: Dialects): Promise<HttpAnswer> {
    const { body, etag } = await this.#representation(dialects)
    const headers = {
      'content-type': 'application/json',
      'cache-control': `public, max-age=${this.#maxAgeSeconds}`,
      etag,
      'last-modified': this.#modified().toUTCString(),
      vary: 'A2A-Version',
    }
    if (this.#isFresh(request, etag)) return { status: 304, headers, body: null }
    return { status: 200, headers, body: request.method === 'HEAD' ? null : body }
  }

  /** The first time that anybody asks: while a Worker's module is loaded, no time has passed since 1970. */
  #modified(): Date {
    this.#lastModified ??= new Date(Math.floor(this.#clock.now() / 1000) * 1000)
    return this.#lastModified
  }

  /** `If-None-Match` decides where there is one (RFC 9110 §13.2.2). */
  #isFresh(request: HttpRequest, etag: string): boolean {
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
