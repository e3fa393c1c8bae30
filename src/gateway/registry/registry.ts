/**
 * The agents that a gateway knows, and how they are.
 *
 * @module
 */
import { type HttpOptions, toHttpSettings } from '../../http/request.js'
import { A2AError, invalidParams } from '../../core/errors.js'
import { freezeDeep } from '../../core/json.js'
import { quote } from '../../runtime/describe.js'
import { systemClock, type Clock } from '../../runtime/clock.js'
import { throwLater } from '../../runtime/report.js'
import { instantOf } from '../../core/timeline.js'
import { AGENT_STATUSES, type AgentInput, type AgentStatus, type RegisteredAgent } from './agent.js'
import {
  forEachConcurrently,
  httpHealthCheck,
  observeStatus,
  monitor,
  type HealthCheck,
  type HealthMonitoring,
  type ObservedStatus,
} from './health.js'
import { providerName } from './provider-names.js'
import { toAgent, type TokenHttp } from './registration.js'
import { requireKnown, requireWhole } from '../require.js'

export interface StatusChange {
  /** As it is now. */
  readonly agent: RegisteredAgent
  readonly from: AgentStatus
  readonly to: AgentStatus
}

export interface AgentRegistryOptions {
  /** Default is the runtime's clock. */
  readonly clock?: Clock | undefined
  /** Whether an agent takes the place of another of its id, or is refused. Default is `'replace'`. */
  readonly onDuplicate?: 'replace' | 'reject' | undefined
  /** How to see how an agent is. Default is what its provider says, where a gateway uses the registry; a GET of its URL else. */
  readonly healthCheck?: HealthCheck | undefined
  /** How long one look may take, in ms. Default is 5,000. */
  readonly healthTimeoutMs?: number | undefined
  /** Called when the status of an agent has changed. What it throws becomes an uncaught error, and harms no caller. */
  readonly onStatusChange?: ((change: StatusChange) => void) | undefined
  /** Fetches OAuth tokens, and agents' URLs where a GET is the health check. Default is the platform's `fetch`. */
  readonly fetch?: HttpOptions['fetch']
  /** Asked before these requests. Default is none. */
  readonly urlGuard?: HttpOptions['urlGuard']
}

/** What agents shall have. What is absent does not matter. */
export interface AgentQuery {
  /** Exact names, all of them. */
  readonly capabilities?: readonly string[] | undefined
  /** All of them. */
  readonly tags?: readonly string[] | undefined
  /** In any of its spellings. */
  readonly provider?: string | undefined
  readonly status?: AgentStatus | undefined
}

/** One registration. Whoever registers the id anew makes another. */
interface Entry {
  agent: RegisteredAgent
  /** The look that is under way. */
  pendingCheck: Promise<void> | undefined
}

const OPTION_KEYS = [
  ...['clock', 'onDuplicate', 'healthCheck', 'healthTimeoutMs', 'onStatusChange', 'fetch', 'urlGuard'],
]
/** How many agents are looked at at once. */
const MAX_CONCURRENT_CHECKS = 16
/** A health check reads no body. */
const MAX_BYTES = 1_048_576
const RETRY_AFTER_MS = 5_000

/**
 * Keeps agents by their ids, in the order in which they came. What it gives is frozen, and shows no secrets.
 *
 * @example
 * const registry = new AgentRegistry()
 * registry.register({ id: 'echo', provider: 'a2a', capabilities: ['echo'], endpoint: { url: 'https://example.com' } })
 * const monitoring = registry.startHealthMonitoring()
 */
export class AgentRegistry {
  readonly #entries = new Map<string, Entry>()
  readonly #unregisterListeners = new Set<(agentId: string) => void>()
  readonly #clock: Clock
  readonly #http: TokenHttp
  readonly #rejectsDuplicates: boolean
  readonly #timeoutMs: number
  readonly #onStatusChange: AgentRegistryOptions['onStatusChange']
  readonly #hasOwnCheck: boolean
  #healthCheck: HealthCheck
  #monitoring: HealthMonitoring | undefined

  /** @throws {TypeError | RangeError} naming the option that makes no sense. */
  constructor(options: AgentRegistryOptions = {}) {
    requireKnown(options, OPTION_KEYS, 'AgentRegistry')
    const { clock = systemClock, onDuplicate = 'replace', healthCheck, fetch, urlGuard } = options
    if (!['replace', 'reject'].includes(onDuplicate)) {
      throw new TypeError(`"onDuplicate" must be 'replace' or 'reject', got ${quote(onDuplicate)}`)
    }
    this.#clock = clock
    this.#http = { fetch, urlGuard, clock }
    this.#rejectsDuplicates = onDuplicate === 'reject'
    this.#timeoutMs = requireWhole('healthTimeoutMs', options.healthTimeoutMs ?? 5_000)
    this.#onStatusChange = options.onStatusChange
    this.#hasOwnCheck = healthCheck !== undefined
    this.#healthCheck = healthCheck ?? httpHealthCheck(toHttpSettings(this.#http, MAX_BYTES), this.#timeoutMs)
  }

  /**
   * Takes an agent in. One that takes the place of another keeps its `createdAt`.
   *
   * @throws {A2AError} `INVALID_PARAMS` with the path of what is wrong, such as `endpoint.url`, or `id` where agents of
   *   the same id are refused; `LIMIT_EXCEEDED` when its JSON is larger than 1 MiB, or nests deeper than 100.
   */
  register(input: AgentInput): RegisteredAgent {
    return this.#store(toAgent(input, this.#http, this.#now()))
  }

  /**
   * As {@link register}, but only if a look at the agent finds it: `online` or `degraded`, which is its status then, unless it
   * comes in `maintenance`.
   *
   * @throws {A2AError} `AGENT_BUSY` when it is offline, and what `register` throws. Nothing is registered then.
   */
  async registerReachable(input: AgentInput): Promise<RegisteredAgent> {
    const agent = toAgent(input, this.#http, this.#now())
    this.#requireReplaceable(agent.id)
    const observed = await this.#observe(agent)
    if (observed === 'offline') {
      const data = { agentId: agent.id, reason: 'it cannot be reached', retryable: true } as const
      throw new A2AError('AGENT_BUSY', `Agent cannot be reached: ${agent.id}`, {
        ...data,
        retryAfterMs: RETRY_AFTER_MS,
      })
    }
    const status = agent.status === 'maintenance' ? agent.status : observed
    return this.#store(freezeDeep({ ...agent, status }))
  }

  /** The agent that was removed; `null` when there is none. */
  unregister(agentId: string): RegisteredAgent | null {
    const entry = this.#entries.get(agentId)
    if (entry === undefined) return null
    this.#entries.delete(agentId)
    for (const listener of this.#unregisterListeners) callSafely(() => listener(agentId))
    return entry.agent
  }

  /** Has `listener` called with the id of each agent that is removed, until the returned function is called. */
  onUnregister(listener: (agentId: string) => void): () => void {
    this.#unregisterListeners.add(listener)
    return () => this.#unregisterListeners.delete(listener)
  }

  /** `null` when there is none. */
  get(agentId: string): RegisteredAgent | null {
    return this.#entries.get(agentId)?.agent ?? null
  }

  list(): RegisteredAgent[] {
    return Array.from(this.#entries.values(), ({ agent }) => agent)
  }

  listOnline(): RegisteredAgent[] {
    return this.find({ status: 'online' })
  }

  /** Those online that have a capability of exactly this name. */
  findByCapability(name: string): RegisteredAgent[] {
    return this.find({ capabilities: [name], status: 'online' })
  }

  /** Those that have all that is asked for. */
  find({ capabilities = [], tags = [], provider, status }: AgentQuery): RegisteredAgent[] {
    const spelling = provider === undefined ? undefined : providerName(provider)
    return this.list().filter(
      (agent) =>
        (status === undefined || agent.status === status) &&
        (spelling === undefined || agent.provider === spelling) &&
        tags.every((tag) => agent.metadata.tags.includes(tag)) &&
        capabilities.every((name) => agent.capabilities.some((capability) => capability.name === name)),
    )
  }

  /**
   * Sets the status, and `lastSeenAt`. `null` when there is no such agent. A health check changes it again, but not
   * `maintenance`.
   *
   * @throws {A2AError} `INVALID_PARAMS` when it is no status.
   */
  updateStatus(agentId: string, status: AgentStatus): RegisteredAgent | null {
    if (!AGENT_STATUSES.includes(status)) {
      throw invalidParams('status', `must be one of ${AGENT_STATUSES.join(', ')}, got ${quote(status)}`)
    }
    const entry = this.#entries.get(agentId)
    if (entry === undefined) return null
    this.#setStatus(entry, status, this.#now())
    return entry.agent
  }

  /** Takes the place of the GET that is the health check by default, and of none that the options gave. */
  setHealthCheck(check: HealthCheck): void {
    if (!this.#hasOwnCheck) this.#healthCheck = check
  }

  /** Looks at one agent, or at all of them, and gives them as they are then; `null` when there is no such agent. */
  checkHealth(agentId: string): Promise<RegisteredAgent | null>
  checkHealth(): Promise<RegisteredAgent[]>
  async checkHealth(agentId?: string): Promise<RegisteredAgent[] | RegisteredAgent | null> {
    if (agentId === undefined) {
      await this.#updateAllHealth(() => true)
      return this.list()
    }
    const entry = this.#entries.get(agentId)
    if (entry !== undefined) await this.#updateHealth(entry)
    return this.get(agentId)
  }

  /**
   * Looks at all agents now and every `intervalMs`, until it is stopped or started anew. A look sets the status, and
   * `lastSeenAt` when the agent was found. Agents in `maintenance` are left alone. It does not keep the process alive.
   *
   * @throws {RangeError} when `intervalMs` is no whole number above 0.
   */
  startHealthMonitoring(intervalMs = 30_000): HealthMonitoring {
    requireWhole('intervalMs', intervalMs)
    this.#monitoring?.stop()
    this.#monitoring = monitor(this.#clock, intervalMs, (isOn) => this.#updateAllHealth(isOn))
    return this.#monitoring
  }

  #now(): string {
    return instantOf(this.#clock.now()).iso
  }

  /** The registration that another of this id would replace. */
  #requireReplaceable(agentId: string): Entry | undefined {
    const known = this.#entries.get(agentId)
    if (known === undefined || !this.#rejectsDuplicates) return known
    throw invalidParams('id', 'is registered already', undefined, `Agent already registered: ${agentId}`)
  }

  #store(given: RegisteredAgent): RegisteredAgent {
    const known = this.#requireReplaceable(given.id)?.agent
    const createdAt = known?.metadata.createdAt ?? given.metadata.createdAt
    const agent = freezeDeep({ ...given, metadata: { ...given.metadata, createdAt } })
    this.#entries.set(agent.id, { agent, pendingCheck: undefined })
    if (known !== undefined) this.#notify(agent, known.status)
    return agent
  }

  #setStatus(entry: Entry, status: AgentStatus, lastSeenAt: string): void {
    const { agent } = entry
    entry.agent = freezeDeep({ ...agent, status, metadata: { ...agent.metadata, lastSeenAt } })
    this.#notify(entry.agent, agent.status)
  }

  #notify(agent: RegisteredAgent, from: AgentStatus): void {
    if (agent.status !== from) callSafely(() => this.#onStatusChange?.({ agent, from, to: agent.status }))
  }

  #updateAllHealth(isOn: () => boolean): Promise<void> {
    return forEachConcurrently([...this.#entries.values()], MAX_CONCURRENT_CHECKS, async (entry) => {
      if (isOn()) await this.#updateHealth(entry)
    })
  }

  /** However many want to look, one does. */
  async #updateHealth(entry: Entry): Promise<void> {
    if (!this.#acceptsObservation(entry)) return
    entry.pendingCheck ??= this.#observe(entry.agent).then((observed) => {
      entry.pendingCheck = undefined
      if (!this.#acceptsObservation(entry)) return
      this.#setStatus(entry, observed, observed === 'offline' ? entry.agent.metadata.lastSeenAt : this.#now())
    })
    await entry.pendingCheck
  }

  #observe(agent: RegisteredAgent): Promise<ObservedStatus> {
    return observeStatus(this.#healthCheck, agent, { clock: this.#clock, timeoutMs: this.#timeoutMs })
  }

  /** Not what an operator has said, nor what is registered no more. */
  #acceptsObservation({ agent }: Entry): boolean {
    return agent.status !== 'maintenance' && this.#entries.get(agent.id)?.agent === agent
  }
}

function callSafely(call: () => void): void {
  try {
    call()
  } catch (error) {
    throwLater(error)
  }
}
