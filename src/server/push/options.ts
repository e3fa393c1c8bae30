/**
 * Options of push notifications, with their checks and defaults.
 *
 * @module
 */
import {
  readOptions,
  requireDelay,
  requireFunctions,
  requireOneOf,
  requireWhole,
} from '../../runtime/options.js'
import { toUrlGuard } from '../../http/url-guard.js'
import type { HttpSettings } from '../../http/request.js'
import type { Pacing } from '../../http/retry.js'
import { MAX_DELAY_MS, type Clock } from '../../runtime/clock.js'
import { platformRandom } from '../../runtime/crypto.js'
import { platformFetch } from '../../runtime/fetch.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import {
  resolveWith,
  toPinnedFetch,
  type Dns,
  type NodeModules,
  type Resolve,
} from '../../http/pinned-fetch.js'
import { builtin, isCloudflareWorker } from '../../runtime/environment.js'
import type { FirstDeliveryLimits } from './first-deliveries.js'
import { withPorts } from './ports.js'

/** Options of push notifications. */
export interface PushOptions {
  /**
   * Hosts outside the public internet that webhooks may have: names (`agent.internal`), names with ports
   * (`localhost:4000`), IP addresses, CIDR ranges (`10.1.0.0/16`). A listed name is not resolved. Default is none:
   * clients choose where the agent sends requests, and must not reach its own network that way.
   */
  readonly allow?: readonly string[] | undefined
  /**
   * Ports that webhooks may have: single ones, and ranges whose ends are included. An entry of `allow` with a port permits
   * that port for its host. Port 25 (SMTP) is refused in every range. Default is `[80, 443, [1024, 65_535]]`.
   */
  readonly ports?: readonly (number | readonly [from: number, to: number])[] | undefined
  /**
   * Returns the IP addresses of a name, called before every attempt; all of them must be public or allowed. `false` skips
   * the check, for a `fetch` that reaches public addresses only. Default is the DNS of Node (20.16 or later), Bun and Deno;
   * required elsewhere.
   */
  readonly resolve?: ((host: string) => Promise<readonly string[]>) | false | undefined
  /**
   * Sends the notifications, without following redirects. Default is one that connects only to the addresses that
   * `resolve` returned, so that a name cannot change its address after the check. On runtimes without Node's modules, and
   * with `resolve: false`, the default is the platform's `fetch`.
   */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
  /**
   * `'challenge'` verifies each URL before it is registered: the agent sends a GET with a random `validationToken` in the
   * query, and the webhook must respond with 2xx and this token as its body within `timeoutMs`. `answerChallenge` of
   * `a2a-tasks/client` does so. If the task already has a webhook with the URL, it is not verified again. A message with a
   * webhook waits for its verification. Default is `false`: the agent sends notifications to every URL that is allowed.
   */
  readonly verifyWebhooks?: 'challenge' | false | undefined
  /** How long a webhook may take to respond, in ms. Default is `10_000` (10 seconds). */
  readonly timeoutMs?: number | undefined
  /** How many times a notification is sent before its configuration is disabled. Default is `8`. */
  readonly maxAttempts?: number | undefined
  /** The longest first pause between attempts, in ms; each further pause is twice as long. Default is `1_000`. */
  readonly retryMinMs?: number | undefined
  /** The longest pause, in ms, also for a `Retry-After` of the webhook. Default is `60_000` (a minute). */
  readonly retryMaxMs?: number | undefined
  /** How many configurations a task may have. Default is `10`. */
  readonly maxPerTask?: number | undefined
  /**
   * How many bytes of first notifications of one task are sent per minute, repetitions included. The first notification
   * is the whole task, and a client can register webhooks repeatedly. Beyond this limit, first notifications wait, and
   * nothing is lost. In 0.3 and 0.1, where every notification is the whole task, all count. The first attempt for a
   * webhook that comes with the message that begins the task is not counted.
   * The bytes of one minute may be sent at once. Counted in each process. Default is `4_194_304` (4 MiB).
   */
  readonly maxFirstBytesPerTask?: number | undefined
  /**
   * As `maxFirstBytesPerTask`, for all tasks of one owner. Callers without a principal are one owner. Default is
   * `33_554_432` (32 MiB).
   */
  readonly maxFirstBytesPerOwner?: number | undefined
  /** As `maxFirstBytesPerTask`, for all webhooks of one host. Default is `134_217_728` (128 MiB). */
  readonly maxFirstBytesPerHost?: number | undefined
  /**
   * How many requests are sent at a time, and how many names are looked up at a time during registration. The next slot
   * goes to the owner of tasks, then to the host, then to the origin that uses the fewest, so that webhooks that hang delay
   * only each other. Default is `64`.
   */
  readonly maxConcurrent?: number | undefined
  /**
   * Returns a number from 0 to 1, for the random part of pauses. Default is `Math.random`, which also replaces any other
   * result, and a function that throws.
   */
  readonly random?: (() => number) | undefined
}

/** {@link PushOptions} with defaults. */
export interface PushSettings {
  readonly http: HttpSettings
  readonly pacing: Pacing
  readonly timeoutMs: number
  /** Whether a webhook must send a challenge back before it is registered. */
  readonly isVerified: boolean
  readonly maxPerTask: number
  readonly maxConcurrent: number
  readonly firstDeliveries: FirstDeliveryLimits
}

const MIB = 1_048_576
const NUMBERS = {
  timeoutMs: 10_000,
  maxAttempts: 8,
  retryMinMs: 1_000,
  retryMaxMs: 60_000,
  maxPerTask: 10,
  maxFirstBytesPerTask: 4 * MIB,
  maxFirstBytesPerOwner: 32 * MIB,
  maxFirstBytesPerHost: 128 * MIB,
  maxConcurrent: 64,
}
/** The others are delays. */
const COUNTS = [
  'maxAttempts',
  'maxPerTask',
  'maxFirstBytesPerTask',
  'maxFirstBytesPerOwner',
  'maxFirstBytesPerHost',
  'maxConcurrent',
]
const KEYS = [...Object.keys(NUMBERS), 'allow', 'ports', 'resolve', 'fetch', 'random', 'verifyWebhooks']
/** The responses of webhooks are not used; reading at most this many bytes lets connections be used again. */
export const MAX_ANSWER_BYTES = 4_096

/**
 * The settings, or `undefined` where the agent sends no push notifications: neither `push` nor the card turns them on.
 *
 * @throws {TypeError | RangeError} naming the invalid option.
 */
export function toPushSettings(
  push: PushOptions | false | undefined,
  { capabilities }: AgentCard,
  clock: Clock,
): PushSettings | undefined {
  if (push === false && capabilities.pushNotifications === true) {
    throw new TypeError('"push" must not be false: the card has capabilities.pushNotifications')
  }
  if (push === false || (push === undefined && capabilities.pushNotifications !== true)) return undefined
  const given = readOptions(
    push === undefined ? {} : push,
    KEYS,
    'createRequestHandler',
    'push',
    'false or an object: {} for the defaults',
  )
  requireFunctions(given, ['fetch', 'random'], 'push')
  if (given.resolve !== false) requireFunctions(given, ['resolve'], 'push')
  requireOneOf('push.verifyWebhooks', given.verifyWebhooks ?? false, ['challenge', false])
  const numbers = toNumbers(given)
  if (numbers.retryMinMs > numbers.retryMaxMs) {
    throw new RangeError('"push.retryMinMs" must not be more than "push.retryMaxMs"')
  }
  const resolve = toResolve(given.resolve)
  const { allow = [] } = given
  const guard = withPorts(toUrlGuard({ allow, resolve }, 'push.allow'), given.ports, allow)
  const { fetch = (resolve && pushFetch(given.allow, resolve)) ?? platformFetch, random = platformRandom } =
    given
  const { maxAttempts: attempts, retryMinMs: baseDelayMs, retryMaxMs: maxDelayMs } = numbers
  return {
    http: { fetch, clock, headers: {}, urlGuard: guard, maxResponseBytes: MAX_ANSWER_BYTES },
    pacing: { clock, random: toRandom(random), attempts, baseDelayMs, maxDelayMs },
    timeoutMs: numbers.timeoutMs,
    isVerified: given.verifyWebhooks === 'challenge',
    maxPerTask: numbers.maxPerTask,
    maxConcurrent: numbers.maxConcurrent,
    firstDeliveries: {
      perTask: numbers.maxFirstBytesPerTask,
      perOwner: numbers.maxFirstBytesPerOwner,
      perHost: numbers.maxFirstBytesPerHost,
    },
  }
}

/** Replaces invalid results, and errors, by the platform's random number: a pause must not fail. */
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

/** The card, declaring push notifications if there are any. */
export function withPush(card: AgentCard, push: PushSettings | undefined): AgentCard {
  if (push === undefined) return card
  return { ...card, capabilities: { ...card.capabilities, pushNotifications: true } }
}

/** @throws {TypeError} where the runtime cannot resolve names, and the options do not say how. */
function toResolve(resolve: PushOptions['resolve']): Resolve | undefined {
  if (resolve === false) return undefined
  const asked = resolve ?? lookUp()
  if (asked !== undefined) return asked
  throw new TypeError(
    '"push.resolve" is required on this runtime: without it, webhooks could have names of private addresses',
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

/** Resolves names by the runtime's DNS; `undefined` where it has none. */
function lookUp(): Resolve | undefined {
  // `builtin` returns the module with this name, or undefined.
  const dns = builtin('node:dns/promises') as Dns | undefined
  return dns && resolveWith(dns)
}

/** Connects only to addresses that were checked; `undefined` where the runtime lacks the modules. */
function pushFetch(
  allow: readonly string[] | undefined,
  resolve: Resolve,
): ReturnType<typeof toPinnedFetch> | undefined {
  // Its `node:http` cannot choose the address, and its own fetch reaches the public network only.
  if (isCloudflareWorker()) return undefined
  // `builtin` returns the modules with these names, or undefined.
  const http = builtin('node:http') as NodeModules['http'] | undefined
  const https = builtin('node:https') as NodeModules['https'] | undefined
  const net = builtin('node:net') as NodeModules['net'] | undefined
  if (http === undefined || https === undefined || net === undefined) return undefined
  return toPinnedFetch({ node: { http, https, net }, allow, resolve })
}
