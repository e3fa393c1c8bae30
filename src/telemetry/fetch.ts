/**
 * The trace along with requests that no client of ours makes.
 *
 * @module
 */
import { requireFunction } from '../runtime/options.js'
import { type Fetch, platformFetch } from '../runtime/fetch.js'
import { Telemetry, type TelemetryOptions } from './telemetry.js'

/**
 * A `fetch` that sends what the registered propagator writes along, `traceparent` and `tracestate`, so that whoever is asked
 * finds the span that is active: for the providers of a gateway, `a2a({ fetch: instrumentFetch() })`. Headers that a request
 * has are left as they are. It makes no span of its own.
 *
 * Without an SDK it is `fetch` as it is, and what OpenTelemetry throws is swallowed. Where `fetch` is instrumented itself, as by
 * `@opentelemetry/instrumentation-undici`, it is not needed.
 *
 * @param fetch Sends the requests. Default is the platform's.
 * @throws {TypeError} naming the option that makes no sense.
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
