/**
 * Spans and metrics of the requests and deliveries of one handler.
 *
 * @module
 */
import type { AgentCard } from '../schemas/agent-card.js'
import type { TraceHeaders } from '../runtime/trace-headers.js'
import type {
  DeliveryFollower,
  HandlerObserver,
  ObservedDelivery,
  ObservedRequest,
  ObservedStep,
  RequestFacts,
  RequestFollower,
  StepFollower,
} from '../server/observers.js'
import { elapsed, systemClock } from '../runtime/clock.js'
import { CLIENT, ERROR, SERVER, type OtelAttributes, type OtelContext, type OtelSpan } from './api.js'
import { OTHER } from './callee.js'
import { addressOf } from './names.js'
import { quietly, short, type Telemetry } from './telemetry.js'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']
const INVOCATIONS: readonly unknown[] = ['SendMessage', 'SendStreamingMessage']
/** The most artifact ids of one request. */
const MAX_ARTIFACTS = 32

export class HandlerRecorder implements HandlerObserver {
  readonly #telemetry: Telemetry
  readonly #agent: OtelAttributes

  constructor(telemetry: Telemetry, card: Partial<Pick<AgentCard, 'name' | 'description' | 'version'>> = {}) {
    this.#telemetry = telemetry
    this.#agent = {
      'gen_ai.agent.name': card.name,
      'gen_ai.agent.description': card.description,
      'gen_ai.agent.version': card.version,
    }
  }

  onRequest({ http }: ObservedRequest): RequestFollower | undefined {
    const telemetry = this.#telemetry
    if (!telemetry.isOn) return undefined
    const parent = http && quietly(() => parentOf(telemetry, http))
    return new ServerCall(telemetry, this.#agent, http, parent)
  }

  trace(): TraceHeaders | undefined {
    return quietly(() => this.#telemetry.trace())
  }

  within<T>(trace: TraceHeaders, work: () => T): T {
    return this.#telemetry.within(this.#telemetry.contextOf(trace), work)
  }

  onStep({ taskId, name, isReplayed }: ObservedStep): StepFollower | undefined {
    const telemetry = this.#telemetry
    const { prefix, names } = telemetry
    const attributes = {
      [names.taskId]: taskId,
      [`${prefix}.step.name`]: name,
      [`${prefix}.step.replayed`]: isReplayed,
    }
    const span = telemetry.startSpan(`${prefix}.task.step`, { attributes })
    if (span === undefined) return undefined
    const context = telemetry.contextWith(span)
    return {
      within: (work) => telemetry.within(context, work),
      end(failure) {
        const { error } = failure ?? {}
        const type = error instanceof Error ? error.name : OTHER
        if (failure !== undefined) fail(span, { 'error.type': type })
        quietly(() => span.end())
      },
    }
  }

  onDelivery({ taskId, url, attempt, trace }: ObservedDelivery): DeliveryFollower | undefined {
    const telemetry = this.#telemetry
    const { prefix, names } = telemetry
    const parent = trace && telemetry.contextOf(trace)
    const span = telemetry.startSpan(
      `${prefix}.push.deliver`,
      {
        kind: CLIENT,
        // Without a trace: the timer or event that leads to the attempt belongs to any request.
        root: trace === undefined,
        attributes: {
          [names.taskId]: taskId,
          'http.request.method': 'POST',
          'http.request.resend_count': attempt > 1 ? attempt - 1 : undefined,
          ...quietly(() => addressOf(url)),
        },
      },
      parent,
    )
    if (span === undefined) return undefined
    return {
      headers: telemetry.inject(telemetry.contextWith(span)),
      end(failure) {
        const { status } = failure ?? {}
        const attributes = { 'http.response.status_code': status, 'error.type': String(status ?? OTHER) }
        if (failure !== undefined) fail(span, attributes)
        quietly(() => span.end())
      },
    }
  }
}

type Http = NonNullable<ObservedRequest['http']>

/** The context of the request's trace headers; `undefined` if a span of that trace is active. */
function parentOf(telemetry: Telemetry, http: Http): OtelContext | undefined {
  const headers = Object.fromEntries(
    telemetry.fields().flatMap((name) => {
      const value = http.header(name.toLowerCase())
      // When two nested instrumentations have both set the header, the inner one comes last.
      const last = name === 'traceparent' ? value?.split(',').at(-1)?.trim() : value
      return last === null || last === undefined ? [] : [[name, last]]
    }),
  ) as Record<string, string>
  const extracted = telemetry.extract(headers)
  const traceId = extracted && telemetry.spanContext(extracted)?.traceId
  return traceId === telemetry.spanContext()?.traceId ? undefined : extracted
}

/** One request: its span, and its metrics. */
class ServerCall implements RequestFollower {
  readonly #telemetry: Telemetry
  readonly #http: Http | undefined
  readonly #span: OtelSpan | undefined
  readonly #context: OtelContext | undefined
  readonly #startedAt = elapsed(systemClock)
  readonly #artifactIds = new Set<string>()
  #facts: RequestFacts = {}

  constructor(
    telemetry: Telemetry,
    agent: OtelAttributes,
    http: Http | undefined,
    parent: OtelContext | undefined,
  ) {
    this.#telemetry = telemetry
    this.#http = http
    const attributes = { ...agent, ...(http && quietly(() => attributesOfHttp(http))) }
    const name = http === undefined ? OTHER : methodOf(http)
    this.#span = telemetry.startSpan(name, { kind: SERVER, attributes }, parent)
    this.#context = (this.#span && telemetry.contextWith(this.#span, parent)) ?? parent
  }

  within<T>(answer: () => T): T {
    return this.#telemetry.within(this.#context, answer)
  }

  record(facts: RequestFacts): void {
    const known = Object.entries(facts).filter(([, value]) => value !== undefined)
    this.#facts = { ...this.#facts, ...Object.fromEntries(known) }
    if (facts.artifactId !== undefined && this.#artifactIds.size < MAX_ARTIFACTS)
      this.#artifactIds.add(facts.artifactId)
  }

  end(): void {
    const seconds = (elapsed(systemClock) - this.#startedAt) / 1_000
    const { prefix } = this.#telemetry
    const labels = this.#labels()
    this.#telemetry.within(this.#context, () => {
      this.#telemetry.count(`${prefix}.server.requests`, 'Requests that were answered', labels)
      const duration = `${prefix}.server.operation.duration`
      this.#telemetry.recordSeconds(duration, 'From the request to the end of its response', seconds, labels)
    })
    const span = this.#span
    if (span === undefined) return
    quietly(() => span.updateName(this.#name()))
    const attributes = { ...labels, ...this.#attributes() }
    quietly(() => span.setAttributes(short(attributes)))
    if (labels['error.type'] !== undefined) fail(span, {})
    quietly(() => span.end())
  }

  #name(): string {
    const { operation, route, binding } = this.#facts
    if (operation !== undefined) return operation
    if (this.#http === undefined || binding === 'JSONRPC') return OTHER
    return route === undefined ? methodOf(this.#http) : `${methodOf(this.#http)} ${route}`
  }

  /** The attributes that have few values. */
  #labels(): OtelAttributes {
    const { operation, version, binding, route } = this.#facts
    return {
      'a2a.method.name': route === undefined ? (operation ?? OTHER) : undefined,
      'a2a.protocol.version': version,
      'a2a.protocol.binding': binding,
      'error.type': this.#errorType(),
    }
  }

  #errorType(): string | undefined {
    const { error, status, binding } = this.#facts
    if (error?.rpcCode !== undefined && binding === 'JSONRPC') return String(error.rpcCode)
    if (status !== undefined && status >= 400) return String(status)
    return error?.code
  }

  #attributes(): OtelAttributes {
    const { names } = this.#telemetry
    const facts = this.#facts
    const { operation, binding, rpcId, error, state, extensions = [], referenceTaskIds = [] } = facts
    const isRpc = binding === 'JSONRPC'
    return {
      'gen_ai.operation.name': INVOCATIONS.includes(operation) ? 'invoke_agent' : undefined,
      'gen_ai.request.stream': facts.isStream,
      [names.taskId]: facts.taskId,
      [names.contextId]: facts.contextId,
      [names.state]: state === undefined ? undefined : names.stateOf(state),
      'a2a.tenant': facts.tenant,
      'a2a.message.id': facts.messageId,
      'a2a.message.reference_task_ids': listOf(referenceTaskIds),
      'a2a.task.artifact_ids': listOf([...this.#artifactIds]),
      'a2a.protocol.requested_extensions': listOf(extensions),
      'http.response.status_code': facts.status,
      'http.route': facts.route,
      ...(isRpc && {
        'rpc.system.name': 'jsonrpc',
        'rpc.method': operation ?? OTHER,
        'rpc.response.status_code': error?.rpcCode === undefined ? undefined : String(error.rpcCode),
        'jsonrpc.protocol.version': '2.0',
        'jsonrpc.request.id': rpcId === undefined || rpcId === null ? undefined : String(rpcId),
      }),
    }
  }
}

function attributesOfHttp(http: Http): OtelAttributes {
  const { pathname, protocol } = new URL(http.url)
  return {
    'http.request.method': methodOf(http),
    'url.path': pathname,
    'url.scheme': protocol.slice(0, -1),
    'network.protocol.name': 'http',
    ...addressOf(http.url),
  }
}

function methodOf({ method }: Http): string {
  return METHODS.includes(method) ? method : OTHER
}

function listOf(values: readonly string[]): string[] | undefined {
  return values.length === 0 ? undefined : [...values]
}

function fail(span: OtelSpan, attributes: OtelAttributes): void {
  quietly(() => span.setStatus({ code: ERROR }))
  quietly(() => span.setAttributes(short(attributes)))
}
