/**
 * Registry of a gateway's agents and their health.
 *
 * @module
 */
import { type HttpOptions, toHttpSettings } from '../../http/request.js'
import { A2AError, invalidParams } from '../../core/errors.js'
import { freezeDeep } from '../../core/json.js'
import { quote } from '../../runtime/describe.js'
import { elapsed, systemClock, type Clock } from '../../runtime/clock.js'
import { callSafely } from '../../runtime/uncaught.js'
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
import type { TokenHttp } from './oauth.js'
import { toAgent } from './registration.js'
import { requireClock, requireFunctions, requireKnown, requireWhole } from '../../runtime/options.js'

/** A change of the status of an agent. */
export interface StatusChange {
  /** The agent after the change. */
  readonly agent: RegisteredAgent
  readonly from: AgentStatus
  readonly to: AgentStatus
}

/** Options of {@link AgentRegistry}. */
export interface AgentRegistryOptions {
  /** Default is the runtime's clock. */
  readonly clock?: Clock | undefined
  /** Whether a registration replaces an agent with the same id, or is refused. Default is `'replace'`. */
  readonly onDuplicate?: 'replace' | 'reject' | undefined
  /**
   * Default is the health check of the agent's provider when a gateway uses the registry, and otherwise a GET of its
   * URL.
   */
  readonly healthCheck?: HealthCheck | undefined
  /** Time limit of a health check, in ms. Default is 5,000. */
  readonly healthTimeoutMs?: number | undefined
  /**
   * Called after the status of an agent has changed. An error that it throws becomes an uncaught exception; the caller
   * that changed the status is not affected.
   */
  readonly onStatusChange?: ((change: StatusChange) => void) | undefined
  /**
   * Sends the GET of the default health check, and the requests for OAuth tokens of agents whose provider has no `fetch`
   * of its own. Default is the platform's `fetch`.
   */
  readonly fetch?: HttpOptions['fetch']
  /** Checks the URLs of these requests. Default is none. */
  readonly urlGuard?: HttpOptions['urlGuard']
}

/** Filter for agents. Absent fields match every agent. */
export interface AgentQuery {
  /** Exact names. The agent must have all of them. */
  readonly capabilities?: readonly string[] | undefined
  /** The agent must have all of them. */
  readonly tags?: readonly string[] | undefined
  /** The canonical name or an alias. */
  readonly provider?: string | undefined
  readonly status?: AgentStatus | undefined
}

/** The agents of a registry, and their health checks so far. */
export interface RegistryStats {
  /** All agents. */
  readonly agents: number
  /** Agents by their status. */
  readonly online: number
  readonly degraded: number
  readonly offline: number
  readonly maintenance: number
  readonly healthChecks: {
    /** Health checks that have ended, of agents that are registered and of others. */
    readonly total: number
    /** Those that found the agent `offline`. */
    readonly failed: number
    /** How long they took, in ms. `mean` is 0 before the first one has ended. */
    readonly durationMs: { readonly total: number; readonly mean: number; readonly max: number }
  }
}

/** One registration. Registering the id again creates another. */
interface Entry {
  agent: RegisteredAgent
  /** The health check in progress. */
  pendingCheck: Promise<void> | undefined
}

const OPTION_KEYS = [
  'clock',
  'onDuplicate',
  'healthCheck',
  'healthTimeoutMs',
  'onStatusChange',
  'fetch',
  'urlGuard',
]
const QUERY_KEYS = ['capabilities', 'tags', 'provider', 'status']
/** Number of agents whose health is checked at the same time. */
const MAX_CONCURRENT_CHECKS = 16
/** A health check reads no body, so this limit is never reached. */
const MAX_BYTES = 1_048_576
const RETRY_AFTER_MS = 5_000

/**
 * Keeps agents by id, in the order of registration. Agents are returned frozen, and hide their credentials. Also usable
 * without a gateway.
 *
 * @example
 * const registry = new AgentRegistry()
 * registry.register({ id: 'echo', provider: 'a2a', capabilities: ['echo'], endpoint: { url: 'https://example.com' } })
 * const monitoring = registry.startHealthMonitoring()
 */
export class AgentRegistry {
  readonly #entries = new Map<string, Entry>()
  readonly #registerListeners = new Set<(agentId: string) => void>()
  readonly #unregisterListeners = new Set<(agentId: string) => void>()
  readonly #clock: Clock
  readonly #http: TokenHttp
  readonly #rejectsDuplicates: boolean
  readonly #timeoutMs: number
  readonly #onStatusChange: AgentRegistryOptions['onStatusChange']
  readonly #hasOwnCheck: boolean
  #healthCheck: HealthCheck
  #monitoring: HealthMonitoring | undefined
  /** The number of agents by status. */
  readonly #counts = { online: 0, degraded: 0, offline: 0, maintenance: 0 }
  readonly #checks = { total: 0, failed: 0, ms: 0, maxMs: 0 }

  /** @throws {TypeError | RangeError} for an option with an invalid value. The error names the option. */
  constructor(options: AgentRegistryOptions = {}) {
    requireKnown(options, OPTION_KEYS, 'AgentRegistry')
    const { clock = systemClock, onDuplicate = 'replace', healthCheck, fetch, urlGuard } = options
    if (!['replace', 'reject'].includes(onDuplicate)) {
      throw new TypeError(`"onDuplicate" must be 'replace' or 'reject', got ${quote(onDuplicate)}`)
    }
    requireFunctions(options, ['healthCheck', 'onStatusChange', 'fetch', 'urlGuard'])
    requireClock(clock)
    this.#clock = clock
    this.#http = { fetch, urlGuard, clock }
    this.#rejectsDuplicates = onDuplicate === 'reject'
    this.#timeoutMs = requireWhole('healthTimeoutMs', options.healthTimeoutMs ?? 5_000)
    this.#onStatusChange = options.onStatusChange
    this.#hasOwnCheck = healthCheck !== undefined
    this.#healthCheck = healthCheck ?? httpHealthCheck(toHttpSettings(this.#http, MAX_BYTES), this.#timeoutMs)
  }

  /**
   * Registers an agent. An agent that replaces another keeps its `createdAt`. The input is copied.
   *
   * @throws {TypeError} for an unknown key, such as `endpoint.timeout`.
   * @throws {A2AError} `INVALID_PARAMS` with the path of the fault, such as `endpoint.url`, or `id` when duplicates are
   *   refused; `LIMIT_EXCEEDED` when its JSON is larger than 1 MiB or nests deeper than 100.
   */
  register(input: AgentInput): RegisteredAgent {
    return this.#store(toAgent(input, this.#http, this.#now()))
  }

  /**
   * Checks the agent's health, and registers it only if it is `online` or `degraded`. That becomes its status, unless
   * the input says `maintenance`.
   *
   * @throws {A2AError} `AGENT_BUSY` when the agent is offline, and what {@link register} throws. The registry is
   *   unchanged then.
   */
  async registerReachable(input: AgentInput): Promise<RegisteredAgent> {
    const agent = toAgent(input, this.#http, this.#now(), 'AgentRegistry.registerReachable')
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

  /** Removes an agent and returns it. `null` when there is none with this id. */
  unregister(agentId: string): RegisteredAgent | null {
    const entry = this.#entries.get(agentId)
    if (entry === undefined) return null
    this.#entries.delete(agentId)
    this.#counts[entry.agent.status] -= 1
    for (const listener of this.#unregisterListeners) callSafely(() => listener(agentId))
    return entry.agent
  }

  /** Calls `listener` with the id of each agent that is registered or replaced. The returned function removes the listener. */
  onRegister(listener: (agentId: string) => void): () => void {
    this.#registerListeners.add(listener)
    return () => this.#registerListeners.delete(listener)
  }

  /** Calls `listener` with the id of each agent that is removed. The returned function removes the listener. */
  onUnregister(listener: (agentId: string) => void): () => void {
    this.#unregisterListeners.add(listener)
    return () => this.#unregisterListeners.delete(listener)
  }

  /** Returns the agent, or `null`. */
  get(agentId: string): RegisteredAgent | null {
    return this.#entries.get(agentId)?.agent ?? null
  }

  /** Returns how many agents there are by status, and what their health checks have found since the registry was created. */
  stats(): RegistryStats {
    const { total, failed, ms, maxMs } = this.#checks
    const durationMs = { total: ms, mean: total === 0 ? 0 : ms / total, max: maxMs }
    return { agents: this.#entries.size, ...this.#counts, healthChecks: { total, failed, durationMs } }
  }

  /** Returns all agents, in the order of registration. */
  list(): RegisteredAgent[] {
    return Array.from(this.#entries.values(), ({ agent }) => agent)
  }

  /** Returns the agents whose status is `online`. */
  listOnline(): RegisteredAgent[] {
    return this.find({ status: 'online' })
  }

  /** Returns the online agents that have a capability with exactly this name. */
  findByCapability(name: string): RegisteredAgent[] {
    return this.find({ capabilities: [name], status: 'online' })
  }

  /** Returns the agents that match all given criteria. @throws {TypeError} for an unknown one. */
  find(query: AgentQuery): RegisteredAgent[] {
    requireKnown(query, QUERY_KEYS, 'AgentRegistry.find')
    const { capabilities = [], tags = [], provider, status } = query
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
   * Sets the status and `lastSeenAt`, and returns the agent; `null` when there is none with this id. A later health
   * check changes the status again, except for `maintenance`.
   *
   * @throws {A2AError} `INVALID_PARAMS` for an unknown status.
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

  /** Replaces the default health check. A `healthCheck` from the options stays. */
  setHealthCheck(check: HealthCheck): void {
    if (!this.#hasOwnCheck) this.#healthCheck = check
  }

  /**
   * Checks the health of one agent, or of all, and returns them with their new status; `null` when there is no agent
   * with this id.
   */
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
   * Checks the health of all agents now and every `intervalMs` (default 30,000 ms), until it is stopped or started
   * again. A check sets the status, and `lastSeenAt` if the agent responded. Agents in `maintenance` are skipped. The
   * timer does not keep the process alive.
   *
   * @throws {RangeError} when `intervalMs` is not a whole number above 0.
   */
  startHealthMonitoring(intervalMs = 30_000): HealthMonitoring {
    requireWhole('intervalMs', intervalMs)
    this.#monitoring?.stop()
    this.#monitoring = monitor(this.#clock, intervalMs, (isActive) => this.#updateAllHealth(isActive))
    return this.#monitoring
  }

  #now(): string {
    return instantOf(this.#clock.now()).iso
  }

  /** Returns the registration that a new one with this id replaces. */
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
    if (known !== undefined) this.#counts[known.status] -= 1
    this.#counts[agent.status] += 1
    for (const listener of this.#registerListeners) callSafely(() => listener(agent.id))
    if (known !== undefined) this.#notify(agent, known.status)
    return agent
  }

  #setStatus(entry: Entry, status: AgentStatus, lastSeenAt: string): void {
    const { agent } = entry
    entry.agent = freezeDeep({ ...agent, status, metadata: { ...agent.metadata, lastSeenAt } })
    this.#counts[agent.status] -= 1
    this.#counts[status] += 1
    this.#notify(entry.agent, agent.status)
  }

  #notify(agent: RegisteredAgent, from: AgentStatus): void {
    if (agent.status !== from) callSafely(() => this.#onStatusChange?.({ agent, from, to: agent.status }))
  }

  #updateAllHealth(isActive: () => boolean): Promise<void> {
    return forEachConcurrently([...this.#entries.values()], MAX_CONCURRENT_CHECKS, async (entry) => {
      if (isActive()) await this.#updateHealth(entry)
    })
  }

  /** Concurrent checks of one agent share one request. */
  async #updateHealth(entry: Entry): Promise<void> {
    if (!this.#acceptsObservation(entry)) return
    entry.pendingCheck ??= this.#observe(entry.agent).then((observed) => {
      entry.pendingCheck = undefined
      if (!this.#acceptsObservation(entry)) return
      this.#setStatus(entry, observed, observed === 'offline' ? entry.agent.metadata.lastSeenAt : this.#now())
    })
    await entry.pendingCheck
  }

  async #observe(agent: RegisteredAgent): Promise<ObservedStatus> {
    const start = elapsed(this.#clock)
    const settings = { clock: this.#clock, timeoutMs: this.#timeoutMs }
    const observed = await observeStatus(this.#healthCheck, agent, settings)
    const ms = Math.max(0, elapsed(this.#clock) - start)
    this.#checks.total += 1
    if (observed === 'offline') this.#checks.failed += 1
    this.#checks.ms += ms
    this.#checks.maxMs = Math.max(this.#checks.maxMs, ms)
    return observed
  }

  /**
   * Whether a result still applies: an operator may have set `maintenance`, or the agent may have been replaced or
   * removed.
   */
  #acceptsObservation({ agent }: Entry): boolean {
    return agent.status !== 'maintenance' && this.#entries.get(agent.id)?.agent === agent
  }
}
