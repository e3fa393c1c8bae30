/**
 * Spans and metrics of OpenTelemetry for tasks, agents and clients. One trace reaches from a client to the agent that does
 * the work.
 *
 * @module
 */
export { instrumentClient, type ClientTelemetryOptions } from './client.js'
export { instrumentFetch } from './fetch.js'
export { instrumentHandler } from './handler.js'
export { instrumentTasks } from './tasks.js'
export type { TelemetryOptions } from './telemetry.js'
export type {
  OpenTelemetryApi,
  OtelAttributes,
  OtelContext,
  OtelCounter,
  OtelHistogram,
  OtelMeter,
  OtelSpan,
  OtelSpanContext,
  OtelSpanOptions,
  OtelTracer,
} from './api.js'
