/**
 * Spans and metrics of a client's calls, and propagation of the trace to its agent.
 *
 * @module
 */
import type { A2AClient } from '../client/a2a-client.js'
import { Call } from './call.js'
import { Callees } from './callee.js'
import { OPERATIONS, type Operation } from './operations.js'
import { KEYS, quietly, Telemetry, type TelemetryOptions } from './telemetry.js'

/** Options of {@link instrumentClient}. */
export interface ClientTelemetryOptions extends TelemetryOptions {
  /**
   * The agent's name in spans and metrics. Default is the name in its card, which the agent chooses. Set this option
   * when agents come from unknown sources, because each name is a value of a metric attribute.
   */
  readonly agentName?: string | undefined
  /**
   * Whether to add trace headers to requests. Pass `false` when `fetch` itself is instrumented, as by
   * `@opentelemetry/instrumentation-undici`, which would add them a second time. Default is `true`.
   */
  readonly propagate?: boolean | undefined
}

type Method = (...args: unknown[]) => unknown
type Events = AsyncGenerator<unknown, undefined>

/**
 * Wraps a client so that each method that sends has a span. Single operations have spans named `SendMessage`, `GetTask`
 * and so on. `run`, `resume` and `sendTask` have spans named `invoke_agent <agent>`. With the prefix `kaos`, all
 * methods that delegate work have spans named `delegate.<agent>`. Delegations are also counted in `a2a.delegations` and
 * timed in the histogram `a2a.delegation.duration`, in ms, both with the attributes `target` and `success`. Requests
 * carry the headers of the registered propagator: `traceparent`, `tracestate`.
 *
 * The content of messages is not recorded. Without an SDK the client behaves as before. Errors that OpenTelemetry
 * throws are ignored.
 *
 * @returns A client of the same type that otherwise behaves as `client`, which is not changed.
 * @throws {TypeError} naming the invalid option.
 * @example
 * const agent = instrumentClient(await A2AClient.connect('https://agent.example'))
 * const result = await agent.run('Translate: Guten Tag')
 */
export function instrumentClient<C extends A2AClient>(client: C, options: ClientTelemetryOptions = {}): C {
  const telemetry = new Telemetry(options, 'instrumentClient', [...KEYS, 'agentName', 'propagate'])
  const caller = new Caller(telemetry, new Callees(client, options.agentName), options.propagate ?? true)
  const methods = new WeakMap<Method, Method>()
  return new Proxy(client, {
    get(target, key) {
      // The client has private fields, which are accessible only with the client itself as receiver.
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function' || key === 'constructor') return value
      // Any function accepts any arguments at run time.
      const original = value as Method
      const known = methods.get(original)
      if (known !== undefined) return known
      const method: Method = (...args) => Reflect.apply(original, target, args)
      const operation = OPERATIONS.get(key)
      const instrumented = operation === undefined ? method : caller.instrument(operation, method)
      methods.set(original, instrumented)
      return instrumented
    },
  })
}

class Caller {
  readonly #telemetry: Telemetry
  readonly #callees: Callees
  readonly #propagates: boolean

  constructor(telemetry: Telemetry, callees: Callees, propagates: boolean) {
    this.#telemetry = telemetry
    this.#callees = callees
    this.#propagates = propagates
  }

  instrument(operation: Operation, method: Method): Method {
    // Methods with `streams` return a generator, all others a promise.
    const perform = operation.streams
      ? (args: unknown[]) => this.#stream(operation, args, (given) => method(...given) as Events)
      : (args: unknown[]) => this.#request(operation, args, (given) => method(...given) as Promise<unknown>)
    return (...args) => (this.#telemetry.isOn ? perform(args) : method(...args))
  }

  #request(
    operation: Operation,
    args: unknown[],
    method: (args: unknown[]) => Promise<unknown>,
  ): Promise<unknown> {
    const call = this.#begin(operation, args)
    const answer = this.#answerOf(call, () => method(this.#withHeaders(operation, args, call)))
    const recorded = answer.then(
      (value) => {
        call.record(value)
        call.end()
        return value
      },
      (error: unknown) => {
        call.fail(error)
        call.end()
        throw error
      },
    )
    if (!(Symbol.asyncIterator in answer)) return recorded
    // Pages can be iterated as well as awaited. The client itself handles errors that are not awaited.
    recorded.catch(() => undefined)
    return answer
  }

  async *#stream(operation: Operation, args: unknown[], method: (args: unknown[]) => Events): Events {
    const call = this.#begin(operation, args)
    const events = this.#answerOf(call, () => method(this.#withHeaders(operation, args, call)))
    try {
      for (;;) {
        const { done, value } = await call.within(() => events.next())
        if (done) return undefined
        call.record(value)
        yield value
      }
    } catch (error) {
      call.fail(error)
      throw error
    } finally {
      call.end()
      await events.return(undefined)
    }
  }

  /** Ends the call when the method throws before it returns a promise or a generator. */
  #answerOf<T>(call: Call, method: () => T): T {
    try {
      return call.within(method)
    } catch (error) {
      call.fail(error)
      call.end()
      throw error
    }
  }

  #begin(operation: Operation, args: readonly unknown[]): Call {
    const hasAgentArgument = operation === OPERATIONS.get('sendTask')
    const callee = hasAgentArgument ? this.#callees.given(args[0]) : this.#callees.own()
    return new Call(this.#telemetry, operation, callee)
  }

  /** The arguments, with the trace added to the headers. Invalid options are passed on, for the client to refuse. */
  #withHeaders({ optionsAt }: Operation, args: readonly unknown[], call: Call): unknown[] {
    const { [optionsAt]: options = {} } = args
    if (!this.#propagates || typeof options !== 'object' || options === null) return [...args]
    const withTrace = quietly(() => {
      const given: unknown = 'headers' in options ? (options.headers ?? {}) : {}
      if (typeof given !== 'object' || given === null || Symbol.iterator in given) return options
      return { ...options, headers: { ...without(call.headers, Object.keys(given)), ...given } }
    })
    return withTrace === undefined ? [...args] : Object.assign([...args], { [optionsAt]: withTrace })
  }
}

/** Removes headers by name, ignoring case. */
function without(headers: Record<string, string>, given: readonly string[]): Record<string, string> {
  const names = given.map((name) => name.toLowerCase())
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase())))
}
