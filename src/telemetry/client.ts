/**
 * Spans and metrics of what a client asks of its agent, and the trace that goes along.
 *
 * @module
 */
import type { A2AClient } from '../client/a2a-client.js'
import { Call } from './call.js'
import { Callees } from './callee.js'
import { OPERATIONS, type Operation } from './operations.js'
import { KEYS, quietly, Telemetry, type TelemetryOptions } from './telemetry.js'

export interface ClientTelemetryOptions extends TelemetryOptions {
  /**
   * What the agent is called in spans and metrics. Default is the name in its card, which is its own choice: give one
   * where agents come from anywhere, as each is a value of a metric's attribute.
   */
  readonly agentName?: string | undefined
  /**
   * Whether requests have the trace's headers. Default is `true`. `false` where `fetch` is instrumented itself, as by
   * `@opentelemetry/instrumentation-undici`, which adds them a second time.
   */
  readonly propagate?: boolean | undefined
}

type Method = (...args: unknown[]) => unknown
type Events = AsyncGenerator<unknown, undefined>

/**
 * The client, with a span for each method that sends: `SendMessage`, `GetTask` and so on for one operation,
 * `invoke_agent <agent>` for `run`, `resume` and `sendTask`; with the prefix `kaos` all that give the agent work are
 * `delegate.<agent>`. Of those there are a counter `a2a.delegations` and a histogram `a2a.delegation.duration` in ms,
 * by `target` and `success`. Requests take along what the registered propagator writes: `traceparent`, `tracestate`.
 *
 * Nothing of what is said is told. Without an SDK it is the client as it is, and what OpenTelemetry throws is swallowed.
 *
 * @returns A client of the same type, which is `client` in all else; `client` stays as it is.
 * @throws {TypeError} naming the option that makes no sense.
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
      // Its fields are private: nobody but the client itself may ask for them.
      const value: unknown = Reflect.get(target, key, target)
      if (typeof value !== 'function' || key === 'constructor') return value
      // Any function can be called with anything.
      const original = value as Method
      const known = methods.get(original)
      if (known !== undefined) return known
      const method: Method = (...args) => Reflect.apply(original, target, args)
      const operation = OPERATIONS.get(key)
      const told = operation === undefined ? method : caller.instrument(operation, method)
      methods.set(original, told)
      return told
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
    // What a method without streams gives is a promise, what one with them gives a generator.
    const perform = operation.streams
      ? (args: unknown[]) => this.#stream(operation, args, (given) => method(...given) as Events)
      : (args: unknown[]) => this.#ask(operation, args, (given) => method(...given) as Promise<unknown>)
    return (...args) => (this.#telemetry.isOn ? perform(args) : method(...args))
  }

  #ask(
    operation: Operation,
    args: unknown[],
    method: (args: unknown[]) => Promise<unknown>,
  ): Promise<unknown> {
    const call = this.#begin(operation, args)
    const answer = this.#answerOf(call, () => method(this.#withHeaders(operation, args, call)))
    const told = answer.then(
      (value) => {
        call.hear(value)
        call.end()
        return value
      },
      (error: unknown) => {
        call.fail(error)
        call.end()
        throw error
      },
    )
    if (!(Symbol.asyncIterator in answer)) return told
    // Pages can be iterated as well as awaited; the client itself takes care of errors that nobody awaits.
    told.catch(() => undefined)
    return answer
  }

  async *#stream(operation: Operation, args: unknown[], method: (args: unknown[]) => Events): Events {
    const call = this.#begin(operation, args)
    const events = this.#answerOf(call, () => method(this.#withHeaders(operation, args, call)))
    try {
      for (;;) {
        const { done, value } = await call.within(() => events.next())
        if (done) return undefined
        call.hear(value)
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

  /** What ends the call where there is not even a promise. */
  #answerOf<T>(call: Call, ask: () => T): T {
    try {
      return call.within(ask)
    } catch (error) {
      call.fail(error)
      call.end()
      throw error
    }
  }

  #begin(operation: Operation, args: readonly unknown[]): Call {
    const isElsewhere = operation === OPERATIONS.get('sendTask')
    const callee = isElsewhere ? this.#callees.given(args[0]) : this.#callees.own()
    return new Call(this.#telemetry, operation, callee)
  }

  /** The arguments, with the trace among the headers. What is no object, or cannot be read, is for the client to refuse. */
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

/** Of headers, whatever case their names are in. */
function without(headers: Record<string, string>, given: readonly string[]): Record<string, string> {
  const names = given.map((name) => name.toLowerCase())
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase())))
}
