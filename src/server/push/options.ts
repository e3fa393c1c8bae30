/**
 * How push notifications are sent, checked, with its defaults.
 *
 * @module
 */
import { readOptions, requireDelay, requireFunctions, requireWhole } from '../../runtime/options.js'
import { urlGuard } from '../../http/url-guard.js'
import type { HttpSettings } from '../../http/request.js'
import type { Pacing } from '../../http/retry.js'
import { describe } from '../../runtime/describe.js'
import { MAX_DELAY_MS, type Clock } from '../../runtime/clock.js'
import { platformRandom } from '../../runtime/crypto.js'
import { platformFetch } from '../../runtime/fetch.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { Resolve } from '../../http/pinned-fetch.js'
import { lookUp, pushFetch } from './webhook-fetch.js'

/** How push notifications are sent. */
export interface PushOptions {
  /**
   * Where webhooks may be although it is not public: names (`agent.internal`), names and ports (`localhost:4000`), IP
   * addresses, CIDR ranges (`10.1.0.0/16`). A name that is listed is not resolved. Default is nowhere: clients say
   * where the agent sends requests, and should not reach its own network with them.
   */
  readonly allow?: readonly string[] | undefined
  /**
   * The IP addresses of a name, all of which must be public or allowed, at every attempt. `false` for not asking, where
   * `fetch` itself reaches public addresses only. Default is the DNS of Node (20.16 or later), Bun and Deno.
   */
  readonly resolve?: ((host: string) => Promise<readonly string[]>) | false | undefined
  /**
   * Sends the notifications, following no redirect. Default is one that connects to no address but those of `resolve`:
   * a name cannot stand for another one after it was looked at. Where the runtime is not Node's like, or `resolve` is
   * `false`, it is the platform's.
   */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /** How long a webhook may take to answer, in ms. Default is `10_000` (10 seconds). */
  readonly timeoutMs?: number | undefined
  /** How often a notification is sent until its configuration is disabled. Default is `8`. */
  readonly maxAttempts?: number | undefined
  /** What the first pause between attempts is at most, in ms; every further one is twice as long. Default is `1_000`. */
  readonly retryMinMs?: number | undefined
  /** What a pause is at most, in ms, one that the webhook asks for included. Default is `60_000` (a minute). */
  readonly retryMaxMs?: number | undefined
  /** How many configurations a task may have. Default is `10`. */
  readonly maxPerTask?: number | undefined
  /**
   * How many requests are sent at a time, and how many names are looked up at a time where webhooks are registered. When
   * all are, the next one goes to the owner of tasks with the fewest, then to the host and the origin with the fewest:
   * webhooks that hang hold up nobody but their like. Default is `64`.
   */
  readonly maxConcurrent?: number | undefined
  /** From 0 to 1: what pauses leave to chance. Default is `Math.random`, also where it gives anything else, or throws. */
  readonly random?: (() => number) | undefined
}

/** {@link PushOptions}, complete. */
export interface PushSettings {
  readonly http: HttpSettings
  readonly pacing: Pacing
  readonly timeoutMs: number
  readonly maxPerTask: number
  readonly maxConcurrent: number
}

const NUMBERS = {
  timeoutMs: 10_000,
  maxAttempts: 8,
  retryMinMs: 1_000,
  retryMaxMs: 60_000,
  maxPerTask: 10,
  maxConcurrent: 64,
}
const COUNTS = ['maxAttempts', 'maxPerTask', 'maxConcurrent']
const KEYS = [...Object.keys(NUMBERS), 'allow', 'resolve', 'fetch', 'random']
/** Nobody reads what a webhook answers. */
export const MAX_ANSWER_BYTES = 4_096

/**
 * Nothing where the agent sends no push notifications: it does if `push` holds options, or the card says so.
 *
 * @throws {TypeError | RangeError} naming the option that makes no sense.
 */
export function toPushSettings(
  push: PushOptions | false | undefined,
  { capabilities }: AgentCard,
  clock: Clock,
): PushSettings | undefined {
  if (push === false && capabilities.pushNotifications === true) {
    throw new TypeError('"push" must not be false: the card says that there are push notifications')
  }
  if (push === false || (push === undefined && capabilities.pushNotifications !== true)) return undefined
  const given = readOptions(
    push === undefined ? {} : push,
    KEYS,
    'createRequestHandler',
    'push',
    'false or an object: {} for the defaults',
  )
  requireHosts(given.allow)
  requireFunctions(given, ['fetch', 'random'], 'push')
  if (given.resolve !== false) requireFunctions(given, ['resolve'], 'push')
  const numbers = toNumbers(given)
  if (numbers.retryMinMs > numbers.retryMaxMs) {
    throw new RangeError('"push.retryMinMs" must not be more than "push.retryMaxMs"')
  }
  const resolve = toResolve(given.resolve)
  const guard = urlGuard({ allow: given.allow, resolve })
  const { fetch = (resolve && pushFetch(given.allow, resolve)) ?? platformFetch, random = platformRandom } =
    given
  const { maxAttempts: attempts, retryMinMs: baseDelayMs, retryMaxMs: maxDelayMs } = numbers
  return {
    http: { fetch, clock, headers: {}, urlGuard: guard, maxResponseBytes: MAX_ANSWER_BYTES },
    pacing: { clock, random: toRandom(random), attempts, baseDelayMs, maxDelayMs },
    timeoutMs: numbers.timeoutMs,
    maxPerTask: numbers.maxPerTask,
    maxConcurrent: numbers.maxConcurrent,
  }
}

/** Pauses come when something else goes wrong: they do not fail. */
function toRandom(random: () => unknown): () => number {
  return () => {
    try {
      const value = random()
      return typeof value === 'number' && value >= 0 && value <= 1 ? value : platformRandom()
    } catch {
      return platformRandom()
    }
  }
}

/** The card, saying whether there are push notifications. */
export function withPush(card: AgentCard, push: PushSettings | undefined): AgentCard {
  if (push === undefined) return card
  return { ...card, capabilities: { ...card.capabilities, pushNotifications: true } }
}

/** Whoever cannot ask what a name stands for does not send requests there unless told to. */
function toResolve(resolve: PushOptions['resolve']): Resolve | undefined {
  if (resolve === false) return undefined
  const asked = resolve ?? lookUp()
  if (asked !== undefined) return asked
  throw new TypeError(
    '"push.resolve" is required here: without it nothing keeps webhooks from names of private addresses',
  )
}

function toNumbers(given: PushOptions): typeof NUMBERS {
  const complete: Record<string, number> = { ...NUMBERS }
  for (const name of Object.keys(NUMBERS)) {
    // Its keys are those of the options that are numbers.
    const value = given[name as keyof typeof NUMBERS]
    if (value === undefined) continue
    complete[name] = COUNTS.includes(name)
      ? requireWhole(`push.${name}`, value, 1, MAX_DELAY_MS)
      : requireDelay(`push.${name}`, value)
  }
  // It has every key of NUMBERS.
  return complete as typeof NUMBERS
}

function requireHosts(allow: unknown): void {
  if (allow === undefined || Array.isArray(allow)) return
  throw new TypeError(`"push.allow" must be an array of hosts, got ${describe(allow)}`)
}
