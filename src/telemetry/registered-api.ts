/**
 * The part of `@opentelemetry/api` that its global registry provides. The package itself is not loaded, because an
 * optional package can be imported neither synchronously nor by every bundler.
 *
 * @module
 */
import type { OpenTelemetryApi, OtelContext, OtelSpan } from './api.js'
import { globalRegistry } from '../runtime/environment.js'

/** The providers that an SDK has registered with `@opentelemetry/api`. */
interface Registered {
  readonly trace?: Pick<OpenTelemetryApi['trace'], 'getTracer'>
  readonly metrics?: OpenTelemetryApi['metrics']
  readonly context?: OpenTelemetryApi['context']
  readonly propagation?: Propagator
}

interface Propagator {
  fields(): string[]
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

/** The key of the registry that all copies of the package share: any 1.x, imported, required or bundled. */
const REGISTRY = Symbol.for('opentelemetry.js.api.1')

/** Looked up on every use, because an SDK may register at any time. */
function registered(): Registered {
  // Only the package itself writes the registry.
  return (globalRegistry(REGISTRY) as Registered | undefined) ?? {}
}

/** The package's own context key: all copies of 1.x find the span by its description. */
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN')

class Root implements OtelContext {
  readonly #values: ReadonlyMap<symbol, unknown>

  constructor(values: ReadonlyMap<symbol, unknown> = new Map()) {
    this.#values = values
  }

  getValue(key: symbol): unknown {
    return this.#values.get(key)
  }

  setValue(key: symbol, value: unknown): OtelContext {
    return new Root(new Map(this.#values).set(key, value))
  }

  deleteValue(key: symbol): OtelContext {
    const values = new Map(this.#values)
    values.delete(key)
    return new Root(values)
  }
}

/** Does nothing until an SDK is registered. */
export const registeredApi: OpenTelemetryApi = {
  trace: {
    getTracer: (name, version) => registered().trace?.getTracer(name, version),
    setSpan: (context, span) => context.setValue(SPAN, span),
    // The key holds only spans.
    getSpanContext: (context) => (context.getValue(SPAN) as OtelSpan | undefined)?.spanContext(),
  },
  metrics: {
    getMeter: (name, version) => registered().metrics?.getMeter(name, version),
  },
  context: {
    active: () => registered().context?.active() ?? new Root(),
    with(context, run) {
      const { context: manager } = registered()
      return manager === undefined ? run() : manager.with(context, run)
    },
  },
  propagation: {
    fields: () => registered().propagation?.fields() ?? [],
    inject(context, carrier) {
      registered().propagation?.inject(context, carrier, {
        set(headers, key, value) {
          headers[key] = value
        },
      })
    },
    extract: (context, carrier) =>
      registered().propagation?.extract(context, carrier, {
        keys: (headers) => Object.keys(headers),
        get: (headers, key) => headers[key],
      }) ?? context,
  },
}
