/**
 * The used part of `@opentelemetry/api`, declared here so that the types work where that package is not installed.
 *
 * @module
 */

/** The package `@opentelemetry/api`, 1.9 or a later 1.x. */
export interface OpenTelemetryApi {
  readonly trace: {
    /** `undefined` when no spans are recorded. */
    getTracer(name: string): OtelTracer | undefined
    setSpan(context: OtelContext, span: OtelSpan): OtelContext
    getSpanContext(context: OtelContext): OtelSpanContext | undefined
  }
  readonly metrics: {
    /** `undefined` when no metrics are recorded. */
    getMeter(name: string): OtelMeter | undefined
  }
  readonly context: {
    active(): OtelContext
    with<T>(context: OtelContext, run: () => T): T
  }
  readonly propagation: {
    inject(context: OtelContext, carrier: Record<string, string>): void
    extract(context: OtelContext, carrier: Record<string, string>): OtelContext
  }
}

export interface OtelContext {
  getValue(key: symbol): unknown
  setValue(key: symbol, value: unknown): OtelContext
  deleteValue(key: symbol): OtelContext
}

export interface OtelSpanContext {
  traceId: string
  spanId: string
  traceFlags: number
}

export type OtelAttributes = Record<string, string | number | undefined>

export interface OtelSpanOptions {
  kind?: number
  attributes?: OtelAttributes
  links?: { context: OtelSpanContext }[]
}

export interface OtelTracer {
  startSpan(name: string, options: OtelSpanOptions, context: OtelContext): OtelSpan
}

export interface OtelSpan {
  spanContext(): OtelSpanContext
  setAttributes(attributes: OtelAttributes): unknown
  addEvent(name: string, attributes?: OtelAttributes): unknown
  addLink(link: { context: OtelSpanContext }): unknown
  setStatus(status: { code: number }): unknown
  end(): void
}

export interface OtelMeter {
  createCounter(name: string, options: { description: string; unit: string }): OtelCounter
  createHistogram(name: string, options: { description: string; unit: string }): OtelHistogram
}

export interface OtelCounter {
  add(value: number, attributes: OtelAttributes, context: OtelContext): void
}

export interface OtelHistogram {
  record(value: number, attributes: OtelAttributes, context: OtelContext): void
}

/** `SpanKind.CLIENT`. */
export const CLIENT = 2

/** `SpanStatusCode.ERROR`. */
export const ERROR = 2
