/**
 * Access to OpenTelemetry whose errors never reach the application.
 *
 * @module
 */
import { requireKnown } from '../runtime/options.js'
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
   * The first part of the names of spans and metrics: `a2a.task.execute` by default, `kaos.task.execute` with `'kaos'`,
   * which also selects the attribute names of KAOS. Letters, digits, `_`, `.` and `-`.
   */
  readonly prefix?: string | undefined
  /**
   * `import * as api from '@opentelemetry/api'`. Default is what an SDK has registered with 1.x of it, now or later.
   */
  readonly api?: OpenTelemetryApi | undefined
}

/** The metrics of one meter. */
interface Metrics {
  readonly meter: OtelMeter
  readonly counters: Map<string, OtelCounter>
  readonly histograms: Map<string, OtelHistogram>
}

/** The name of the tracer and of the meter. */
const SCOPE = 'a2a-tasks'

/** The maximum length of a span name or an attribute value, in characters. */
const MAX_LENGTH = 256
/**
 * The maximum length of all headers sent, in characters. Baggage may take 8 KiB, and a Node server accepts 16 KiB in
 * total.
 */
const MAX_HEADERS = 10_240

export const KEYS: readonly string[] = ['prefix', 'api']
const PARTS = ['trace', 'metrics', 'context', 'propagation']

export class Telemetry {
  readonly prefix: string
  readonly names: Names
  readonly #api: OpenTelemetryApi
  readonly #metrics = new WeakMap<OtelMeter, Metrics>()

  /** @throws {TypeError} naming the invalid option of `where`. */
  constructor(options: TelemetryOptions, where: string, keys: readonly string[] = KEYS) {
    requireKnown(options, keys, where)
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

  /** Whether spans or metrics are recorded. */
  get isOn(): boolean {
    return this.isTracing || quietly(() => this.#api.metrics.getMeter(SCOPE)) !== undefined
  }

  get isTracing(): boolean {
    return quietly(() => this.#api.trace.getTracer(SCOPE)) !== undefined
  }

  active(): OtelContext | undefined {
    return quietly(() => this.#api.context.active())
  }

  /** The active span, or that of `context`. */
  spanContext(context = this.active()): OtelSpanContext | undefined {
    return context && quietly(() => this.#api.trace.getSpanContext(context))
  }

  /** Starts a child of the active span. */
  startSpan(name: string, { attributes = {}, ...options }: OtelSpanOptions): OtelSpan | undefined {
    const { trace, context } = this.#api
    const bounded = { ...options, attributes: short(attributes) }
    return quietly(() => trace.getTracer(SCOPE)?.startSpan(shortText(name), bounded, context.active()))
  }

  /** The active context with `span` in it. */
  contextWith(span: OtelSpan): OtelContext | undefined {
    return quietly(() => this.#api.trace.setSpan(this.#api.context.active(), span))
  }

  /** Runs `run` once, in `context` if possible. Throws only what `run` throws. */
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

  /**
   * The headers that propagate `context`, by default the active one. Omits headers that are not valid or not about the
   * trace.
   */
  inject(context = this.active()): Record<string, string> {
    const headers: Record<string, unknown> = {}
    // The declared type is a promise of the propagator. The values are checked below.
    if (context) quietly(() => this.#api.propagation.inject(context, headers as Record<string, string>))
    let room = MAX_HEADERS
    const fitting = Object.entries(headers).filter((entry): entry is [string, string] => {
      if (!isOfTrace(entry)) return false
      const size = entry.join().length
      if (size > room) return false
      room -= size
      return true
    })
    return Object.fromEntries(fitting)
  }

  /** The active context, extended by the one in `headers`. */
  extract(headers: Record<string, string>): OtelContext | undefined {
    return quietly(() => this.#api.propagation.extract(this.#api.context.active(), headers))
  }

  /** Adds 1 to a counter. */
  count(name: string, description: string, attributes: OtelAttributes): void {
    quietly(() => {
      const { meter, counters } = this.#metricsNow() ?? {}
      if (meter === undefined || counters === undefined) return
      const counter = counters.get(name) ?? meter.createCounter(name, { description, unit: '1' })
      counters.set(name, counter)
      counter.add(1, short(attributes), this.#api.context.active())
    })
  }

  /** Records a duration. `ms` is called only when there is a meter. */
  recordMs(name: string, description: string, ms: () => number, attributes: OtelAttributes): void {
    quietly(() => {
      const { meter, histograms } = this.#metricsNow() ?? {}
      if (meter === undefined || histograms === undefined) return
      const histogram = histograms.get(name) ?? meter.createHistogram(name, { description, unit: 'ms' })
      histograms.set(name, histogram)
      histogram.record(ms(), short(attributes), this.#api.context.active())
    })
  }

  /** Looked up on every use: an SDK that registers later has a new meter, and earlier instruments record nothing. */
  #metricsNow(): Metrics | undefined {
    const meter = this.#api.metrics.getMeter(SCOPE)
    if (meter === undefined) return undefined
    const metrics = this.#metrics.get(meter) ?? { meter, counters: new Map(), histograms: new Map() }
    this.#metrics.set(meter, metrics)
    return metrics
  }
}

/** Runs `work` and ignores what it throws: telemetry must not break what it observes. */
export function quietly<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}

/** Limits the length of attribute values: ids, names and versions can have any length. */
export function short(attributes: OtelAttributes): OtelAttributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === 'string' ? shortText(value) : value,
    ]),
  )
}

function shortText(text: string): string {
  return text.slice(0, MAX_LENGTH)
}

/** Headers that belong to the client or its user. A propagator must not set them. */
const NOT_OF_TRACE =
  /^(authorization|proxy-.*|x-api-key|cookie|host|connection|transfer-encoding|accept.*|content-.*|a2a-.*)$/i

function isOfTrace([name, value]: [string, unknown]): boolean {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || NOT_OF_TRACE.test(name)) return false
  return typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

function unwrap<T>(outcome: { readonly value: T } | { readonly error: unknown }): T {
  if ('error' in outcome) throw outcome.error
  return outcome.value
}
