/**
 * `@opentelemetry/api` as its registry makes it, without loading the package: a package that is optional can be
 * imported neither synchronously nor by every bundler.
 *
 * @module
 */
import type { OpenTelemetryApi, OtelContext, OtelSpan } from './api.js'
import { registered } from './platform.js'

/** Of the package: in a context, what it is called by is where all copies of 1.x have the span. */
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

/** Does nothing where nothing is registered. */
export const registeredApi: OpenTelemetryApi = {
  trace: {
    getTracer: (name) => registered().trace?.getTracer(name),
    setSpan: (context, span) => context.setValue(SPAN, span),
    // Whoever sets it sets a span.
    getSpanContext: (context) => (context.getValue(SPAN) as OtelSpan | undefined)?.spanContext(),
  },
  metrics: {
    getMeter: (name) => registered().metrics?.getMeter(name),
  },
  context: {
    active: () => registered().context?.active() ?? new Root(),
    with(context, run) {
      const { context: manager } = registered()
      return manager === undefined ? run() : manager.with(context, run)
    },
  },
  propagation: {
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
