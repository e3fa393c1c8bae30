/**
 * The answer of a webhook to the challenge of an agent that verifies it.
 *
 * @module
 */
import { parseUrl } from '../runtime/url.js'

/** What agents choose as a token. Anything else is not sent back. */
const TOKEN = /^[\w.~-]{1,256}$/

/**
 * Answers an agent that verifies a webhook before it sends notifications: a GET with a `validationToken` in its query, which
 * agents with `push: { verifyWebhooks: 'challenge' }` send. The response has the token as plain text and the status 200.
 *
 * Call it before `verifyNotification`. Any sender gets an answer, so let only the URLs that you register reach it.
 *
 * @returns The response; `undefined` for any other request, such as a notification. The body of `request` is not read.
 * @example
 * ```ts
 * async function webhook(request: Request): Promise<Response> {
 *   const challenge = answerChallenge(request)
 *   if (challenge !== undefined) return challenge
 *   const { event } = await verifyNotification(request, { token, taskId })
 *   return new Response(null, { status: 204 })
 * }
 * ```
 */
export function answerChallenge({ method, url }: Request): Response | undefined {
  const token = method === 'GET' ? parseUrl(url)?.searchParams.get('validationToken') : undefined
  if (token == null || !TOKEN.test(token)) return undefined
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
  return new Response(token, { headers: { ...headers, 'cache-control': 'no-store' } })
}
