/**
 * Where telemetry meets the platform.
 *
 * @module
 */
import type { Fetch } from '../client/platform.js'
import type { OpenTelemetryApi, OtelContext } from './api.js'

/** What an SDK has registered with `@opentelemetry/api`. */
export interface Registered {
  readonly trace?: Pick<OpenTelemetryApi['trace'], 'getTracer'>
  readonly metrics?: OpenTelemetryApi['metrics']
  readonly context?: OpenTelemetryApi['context']
  readonly propagation?: Propagator
}

interface Propagator {
  inject(context: OtelContext, carrier: Record<string, string>, setter: Setter): void
  extract(context: OtelContext, carrier: Record<string, string>, getter: Getter): OtelContext
}

interface Setter {
  set(carrier: Record<string, string>, key: string, value: string): void
}

interface Getter {
  keys(carrier: Record<string, string>): string[]
  get(carrier: Record<string, string>, key: string): string | undefined
}

/** Where all copies of the package, of any 1.x, whether imported, required or bundled, keep it for each other. */
const REGISTRY = Symbol.for('opentelemetry.js.api.1')

/** Looked up when it is used: an SDK may register itself at any time. */
export function registered(): Registered {
  return (globalThis as { [REGISTRY]?: Registered })[REGISTRY] ?? {}
}

/** Sends a request: what `globalThis.fetch` does. Looked up when it is called, so that what replaces it later is used. */
export const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init)

/** Milliseconds since some moment. */
export const elapsed = (): number => performance.now()
