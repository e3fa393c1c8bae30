/**
 * OpenTelemetry as the instruments use it: whatever it throws, nothing of ours breaks.
 *
 * @module
 */
import type {
  OpenTelemetryApi,
  OtelAttributes,
  OtelContext,
  OtelCounter,
  OtelHistogram,
  OtelMeter,
  OtelSpan,
  OtelSpanContext,
  OtelSpanOptions,
} from './api.js'
import { namesFor, type Names } from './names.js'
import { registeredApi } from './registered-api.js'

export interface TelemetryOptions {
  /**
   * What spans and metrics are called by: `a2a.task.execute` by default, `kaos.task.execute` with `'kaos'`, which also
   * gives attributes KAOS' names. Letters, digits, `_`, `.` and `-`.
   */
  readonly prefix?: string | undefined
  /** `import * as api from '@opentelemetry/api'`. Default is what an SDK has registered with 1.x of it, now or later. */
  readonly api?: OpenTelemetryApi | undefined
}

/** The metrics of one meter. */
interface Metrics {
  readonly meter: OtelMeter
  readonly counters: Map<string, OtelCounter>
  readonly histograms: Map<string, OtelHistogram>
}

/** What all is recorded under: the name of tracer and meter. */
const SCOPE = 'a2a-tasks'

export const KEYS: readonly string[] = ['prefix', 'api']
const PARTS = ['trace', 'metrics', 'context', 'propagation']

export class Telemetry {
  readonly prefix: string
  readonly names: Names
  readonly #api: OpenTelemetryApi
  readonly #metrics = new WeakMap<OtelMeter, Metrics>()

  /** @throws {TypeError} naming the option of `where` that makes no sense. */
  constructor(options: TelemetryOptions, where: string, keys: readonly string[] = KEYS) {
    requireKnown(options, where, keys)
    const { prefix = 'a2a', api = registeredApi } = options
    if (!/^[a-z][\w.-]{0,99}$/i.test(prefix)) {
      throw new TypeError('"prefix" must be a letter, and at most 99 more letters, digits, "_", "." and "-"')
    }
    const missing = PARTS.find((part) => typeof Reflect.get(api, part) !== 'object')
    if (missing !== undefined) {
      throw new TypeError(`"api" must be the package @opentelemetry/api: it has no ${missing}`)
    }
    this.prefix = prefix
    this.names = namesFor(prefix)
    this.#api = api
  }

  /** Whether there is anybody to be told. */
  get isOn(): boolean {
    return this.isTracing || quietly(() => this.#api.metrics.getMeter(SCOPE)) !== undefined
  }

  get isTracing(): boolean {
    return quietly(() => this.#api.trace.getTracer(SCOPE)) !== undefined
  }

  active(): OtelContext | undefined {
    return quietly(() => this.#api.context.active())
  }

  /** The span that is active, or that `context` has. */
  spanContext(context = this.active()): OtelSpanContext | undefined {
    return context && quietly(() => this.#api.trace.getSpanContext(context))
  }

  /** A child of the active span. */
  startSpan(name: string, options: OtelSpanOptions): OtelSpan | undefined {
    const { trace, context } = this.#api
    return quietly(() => trace.getTracer(SCOPE)?.startSpan(name, options, context.active()))
  }

  /** The active context, with `span` in it. */
  contextWith(span: OtelSpan): OtelContext | undefined {
    return quietly(() => this.#api.trace.setSpan(this.#api.context.active(), span))
  }

  /** Runs `run` once, in `context` if that can be had. Throws what `run` throws, and nothing else. */
  within<T>(context: OtelContext | undefined, run: () => T): T {
    if (context === undefined) return run()
    let outcome: { readonly value: T } | { readonly error: unknown } | undefined
    quietly(() =>
      this.#api.context.with(context, () => {
        try {
          outcome = { value: run() }
        } catch (error) {
          outcome = { error }
        }
      }),
    )
    return outcome === undefined ? run() : unwrap(outcome)
  }

  /** What to send so that the other side finds `context`, the active one by default. */
  inject(context = this.active()): Record<string, string> {
    const headers: Record<string, string> = {}
    if (context) quietly(() => this.#api.propagation.inject(context, headers))
    return headers
  }

  /** The context that came with `headers`, on top of the active one. */
  extract(headers: Record<string, string>): OtelContext | undefined {
    return quietly(() => this.#api.propagation.extract(this.#api.context.active(), headers))
  }

  /** One more. */
  count(name: string, description: string, attributes: OtelAttributes): void {
    quietly(() => {
      const { meter, counters } = this.#metricsNow() ?? {}
      if (meter === undefined || counters === undefined) return
      const counter = counters.get(name) ?? meter.createCounter(name, { description, unit: '1' })
      counters.set(name, counter)
      counter.add(1, attributes, this.#api.context.active())
    })
  }

  /** `ms` is asked only if it is told. */
  recordMs(name: string, description: string, ms: () => number, attributes: OtelAttributes): void {
    quietly(() => {
      const { meter, histograms } = this.#metricsNow() ?? {}
      if (meter === undefined || histograms === undefined) return
      const histogram = histograms.get(name) ?? meter.createHistogram(name, { description, unit: 'ms' })
      histograms.set(name, histogram)
      histogram.record(ms(), attributes, this.#api.context.active())
    })
  }

  /** Others when an SDK is registered later: those before it record nothing. */
  #metricsNow(): Metrics | undefined {
    const meter = this.#api.metrics.getMeter(SCOPE)
    if (meter === undefined) return undefined
    const metrics = this.#metrics.get(meter) ?? { meter, counters: new Map(), histograms: new Map() }
    this.#metrics.set(meter, metrics)
    return metrics
  }
}

/** Whoever is watched is not harmed by being watched. */
export function quietly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

function requireKnown(options: object, where: string, keys: readonly string[]): void {
  const unknown = Object.keys(options).find((key) => !keys.includes(key))
  if (unknown === undefined) return
  throw new TypeError(`Unknown option "${unknown}" of ${where}; known are ${keys.join(', ')}`)
}

function unwrap<T>(outcome: { readonly value: T } | { readonly error: unknown }): T {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}
