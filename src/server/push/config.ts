/**
 * Checks of push notification configurations, before anything is sent to a webhook.
 *
 * @module
 */
import { AbortScope } from '../../http/abort.js'
import { requireAllowed } from '../../http/request.js'
import { A2AError, invalidParams, type AnyA2AError } from '../../core/errors.js'
import { hasLoneSurrogate } from '../../core/json.js'
import type { Dialect, PushConfig } from '../../wire/dialect.js'
import type { Caller } from '../caller.js'
import { unavailable } from '../unavailable.js'
import type { Settings } from '../options.js'
import { challenge } from './challenge.js'
import { ConcurrencyLimit } from './concurrency.js'
import type { PushSettings } from './options.js'
import { webhookError } from './webhook.js'
import { parseUrl } from '../../runtime/url.js'

const MAX = { id: 256, url: 2_048, token: 4_096, scheme: 64, credentials: 8_192 }

/** A token of HTTP: RFC 9110 §5.6.2. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** A header's value, without line breaks, and without blanks at its ends: RFC 9110 §5.5. */
const VALUE = /^[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/

interface Checking {
  /** Aborts when the client has disconnected. */
  readonly signal: AbortSignal | undefined
  /** Waits for a slot to look a name up, or to send a challenge; resolves to what releases it. */
  readonly acquire: (host: string, signal: AbortSignal) => Promise<() => void>
}

/** Checks configurations, `maxConcurrent` at a time. */
export class PushChecks {
  readonly #settings: PushSettings
  readonly #onError: Settings['onError']
  readonly #limit: ConcurrencyLimit

  constructor(settings: PushSettings, onError: Settings['onError']) {
    this.#settings = settings
    this.#onError = onError
    this.#limit = new ConcurrencyLimit(settings.maxConcurrent)
  }

  /**
   * Returns `config` if notifications may be sent to it. Why a URL is refused goes to `onError`, without its path and
   * without secrets, and not to the client.
   *
   * @param isKnown - Whether the task has a webhook with this URL, which is not verified again.
   * @throws {A2AError} As a rejection: `INVALID_PARAMS`, which reveals nothing about the addresses of a name;
   *   `UNAVAILABLE` when too many are being checked; `REQUEST_ABORTED`.
   */
  async check(
    config: PushConfig,
    { signal, principal }: Pick<Caller, 'signal' | 'principal'>,
    taskId: string | undefined,
    isKnown: boolean,
  ): Promise<PushConfig> {
    requireFields(config)
    const acquire = (host: string, until: AbortSignal): Promise<() => void> =>
      this.#limit.acquire([principal?.id ?? '', host], until)
    const onRefused = (refusal: AnyA2AError): void =>
      this.#onError(refusal, { during: 'push', taskId, configId: config.id })
    const checking = { signal, acquire }
    await requireReachable(config.url, this.#settings, checking, onRefused)
    const mustVerify = this.#settings.isVerified && !isKnown
    if (mustVerify) await requireVerified(config.url, this.#settings, checking, onRefused)
    return config
  }
}

/** @throws {A2AError} `PUSH_NOTIFICATION_NOT_SUPPORTED` in a version that has no notifications. */
export function requireNotifications(dialect: Dialect): void {
  if ((dialect.encodeNotification ?? dialect.encodeTaskNotification) === undefined) throw pushNotSupported()
}

export function pushNotSupported(): A2AError<'PUSH_NOTIFICATION_NOT_SUPPORTED'> {
  return new A2AError('PUSH_NOTIFICATION_NOT_SUPPORTED', 'Push notifications are not supported', {})
}

function requireFields({ id, url, token, authentication }: PushConfig): void {
  requireSize('url', url, MAX.url)
  if (id !== undefined) requireId(id)
  if (token) requireHeader('token', token, MAX.token, VALUE)
  if (authentication === undefined) return
  const { scheme, credentials } = authentication
  requireHeader('authentication.scheme', scheme, MAX.scheme, NAME)
  if (credentials) requireHeader('authentication.credentials', credentials, MAX.credentials, VALUE)
}

/** The id becomes a part of the header `X-A2A-Notification-Id`. */
function requireId(id: string): void {
  requireSize('id', id, MAX.id)
  if (/[\u0000-\u001f\u007f]/.test(id) || hasLoneSurrogate(id)) {
    throw invalidParams('id', 'must not contain control characters or lone surrogates')
  }
}

function requireSize(path: string, text: string, max: number): void {
  if (text.length > max) throw invalidParams(path, `must have at most ${max} characters`)
}

function requireHeader(path: string, text: string, max: number, pattern: RegExp): void {
  requireSize(path, text, max)
  if (!pattern.test(text))
    throw invalidParams(path, 'must contain only characters that an HTTP header can contain')
}

/** Refuses with one text whatever the reason, so that clients cannot probe the names in the agent's network. */
async function requireReachable(
  text: string,
  settings: PushSettings,
  checking: Checking,
  onRefused: (refusal: AnyA2AError) => void,
): Promise<void> {
  const { http, timeoutMs } = settings
  const refused = invalidParams(
    'url',
    'must be a URL of http or https, with a public host, an allowed port and no credentials',
  )
  const url = parseUrl(text)
  if (url === undefined) throw refused
  const release = await slotFor(url, settings, checking)
  const scope = new AbortScope(http.clock, checking.signal)
  scope.arm(timeoutMs)
  try {
    const check = checkWithSlot(http, url, release, timeoutMs)
    await scope.race(() => check)
  } catch (error) {
    if (A2AError.is(error, 'REQUEST_ABORTED')) throw error
    onRefused(refusalOf(url, error))
    throw refused
  } finally {
    scope.dispose()
  }
}

/**
 * Requires the webhook to send a challenge back. Refuses with one text whatever the reason, so that clients cannot probe
 * which ports of a host are open.
 */
async function requireVerified(
  text: string,
  settings: PushSettings,
  checking: Checking,
  onRefused: (refusal: AnyA2AError) => void,
): Promise<void> {
  const url = new URL(text)
  const release = await slotFor(url, settings, checking)
  try {
    const failure = await challenge(settings, text, checking.signal)
    if (failure === undefined) return
    onRefused(webhookError(url.origin, 'was refused, because it did not answer the challenge', failure))
    throw invalidParams('url', UNVERIFIED)
  } finally {
    release()
  }
}

const UNVERIFIED =
  'must be verified: respond to the GET with the "validationToken" of its query, as text/plain and with the status 200'

/** @throws {A2AError} As a rejection: `UNAVAILABLE` when no slot is free within `timeoutMs`; `REQUEST_ABORTED`. */
async function slotFor(
  { hostname }: URL,
  { http, timeoutMs }: PushSettings,
  { signal, acquire }: Checking,
): Promise<() => void> {
  const scope = new AbortScope(http.clock, signal)
  scope.arm(timeoutMs)
  try {
    return await acquire(hostname, scope.signal)
  } catch (error) {
    if (A2AError.is(error, 'REQUEST_ABORTED')) throw error
    throw unavailable('is checking too many webhooks')
  } finally {
    scope.dispose()
  }
}

/** Holds the slot until the name is looked up, even if the client has disconnected, but `timeoutMs` at most. */
async function checkWithSlot(
  http: PushSettings['http'],
  url: URL,
  release: () => void,
  timeoutMs: number,
): Promise<void> {
  const stop = http.clock.schedule(release, timeoutMs)
  try {
    await requireAllowed(http, url)
  } finally {
    stop()
    release()
  }
}

/** The error for `onError`: the integrator may know the webhook, and can allow it. */
function refusalOf({ origin, protocol, host, hostname }: URL, error: unknown): A2AError<'URL_BLOCKED'> {
  const shown = origin === 'null' ? protocol : origin
  // An error with a cause says that the lookup failed; an error with another code, that it took too long.
  const isKnown = A2AError.is(error, 'URL_BLOCKED') && error.cause === undefined
  const reason = isKnown ? error.data.reason : `${hostname} cannot be resolved`
  const isOfHost = isKnown && reason.startsWith(`${hostname.replace(/^\[|\]$/g, '')} `)
  const hint = isOfHost ? `. If it may be reached, add "${host}" to push.allow` : ''
  const text = `A webhook at ${shown} was refused: ${reason}${hint}`
  return new A2AError('URL_BLOCKED', text, { url: shown, reason })
}
