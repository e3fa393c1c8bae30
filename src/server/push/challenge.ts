/**
 * Verification that the receiver at a URL wants notifications.
 *
 * @module
 */
import { randomId } from '../../runtime/ids.js'
import { A2AError } from '../../core/errors.js'
import { request } from '../../http/request.js'
import type { PushSettings } from './options.js'
import { failureOf, type PushFailure } from './webhook.js'

/** The parameter of the query that the receiver sends back. */
const PARAMETER = 'validationToken'

/**
 * Sends a GET with a random `validationToken` in the query of `url`, which the webhook must send back as its body, with a
 * status of 2xx. The request has no token and no credentials of the configuration, and is not repeated.
 *
 * @returns The failure; `undefined` if the webhook sent the token back.
 * @throws {A2AError} As a rejection: `REQUEST_ABORTED` by `signal`.
 */
export async function challenge(
  { http, timeoutMs }: PushSettings,
  url: string,
  signal: AbortSignal | undefined,
): Promise<PushFailure | undefined> {
  const token = randomId()
  const target = new URL(url)
  // The rest of the query stays as the client wrote it: `searchParams` would encode it again.
  target.search += `${target.search === '' ? '?' : '&'}${PARAMETER}=${token}`
  // Receivers never see it, and it may hold a secret of the client.
  target.hash = ''
  try {
    const call = { method: 'GET', url: target.href, headers: { accept: 'text/plain' } } as const
    const { status, text } = await request(http, { ...call, isSameOriginOnly: true }, { signal, timeoutMs })
    if (status < 200 || status > 299) return { reason: `HTTP ${status}`, status }
    return text.trim() === token ? undefined : { reason: `its answer is not the ${PARAMETER}`, status }
  } catch (error) {
    if (signal?.aborted) throw error
    if (A2AError.is(error, 'LIMIT_EXCEEDED')) return { reason: `its answer is not the ${PARAMETER}` }
    const { reason, status } = failureOf(error, timeoutMs)
    return { reason, ...(status !== undefined && { status }) }
  }
}
