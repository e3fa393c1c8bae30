/**
 * One call of a client: its span, its trace, and what is counted.
 *
 * @module
 */
import { CLIENT, ERROR, type OtelAttributes, type OtelContext, type OtelSpan } from './api.js'
import { OTHER, type Callee } from './callee.js'
import { classOf, toldBy, type Operation, type Told } from './operations.js'
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

  /** What requests have beside, so that the agent finds this call. */
  get headers(): Record<string, string> {
    return this.#telemetry.inject(this.#context)
  }

  within<T>(run: () => T): T {
    return this.#telemetry.within(this.#context, run)
  }

  /** An answer, or one of many. */
  hear(answer: unknown): void {
    const told = quietly(() => toldBy(answer))
    if (told === undefined) return
    quietly(() => this.#span?.setAttributes(this.#attributesOf(told)))
    // That a task has failed is a failure of who was to do it, not of asking for it.
    if (this.#operation.delegates) this.#failure ??= told.failure
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

  #attributesOf({ taskId, contextId, state }: Told): OtelAttributes {
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
    // With that a name is refused that no agent has.
    const target = isKnown && this.#failure !== 'INVALID_PARAMS' ? name : OTHER
    const labels = { target, success: String(this.#failure === undefined) }
    this.#telemetry.count(`${prefix}.delegations`, 'Work given to other agents', labels)
    const ms = (): number => elapsed(systemClock) - this.#startedAt
    this.#telemetry.recordMs(`${prefix}.delegation.duration`, 'From asking to the answer', ms, labels)
  }
}
