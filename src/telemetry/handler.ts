/**
 * Spans and metrics of a handler, and continuation of a caller's trace in its agent.
 *
 * @module
 */
import type { HandlerObserver } from '../server/observers.js'
import type { HandlerStats } from '../server/stats.js'
import type { AgentCard } from '../schemas/agent-card.js'
import { HandlerRecorder } from './server.js'
import { KEYS, Telemetry, type Gauge, type TelemetryOptions } from './telemetry.js'

/** The used part of a handler. */
interface ObservableHandler {
  readonly observe: (observer: HandlerObserver) => object
  readonly card?: AgentCard
  readonly stats?: () => HandlerStats
}

/**
 * Records each request of a handler: a span of kind SERVER named after the operation, the counter `a2a.server.requests`,
 * and the histogram `a2a.server.operation.duration`, in seconds. For a stream both last until its end. Gauges show the
 * runs, streams and webhooks of the handler.
 *
 * The span continues the trace of the request's `traceparent` header, or the span of the HTTP server if one of that trace
 * is active. Spans of the executor and of `instrumentTasks` become its children. The trace is stored with messages that
 * other processes work on, and with webhooks: notifications are sent in spans `a2a.push.deliver` and carry the trace's
 * headers, whichever process sends them.
 *
 * The content of messages is not recorded. Without an SDK the handler behaves as before. Errors that OpenTelemetry throws
 * are ignored.
 *
 * @returns A handler with the same properties, whose requests are recorded. `handler` answers as before.
 * @throws {TypeError} naming the invalid option, or saying that `handler` is no handler.
 * @example
 * const handler = instrumentHandler(createRequestHandler({ card, execute }))
 * createServer(toNodeListener(handler.fetch)).listen(3000)
 */
export function instrumentHandler<H extends ObservableHandler>(
  handler: H,
  options: TelemetryOptions = {},
): H {
  const telemetry = new Telemetry(options, 'instrumentHandler', KEYS)
  requireHandler(handler)
  const { card, stats } = handler
  if (stats !== undefined) telemetry.addGauges(gaugesOf(stats, telemetry))
  return { ...handler, ...handler.observe(new HandlerRecorder(telemetry, card)) }
}

function gaugesOf(stats: () => HandlerStats, { prefix }: Telemetry): Gauge[] {
  return [
    {
      name: `${prefix}.server.runs`,
      description: 'Runs of the executor',
      unit: '{run}',
      observe: () => Object.entries(stats().runs).map(([state, value]) => ({ value, attributes: { state } })),
    },
    {
      name: `${prefix}.server.streams`,
      description: 'Open streams of clients',
      unit: '{stream}',
      observe: () => [{ value: stats().streams }],
    },
    {
      name: `${prefix}.server.webhooks`,
      description: 'Webhooks that this process delivers to',
      unit: '{webhook}',
      observe: () => {
        const { idle, delivering, retrying, disabled } = stats().webhooks
        const states = { idle, delivering, retrying, disabled }
        return Object.entries(states).map(([state, value]) => ({ value, attributes: { state } }))
      },
    },
    {
      name: `${prefix}.server.webhook.backlog`,
      description: 'Events that webhooks lack',
      unit: '{event}',
      observe: () => [{ value: stats().webhooks.backlog }],
    },
  ]
}

/** @throws {TypeError} */
function requireHandler(handler: unknown): void {
  const isHandler = typeof handler === 'object' && handler !== null && 'observe' in handler
  if (isHandler && typeof handler.observe === 'function') return
  const hint = typeof handler === 'function' ? ': pass the handler itself, not its fetch' : ''
  throw new TypeError(`"handler" must be a handler of createRequestHandler${hint}`)
}
