/**
 * Continuation of a caller's trace in an agent.
 *
 * @module
 */
import { quietly, Telemetry, type TelemetryOptions } from './telemetry.js'

/** The used part of a request handler. */
interface FetchHandler {
  readonly fetch: (request: Request) => Promise<Response>
}

/**
 * Wraps a handler so that its `fetch` runs in the trace of the request's `traceparent` header. Spans of the executor
 * become children of the client's span, and so do those of `instrumentTasks`. `dispatch` runs in the context that is
 * active where it is called, as without instrumentation.
 *
 * If a span of that trace is already active, because the HTTP server is instrumented, it remains active. There is no
 * span for the request itself, because instrumentations of HTTP servers create it.
 *
 * @returns A handler with the same properties. `handler` is not changed.
 * @throws {TypeError} naming the invalid option, or saying that `handler` is no handler.
 * @example
 * const handler = instrumentHandler(createRequestHandler({ card, execute }))
 * createServer(toNodeListener(handler.fetch)).listen(3000)
 */
export function instrumentHandler<H extends FetchHandler>(handler: H, options: TelemetryOptions = {}): H {
  const telemetry = new Telemetry(options, 'instrumentHandler')
  requireHandler(handler)
  const handle = handler.fetch
  return {
    ...handler,
    fetch(request: Request): Promise<Response> {
      const extracted = quietly(() => telemetry.extract(headersOf(request)))
      const traceId = extracted && telemetry.spanContext(extracted)?.traceId
      const isActive = traceId === telemetry.spanContext()?.traceId
      return telemetry.within(isActive ? undefined : extracted, () => handle(request))
    },
  }
}

/** @throws {TypeError} */
function requireHandler(handler: unknown): void {
  const isHandler = typeof handler === 'object' && handler !== null && 'fetch' in handler
  if (isHandler && typeof handler.fetch === 'function') return
  const hint = typeof handler === 'function' ? ': pass the handler itself, not its fetch' : ''
  throw new TypeError(`"handler" must be what createRequestHandler gives${hint}`)
}

function headersOf({ headers }: Request): Record<string, string> {
  const all = Object.fromEntries(headers)
  const { traceparent } = all
  // When two nested instrumentations have both set the header, the inner one comes last.
  return traceparent === undefined
    ? all
    : { ...all, traceparent: traceparent.split(',').at(-1)?.trim() ?? '' }
}
