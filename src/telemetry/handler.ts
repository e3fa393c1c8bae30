/**
 * The trace of whoever asks an agent, as the context of what the agent does.
 *
 * @module
 */
import { quietly, Telemetry, type TelemetryOptions } from './telemetry.js'

/** Whatever answers requests: what `createRequestHandler` and its like give. */
interface Answering {
  readonly fetch: (request: Request) => Promise<Response>
}

/**
 * The handler, with a `fetch` that runs in the trace that the request came with, by its `traceparent`: spans of the
 * executor are children of the client's, and so are those of `instrumentTasks`. `dispatch` runs in what is active
 * where it is called, as it does without.
 *
 * Where a span of that trace is active already, as instrumentations of HTTP servers have it, it stays so. There is no
 * span for the request itself: that is theirs.
 *
 * @returns A handler with the same properties; `handler` stays as it is.
 * @throws {TypeError} naming the option that makes no sense, or saying that `handler` is none.
 * @example
 * const handler = instrumentHandler(createRequestHandler({ card, execute }))
 * createServer(toNodeListener(handler.fetch)).listen(3000)
 */
export function instrumentHandler<H extends Answering>(handler: H, options: TelemetryOptions = {}): H {
  const telemetry = new Telemetry(options, 'instrumentHandler')
  requireHandler(handler)
  const answer = handler.fetch
  return {
    ...handler,
    fetch(request: Request): Promise<Response> {
      const asked = quietly(() => telemetry.extract(headersOf(request)))
      const traceId = asked && telemetry.spanContext(asked)?.traceId
      const isActive = traceId === telemetry.spanContext()?.traceId
      return telemetry.within(isActive ? undefined : asked, () => answer(request))
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
  // Where two have written it, one within the other, the inner one has been the last.
  return traceparent === undefined
    ? all
    : { ...all, traceparent: traceparent.split(',').at(-1)?.trim() ?? '' }
}
