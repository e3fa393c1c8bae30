/**
 * One call of a client: its span, its trace headers and its metrics.
 *
 * @module
 */
import { CLIENT, ERROR, type OtelAttributes, type OtelContext, type OtelSpan } from './api.js'
import { OTHER, type Callee } from './callee.js'
import { classOf, propertiesOf, type Operation, type ResultProperties } from './operations.js'
import { elapsed, systemClock } from '../runtime/clock.js'
import { quietly, short, type Telemetry } from './telemetry.js'

export class Call {
  readonly #telemetry: Telemetry
  readonly #operation: Operation
  readonly #callee: Callee
  readonly #startedAt = elapsed(systemClock)
  readonly #span: OtelSpan | undefined
  readonly #context: OtelContext | undefined
  #failure: string | undefined

  constructor(telemetry: Telemetry, operation: Operation, callee: Callee) {
    const { prefix, names } = telemetry
    const { method, delegates } = operation
    this.#telemetry = telemetry
    this.#operation = operation
    this.#callee = callee
    const isWhole = method === undefined || (delegates && prefix === 'kaos')
    this.#span = telemetry.startSpan(isWhole ? names.delegation(callee.name) : method, {
      kind: CLIENT,
      attributes: {
        ...callee.attributes,
        [names.agent]: callee.name,
        ...(method === undefined
          ? { 'gen_ai.operation.name': 'invoke_agent' }
          : { 'a2a.method.name': method }),
      },
    })
    this.#context = this.#span && telemetry.contextWith(this.#span)
  }

  /** Headers that connect the agent's trace to this call. */
  get headers(): Record<string, string> {
    return this.#telemetry.inject(this.#context)
  }

  within<T>(run: () => T): T {
    return this.#telemetry.within(this.#context, run)
  }

  /** Records a response, or one event of a stream. */
  record(answer: unknown): void {
    const properties = quietly(() => propertiesOf(answer))
    if (properties === undefined) return
    quietly(() => this.#span?.setAttributes(this.#attributesOf(properties)))
    // Only a delegation fails with its task. A request that reads a failed task has succeeded.
    if (this.#operation.delegates) this.#failure ??= properties.failure
  }

  fail(error: unknown): void {
    this.#failure = quietly(() => classOf(error)) ?? OTHER
  }

  end(): void {
    const type = this.#failure
    if (type !== undefined) {
      quietly(() => this.#span?.setStatus({ code: ERROR }))
      quietly(() => this.#span?.setAttributes(short({ 'error.type': type })))
    }
    if (this.#operation.delegates) this.#measure()
    quietly(() => this.#span?.end())
  }

  #attributesOf({ taskId, contextId, state }: ResultProperties): OtelAttributes {
    const { names } = this.#telemetry
    return short({
      ...(taskId !== undefined && { [names.taskId]: taskId }),
      ...(contextId !== undefined && { [names.contextId]: contextId }),
      ...(state !== undefined && { [names.state]: names.stateOf(state) }),
    })
  }

  #measure(): void {
    const { prefix } = this.#telemetry
    const { name, isKnown } = this.#callee
    // A name that no agent has is refused with this code.
    const target = isKnown && this.#failure !== 'INVALID_PARAMS' ? name : OTHER
    const labels = { target, success: String(this.#failure === undefined) }
    this.#telemetry.count(`${prefix}.delegations`, 'Work given to other agents', labels)
    const ms = (): number => elapsed(systemClock) - this.#startedAt
    this.#telemetry.recordMs(`${prefix}.delegation.duration`, 'From asking to the answer', ms, labels)
  }
}
