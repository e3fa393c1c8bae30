/**
 * An SDK with everything in memory, registered until the test is over.
 *
 * @module
 */
import { context, metrics, propagation, trace, type Attributes } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { DataPointType, MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'

class Reader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve()
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve()
  }
}

export interface Point {
  readonly attributes: Attributes
  /** Of a counter the count, of a histogram its sum and how many. */
  readonly value: unknown
}

export interface Measured {
  readonly unit: string
  readonly points: readonly Point[]
}

export interface Sdk {
  /** Those that have ended, in the order of their ends. */
  readonly spans: () => ReadableSpan[]
  /** The only one of that name that has ended. */
  readonly span: (name: string) => ReadableSpan
  /** Counters and histograms. */
  readonly metrics: () => Promise<Record<string, Measured>>
  readonly gauges: () => Promise<Record<string, Measured>>
  /** Runs `work` in its own span. */
  readonly inSpan: <T>(name: string, work: () => T) => T
}

export function sdk(): Sdk {
  const exporter = new InMemorySpanExporter()
  const tracing = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const reader = new Reader()
  trace.setGlobalTracerProvider(tracing)
  metrics.setGlobalMeterProvider(new MeterProvider({ readers: [reader] }))
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  onTestFinished(unregister)
  return {
    spans: () => exporter.getFinishedSpans(),
    span(name) {
      const found = exporter.getFinishedSpans().filter((span) => span.name === name)
      if (found[0] === undefined || found.length > 1) throw new Error(`${found.length} spans ${name}`)
      return found[0]
    },
    metrics: () => measured(reader, (type) => type !== DataPointType.GAUGE),
    gauges: () => measured(reader, (type) => type === DataPointType.GAUGE),
    inSpan: (name, work) =>
      trace.getTracer('test').startActiveSpan(name, (span) => {
        try {
          return work()
        } finally {
          span.end()
        }
      }),
  }
}

export function unregister(): void {
  for (const api of [trace, metrics, context, propagation]) api.disable()
}

async function measured(
  reader: Reader,
  isWanted: (type: DataPointType) => boolean,
): Promise<Record<string, Measured>> {
  const { resourceMetrics } = await reader.collect()
  const all = resourceMetrics.scopeMetrics.flatMap((scope) => scope.metrics)
  return Object.fromEntries(
    all
      .filter(({ dataPointType }) => isWanted(dataPointType))
      .map(({ descriptor: { name, unit }, dataPoints }) => [
        name,
        { unit, points: dataPoints.map(({ attributes, value }) => ({ attributes, value: short(value) })) },
      ]),
  )
}

function short(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('sum' in value) || !('count' in value)) return value
  return { sum: value.sum, count: value.count }
}

export function parentOf(span: ReadableSpan): string | undefined {
  return span.parentSpanContext?.spanId
}

export function idOf(span: ReadableSpan): string {
  return span.spanContext().spanId
}

export function traceOf(span: ReadableSpan): string {
  return span.spanContext().traceId
}

/** All that is exported, as a text to look for secrets in. */
export function textOfSpans(spans: readonly ReadableSpan[]): string {
  return JSON.stringify(
    spans.map(({ name, attributes, events, links, status }) => ({ name, attributes, events, links, status })),
  )
}
