/**
 * Access to OpenTelemetry whose errors never reach the application.
 *
 * @module
 */
import type { MaybePromise } from '../core/managers.js'
import type { TraceHeaders } from '../runtime/trace-headers.js'
import { requireKnown } from '../runtime/options.js'
import type {
  OpenTelemetryApi,
  OtelAttributes,
  OtelContext,
  OtelCounter,
  OtelGaugeCallback,
  OtelHistogram,
  OtelMeter,
  OtelSpan,
  OtelSpanContext,
  OtelSpanOptions,
} from './api.js'
import { namesFor, type Names } from './names.js'
import { registeredApi } from './registered-api.js'

/** Options of all functions of this entry. */
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

/** A metric that is read when it is collected. */
export interface Gauge {
  readonly name: string
  readonly description: string
  readonly unit: string
  readonly observe: () => MaybePromise<
    readonly { readonly value: number; readonly attributes?: OtelAttributes }[]
  >
}

/** The boundaries that the conventions for calls between agents and tools recommend. */
const SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]

/** The name and the version of the package: of the tracer and the meter, whose spans and metrics carry both. */
const SCOPE = ['a2a-tasks', '0.2.0'] as const

/** The maximum length of a span name or an attribute value, in characters. */
const MAX_LENGTH = 256
const W3C_FIELDS = ['traceparent', 'tracestate', 'baggage']
/** The most texts of an attribute. */
const MAX_ITEMS = 32
/**
 * The maximum length of all headers sent, in characters. Baggage may take 8 KiB, and a Node server accepts 16 KiB in
 * total.
 */
const MAX_HEADERS = 10_240
/** The maximum length of all headers stored, in characters. */
const MAX_STORED = 1_024

export const KEYS: readonly string[] = ['prefix', 'api']
const PARTS = ['trace', 'metrics', 'context', 'propagation']

export class Telemetry {
  readonly prefix: string
  readonly names: Names
  readonly #api: OpenTelemetryApi
  readonly #metrics = new WeakMap<OtelMeter, Metrics>()
  #gauges: Gauge[] = []
  /** The meter that has the gauges. */
  #gauged: OtelMeter | undefined
  #removals: (() => void)[] = []

  /** @throws {TypeError} naming the invalid option of `where`. */
  constructor(options: TelemetryOptions, where: string, keys: readonly string[] = KEYS) {
    requireKnown(options, keys, where)
    const { prefix = 'a2a', api = registeredApi } = options
    if (!/^[a-z][\w.-]{0,99}$/i.test(prefix)) {
      throw new TypeError(
        '"prefix" must begin with a letter, and have at most 100 letters, digits, "_", "." and "-"',
      )
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
    return this.isTracing || quietly(() => this.#api.metrics.getMeter(...SCOPE)) !== undefined
  }

  get isTracing(): boolean {
    return quietly(() => this.#api.trace.getTracer(...SCOPE)) !== undefined
  }

  active(): OtelContext | undefined {
    return quietly(() => this.#api.context.active())
  }

  /** The active span, or that of `context`. */
  spanContext(context = this.active()): OtelSpanContext | undefined {
    return context && quietly(() => this.#api.trace.getSpanContext(context))
  }

  /** Starts a child of the active span, or of that in `parent`, unless the options make it a root. */
  startSpan(
    name: string,
    { attributes = {}, ...options }: OtelSpanOptions,
    parent?: OtelContext,
  ): OtelSpan | undefined {
    const { trace, context } = this.#api
    const bounded = { ...options, attributes: short(attributes) }
    return quietly(() =>
      trace.getTracer(...SCOPE)?.startSpan(shortText(name), bounded, parent ?? context.active()),
    )
  }

  /** `context`, by default the active one, with `span` in it. */
  contextWith(span: OtelSpan, context?: OtelContext): OtelContext | undefined {
    return quietly(() => this.#api.trace.setSpan(context ?? this.#api.context.active(), span))
  }

  /** The names of the headers that the propagator reads. */
  fields(): readonly string[] {
    return quietly(() => this.#api.propagation.fields?.()) ?? W3C_FIELDS
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

  /** The headers of a trace that are stored: all but `baggage`, which is the caller's own. */
  trace(context = this.active()): Record<string, string> | undefined {
    if (context === undefined || this.spanContext(context) === undefined) return undefined
    const headers = Object.entries(this.inject(context)).filter(([name]) => !/^baggage$/i.test(name))
    return headers.join('').length > MAX_STORED ? undefined : Object.fromEntries(headers)
  }

  traceOf(span: OtelSpan): Record<string, string> | undefined {
    return this.trace(this.contextWith(span))
  }

  /** The span of a trace that was stored. */
  readSpan(stored: unknown): OtelSpanContext | undefined {
    if (typeof stored !== 'object' || stored === null) return undefined
    const texts = Object.entries(stored).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    )
    const context = this.extract(Object.fromEntries(texts))
    return context && this.spanContext(context)
  }

  /** The context of a trace that was stored; `undefined` if its span is active already. */
  contextOf(trace: TraceHeaders): OtelContext | undefined {
    const context = this.extract(trace)
    const stored = context && this.spanContext(context)
    return stored === undefined || stored.spanId === this.spanContext()?.spanId ? undefined : context
  }

  /** The active context, extended by the one in `headers`. */
  extract(headers: Record<string, string>): OtelContext | undefined {
    return quietly(() => this.#api.propagation.extract(this.#api.context.active(), headers))
  }

  /** Adds to a counter. */
  count(name: string, description: string, attributes: OtelAttributes, amount = 1): void {
    quietly(() => {
      const { meter, counters } = this.#metricsNow() ?? {}
      if (meter === undefined || counters === undefined) return
      const counter = counters.get(name) ?? meter.createCounter(name, { description, unit: '1' })
      counters.set(name, counter)
      counter.add(amount, short(attributes), this.#api.context.active())
    })
  }

  /** Records a duration. `ms` is called only when there is a meter. */
  recordMs(name: string, description: string, ms: () => number, attributes: OtelAttributes): void {
    this.#record(name, { description, unit: 'ms' }, ms, attributes)
  }

  /** Records a value in a histogram. */
  record(name: string, description: string, unit: string, value: number, attributes: OtelAttributes): void {
    this.#record(name, { description, unit }, () => value, attributes)
  }

  #record(
    name: string,
    options: Parameters<OtelMeter['createHistogram']>[1],
    value: () => number,
    attributes: OtelAttributes,
  ): void {
    quietly(() => {
      const { meter, histograms } = this.#metricsNow() ?? {}
      if (meter === undefined || histograms === undefined) return
      const histogram = histograms.get(name) ?? meter.createHistogram(name, options)
      histograms.set(name, histogram)
      histogram.record(value(), short(attributes), this.#api.context.active())
    })
  }

  /** Records a duration in seconds. */
  recordSeconds(name: string, description: string, seconds: number, attributes: OtelAttributes): void {
    const advice = { explicitBucketBoundaries: SECONDS }
    this.#record(name, { description, unit: 's', advice }, () => seconds, attributes)
  }

  /**
   * Adds gauges, now if a meter is registered, and otherwise with the first count or duration after that.
   *
   * @returns A function that removes them.
   */
  addGauges(gauges: readonly Gauge[]): () => void {
    this.#gauges.push(...gauges)
    quietly(() => this.#metricsNow())
    return () => {
      this.#gauges = this.#gauges.filter((gauge) => !gauges.includes(gauge))
      for (const remove of this.#removals) quietly(remove)
      this.#removals = []
      this.#gauged = undefined
      quietly(() => this.#metricsNow())
    }
  }

  #observeGauges(meter: OtelMeter): void {
    this.#gauged = meter
    for (const { name, description, unit, observe } of this.#gauges) {
      const gauge = meter.createObservableGauge(name, { description, unit })
      const callback: OtelGaugeCallback = async (result) => {
        try {
          for (const { value, attributes = {} } of await observe()) result.observe(value, short(attributes))
        } catch {
          // A store that cannot be reached has no value.
        }
      }
      gauge.addCallback(callback)
      this.#removals.push(() => gauge.removeCallback(callback))
    }
  }

  /** Looked up on every use: an SDK that registers later has a new meter, and earlier instruments record nothing. */
  #metricsNow(): Metrics | undefined {
    const meter = this.#api.metrics.getMeter(...SCOPE)
    if (meter === undefined) return undefined
    const metrics = this.#metrics.get(meter) ?? { meter, counters: new Map(), histograms: new Map() }
    this.#metrics.set(meter, metrics)
    if (this.#gauges.length > 0 && this.#gauged !== meter) this.#observeGauges(meter)
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
      typeof value === 'string'
        ? shortText(value)
        : Array.isArray(value)
          ? value.slice(0, MAX_ITEMS).map(shortText)
          : value,
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
