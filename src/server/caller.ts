/**
 * Callers of operations, and the owners of their tasks.
 *
 * @module
 */
import { describe } from '../runtime/describe.js'
import { invalidParams, rateLimited } from '../core/errors.js'
import { hasLoneSurrogate } from '../core/json.js'
import type { RateLimiter } from '../runtime/rate-limit.js'
import type { Dialect } from '../wire/dialect.js'

/** An authenticated client that owns tasks. */
export interface Principal {
  /** Identifies the owner of tasks: 1 to 512 characters, no control characters. */
  readonly id: string
}

/** The client behind a request, and the protocol that it uses. */
export interface Caller<P extends Principal = Principal> {
  /** The dialect of the request. */
  readonly dialect: Dialect
  /** Whether the request names its version; otherwise the dialect was inferred. */
  readonly namesVersion: boolean
  /** Absent where the handler has no `authenticate`. */
  readonly principal?: P | undefined
  /** The extensions that the client declares and the card lists. */
  readonly extensions: readonly string[]
  /** The id of the request's message where it has none of its own: the header `Idempotency-Key`. */
  readonly idempotencyKey?: string | undefined
  /** The generation of the last event that the client received, when it resumes a stream. */
  readonly lastGeneration?: number | undefined
  /** Aborts when the client disconnects. Absent once the operation has answered: runs keep their caller. */
  readonly signal?: AbortSignal | undefined
  /** Whether nothing else has the JSON of the request: the handler has parsed it itself. */
  readonly ownsJson?: boolean
}

/**
 * Counts a request of this principal. Callers without a principal count as one.
 *
 * @throws {A2AError} `RATE_LIMITED`.
 */
export function requireRate(
  rateLimiter: RateLimiter | undefined,
  principal: Principal | null | undefined,
): void {
  const waitMs = rateLimiter?.consume(principal?.id ?? '') ?? 0
  if (waitMs > 0) throw rateLimited(waitMs)
}

/** @throws {TypeError} when it is no principal: an error of the integrator, not of the client. */
export function requirePrincipal<P extends Principal>(principal: P): P {
  const id: unknown = (principal as Partial<Principal>).id
  if (typeof id === 'string' && /^[^\u0000-\u001f]{1,512}$/.test(id) && !hasLoneSurrogate(id))
    return principal
  const got = typeof principal === 'object' ? `an "id" that is ${describe(id)}` : describe(principal)
  throw new TypeError(
    `A principal, such as authenticate() returns, must be null or an object with an "id": a string of 1 to 512 characters without control characters; got ${got}`,
  )
}

/** Together with a principal's id of 512 characters it fits into the 1024 of an owner. */
const MAX_TENANT = 500

/**
 * The owner of a caller's tasks; `null` without a principal. Each pair of tenant and principal is a separate owner, so
 * naming a tenant never reveals the tasks of another principal.
 */
export function ownedBy(
  principal: Principal | undefined,
  tenant: string | undefined,
): { owner: string | null } {
  if (!tenant) return { owner: principal?.id ?? null }
  const encoded = encodeURIComponent(tenant)
  if (encoded.length > MAX_TENANT) {
    throw invalidParams('tenant', `must have at most ${MAX_TENANT} characters when percent-encoded`)
  }
  // Ids contain no line breaks, so different pairs give different owners.
  return { owner: `\n${encoded}\n${principal?.id ?? ''}` }
}

/** The generation in `Last-Event-ID`; `undefined` for ids of other servers, after which a stream starts over. */
export function generationFromHeader(lastEventId: string | null | undefined): number | undefined {
  return /^\d{1,15}$/.test(lastEventId ?? '') ? Number(lastEventId) : undefined
}

/** The value of the header `Idempotency-Key`, a text in quotes (RFC 9651 §3.3.3) or without them. */
export function readIdempotencyKey(header: string | null | undefined): string | undefined {
  const text = header?.trim()
  return /^"(.*)"$/.exec(text ?? '')?.[1] ?? text
}
