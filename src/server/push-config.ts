/**
 * What a client says of a webhook, checked before anything is sent there.
 *
 * @module
 */
import { Abortion } from '../client/abortion.js'
import { guarded } from '../client/http.js'
import { A2AError, invalidParams } from '../core/errors.js'
import { hasLoneSurrogate } from '../core/json.js'
import type { PushConfig } from '../wire/index.js'
import type { PushSettings } from './push-options.js'

const MAX = { id: 256, url: 2_048, token: 4_096, scheme: 64, credentials: 8_192 }

/** A name of HTTP: RFC 9110 §5.6.2. */
const NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** What a header holds as it is, blanks at its ends and line breaks excluded: RFC 9110 §5.5. */
const VALUE = /^[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$/

/**
 * `config`, if notifications may be sent as it says.
 *
 * @throws {A2AError} `INVALID_PARAMS`. It tells nothing of the addresses that a name resolves to.
 */
export async function requirePushConfig(
  config: PushConfig,
  settings: PushSettings,
  signal: AbortSignal | undefined,
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
  await requireReachable(url, settings, signal)
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
  signal: AbortSignal | undefined,
): Promise<void> {
  const refused = invalidParams(
    'url',
    'must be a URL of http or https, with a public host and no credentials',
  )
  if (!URL.canParse(text)) throw refused
  const abortion = new Abortion(http.clock, signal)
  abortion.arm(timeoutMs)
  try {
    await abortion.race(() => guarded(http, new URL(text)))
  } catch (error) {
    throw A2AError.is(error, 'REQUEST_ABORTED') ? error : refused
  } finally {
    abortion.dispose()
  }
}
