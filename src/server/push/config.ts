/**
 * What a client says of a webhook, checked before anything is sent there.
 *
 * @module
 */
import { Abortion } from '../../http/abort.js'
import { guarded } from '../../http/request.js'
import { A2AError, invalidParams } from '../../core/errors.js'
import { hasLoneSurrogate } from '../../core/json.js'
import type { PushConfig } from '../../wire/dialect.js'
import { unavailable } from '../unavailable.js'
import type { PushSettings } from './options.js'

const MAX = { id: 256, url: 2_048, token: 4_096, scheme: 64, credentials: 8_192 }

/** A name of HTTP: RFC 9110 §5.6.2. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** What a header holds as it is, blanks at its ends and line breaks excluded: RFC 9110 §5.5. */
const VALUE = /^[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/

/** Who waits for a check, and where: `place` gives one of the places for look-ups, and what gives it back. */
interface Checking {
  readonly signal: AbortSignal | undefined
  readonly place: (host: string, signal: AbortSignal) => Promise<() => void>
}

/**
 * `config`, if notifications may be sent as it says.
 *
 * @param onRefused - Is told why a URL is refused, which clients are not. What it is told has no path and no secret.
 * @throws {A2AError} `INVALID_PARAMS`, which tells nothing of the addresses that a name resolves to; `UNAVAILABLE`
 *   when too many are checked; `REQUEST_ABORTED`.
 */
export async function requirePushConfig(
  config: PushConfig,
  settings: PushSettings,
  checking: Checking,
  onRefused: (refusal: A2AError<'URL_BLOCKED'>) => void,
): Promise<PushConfig> {
  const { id, url, token, authentication } = config
  requireSize('url', url, MAX.url)
  if (id !== undefined) requireId(id)
  if (token) requireHeader('token', token, MAX.token, VALUE)
  if (authentication !== undefined) {
    const { scheme, credentials } = authentication
    requireHeader('authentication.scheme', scheme, MAX.scheme, NAME)
    if (credentials) requireHeader('authentication.credentials', credentials, MAX.credentials, VALUE)
  }
  await requireReachable(url, settings, checking, onRefused)
  return config
}

/** At most what the header with the notification's id has room for. */
function requireId(id: string): void {
  requireSize('id', id, MAX.id)
  if (/[\u0000-\u001f\u007f]/.test(id) || hasLoneSurrogate(id)) {
    throw invalidParams('id', 'must not hold control characters, nor halves of characters')
  }
}

function requireSize(path: string, text: string, max: number): void {
  if (text.length > max) throw invalidParams(path, `must have at most ${max} characters`)
}

function requireHeader(path: string, text: string, max: number, pattern: RegExp): void {
  requireSize(path, text, max)
  if (!pattern.test(text)) throw invalidParams(path, 'must be what an HTTP header can hold')
}

/** One text for all that the guard refuses: which names there are in the agent's network is nobody's business. */
async function requireReachable(
  text: string,
  { http, timeoutMs }: PushSettings,
  { signal, place }: Checking,
  onRefused: (refusal: A2AError<'URL_BLOCKED'>) => void,
): Promise<void> {
  const refused = invalidParams(
    'url',
    'must be a URL of http or https, with a public host and no credentials',
  )
  if (!URL.canParse(text)) throw refused
  const url = new URL(text)
  const abortion = new Abortion(http.clock, signal)
  abortion.arm(timeoutMs)
  let giveBack: (() => void) | undefined
  try {
    giveBack = await place(url.hostname, abortion.signal)
    const check = checkAt(http, url, giveBack, timeoutMs)
    await abortion.race(() => check)
  } catch (error) {
    if (A2AError.is(error, 'REQUEST_ABORTED')) throw error
    if (giveBack === undefined) throw unavailable('is checking too many webhooks')
    onRefused(refusalOf(url, error))
    throw refused
  } finally {
    abortion.dispose()
  }
}

/** Holds its place while the name is looked up, whether or not the client waits for it; at most for `timeoutMs`. */
async function checkAt(
  http: PushSettings['http'],
  url: URL,
  giveBack: () => void,
  timeoutMs: number,
): Promise<void> {
  const stop = http.clock.schedule(giveBack, timeoutMs)
  try {
    await guarded(http, url)
  } finally {
    stop()
    giveBack()
  }
}

/** For the agent's owner, who may know the webhook, and can let it in. */
function refusalOf({ origin, protocol, host, hostname }: URL, error: unknown): A2AError<'URL_BLOCKED'> {
  const shown = origin === 'null' ? protocol : origin
  // There is a cause where the name cannot be looked up, and another error where that has taken too long.
  const isKnown = A2AError.is(error, 'URL_BLOCKED') && error.cause === undefined
  const reason = isKnown ? error.data.reason : `${hostname} cannot be resolved`
  const isOfHost = isKnown && reason.startsWith(`${hostname.replace(/^\[|\]$/g, '')} `)
  const hint = isOfHost ? `. If it may be reached, add "${host}" to push.allow` : ''
  const text = `A webhook at ${shown} was refused: ${reason}${hint}`
  return new A2AError('URL_BLOCKED', text, { url: shown, reason })
}
