/**
 * Responses of the inspector, and their headers.
 *
 * @module
 */
import type { Clock } from '../runtime/clock.js'
import { SCRIPT, SCRIPT_HASH, STYLE, STYLE_HASH } from './page-asset.js'

const POLICY = [
  "default-src 'none'",
  `script-src '${SCRIPT_HASH}'`,
  `style-src '${STYLE_HASH}'`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), microphone=(), geolocation=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

const DOCUMENT = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Tasks</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<div id="app"><noscript>The inspector needs JavaScript.</noscript></div>
<script type="module">${SCRIPT}</script>
</body>
</html>
`

export function documentResponse(): Response {
  return new Response(DOCUMENT, { headers: { ...HEADERS, 'content-type': 'text/html; charset=utf-8' } })
}

export function jsonResponse(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), {
    status,
    headers: { ...HEADERS, 'content-type': 'application/json; charset=utf-8' },
  })
}

const HEARTBEAT_MS = 15_000

/**
 * Server-sent events, at the pace of the reader. `end` is called when the entries or the reader end, and when `mayContinue`,
 * which is asked before each entry and each heartbeat, gives `false`.
 */
export function streamResponse(
  entries: AsyncIterator<unknown>,
  clock: Clock,
  mayContinue: () => Promise<boolean>,
  end: () => void,
): Response {
  const encoder = new TextEncoder()
  let pending: Promise<IteratorResult<unknown>> | undefined
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      pending ??= entries.next()
      const result = await orBeat(pending, clock)
      if (result?.done === true || !(await mayContinue())) {
        end()
        controller.close()
      } else if (result === undefined) {
        controller.enqueue(encoder.encode(': \n\n'))
      } else {
        pending = undefined
        controller.enqueue(encoder.encode(`data: ${JSON.stringify(result.value)}\n\n`))
      }
    },
    cancel() {
      end()
    },
  })
  return new Response(body, {
    headers: { ...HEADERS, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' },
  })
}

/** The next entry, or `undefined` if there is none for a while. */
async function orBeat<T>(next: Promise<T>, clock: Clock): Promise<T | undefined> {
  let stop = (): void => undefined
  const beat = new Promise<undefined>((resolve) => {
    stop = clock.schedule(() => resolve(undefined), HEARTBEAT_MS)
  })
  try {
    return await Promise.race([next, beat])
  } finally {
    stop()
  }
}
