/**
 * The used part of `@opentelemetry/api`, declared here so that the types work where that package is not installed.
 *
 * @module
 */

/** The package `@opentelemetry/api`, 1.9 or a later 1.x. */
export interface OpenTelemetryApi {
  readonly trace: {
    /** `undefined` when no spans are recorded. */
    getTracer(name: string, version?: string): OtelTracer | undefined
    setSpan(context: OtelContext, span: OtelSpan): OtelContext
    getSpanContext(context: OtelContext): OtelSpanContext | undefined
  }
  readonly metrics: {
    /** `undefined` when no metrics are recorded. */
    getMeter(name: string, version?: string): OtelMeter | undefined
  }
  readonly context: {
    active(): OtelContext
    with<T>(context: OtelContext, run: () => T): T
  }
  readonly propagation: {
    inject(context: OtelContext, carrier: Record<string, string>): void
    extract(context: OtelContext, carrier: Record<string, string>): OtelContext
    /** The names of the headers. */
    fields?(): string[]
  }
}

/** The used part of a `Context` of OpenTelemetry. */
export interface OtelContext {
  getValue(key: symbol): unknown
  setValue(key: symbol, value: unknown): OtelContext
  deleteValue(key: symbol): OtelContext
}

/** The used part of a `SpanContext` of OpenTelemetry. */
export interface OtelSpanContext {
  traceId: string
  spanId: string
  traceFlags: number
}

/** Attributes of a span or a measurement. */
export type OtelAttributes = Record<string, string | number | boolean | string[] | undefined>

/** The used part of the `SpanOptions` of OpenTelemetry. */
export interface OtelSpanOptions {
  kind?: number
  /** Whether the span has no parent, even if another span is active. */
  root?: boolean
  attributes?: OtelAttributes
  links?: { context: OtelSpanContext }[]
}

/** The used part of a `Tracer` of OpenTelemetry. */
export interface OtelTracer {
  startSpan(name: string, options: OtelSpanOptions, context: OtelContext): OtelSpan
}

/** The used part of a `Span` of OpenTelemetry. */
export interface OtelSpan {
  spanContext(): OtelSpanContext
  updateName(name: string): unknown
  setAttributes(attributes: OtelAttributes): unknown
  addEvent(name: string, attributes?: OtelAttributes): unknown
  addLink(link: { context: OtelSpanContext }): unknown
  setStatus(status: { code: number }): unknown
  end(): void
}

/** The used part of a `Meter` of OpenTelemetry. */
export interface OtelMeter {
  createCounter(name: string, options: { description: string; unit: string }): OtelCounter
  createHistogram(
    name: string,
    options: { description: string; unit: string; advice?: { explicitBucketBoundaries?: number[] } },
  ): OtelHistogram
  createObservableGauge(name: string, options: { description: string; unit: string }): OtelGauge
}

/** The used part of a `Counter` of OpenTelemetry. */
export interface OtelCounter {
  add(value: number, attributes: OtelAttributes, context: OtelContext): void
}

/** The used part of a `Histogram` of OpenTelemetry. */
export interface OtelHistogram {
  record(value: number, attributes: OtelAttributes, context: OtelContext): void
}

/** The used part of an `ObservableGauge` of OpenTelemetry. */
export interface OtelGauge {
  addCallback(callback: OtelGaugeCallback): void
  removeCallback(callback: OtelGaugeCallback): void
}

/** Observes a gauge when it is collected. */
export type OtelGaugeCallback = (result: {
  observe(value: number, attributes: OtelAttributes): void
}) => void | Promise<void>

/** `SpanKind.SERVER`. */
export const SERVER = 1

/** `SpanKind.CLIENT`. */
export const CLIENT = 2

/** `SpanStatusCode.ERROR`. */
export const ERROR = 2
