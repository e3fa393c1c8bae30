/**
 * Trace propagation for requests that are not sent by an instrumented client.
 *
 * @module
 */
import { requireFunction } from '../runtime/options.js'
import { type Fetch, platformFetch } from '../runtime/fetch.js'
import { Telemetry, type TelemetryOptions } from './telemetry.js'

/**
 * Returns a `fetch` that adds the headers of the registered propagator, `traceparent` and `tracestate`, so that the
 * called server continues the active span. Use it for the providers of a gateway: `a2a({ fetch: instrumentFetch() })`.
 * Headers that a request already has are kept. It creates no span.
 *
 * Without an SDK it behaves as `fetch`. Errors that OpenTelemetry throws are ignored. It is not needed when `fetch`
 * itself is instrumented, as by `@opentelemetry/instrumentation-undici`.
 *
 * @param fetch Sends the requests. Default is the platform's.
 * @throws {TypeError} naming the invalid option.
 * @example
 * const gateway = new A2AGateway({ providers: { a2a: a2a({ fetch: instrumentFetch() }) } })
 */
export function instrumentFetch(fetch: Fetch = platformFetch, options: TelemetryOptions = {}): Fetch {
  const telemetry = new Telemetry(options, 'instrumentFetch')
  requireFunction('fetch', fetch)
  return (url, init) => {
    const entries = Object.entries(telemetry.inject())
    if (entries.length === 0) return fetch(url, init)
    const headers = new Headers(init.headers)
    for (const [name, value] of entries) if (!headers.has(name)) headers.set(name, value)
    return fetch(url, { ...init, headers })
  }
}
