/**
 * Selection of an agent for a task, and its admission.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import { atPosition } from '../config/positions.js'
import type { AgentInput, RegisteredAgent } from '../registry/agent.js'
import type { Settings } from '../options.js'
import type { AgentProvider } from '../provider.js'
import { agentNotFound, agentNotOnline } from './refusals.js'
import { LeastLoadedSelector } from '../registry/selection.js'
import { providerError } from '../providers/shared/service.js'

/** Requirements of a task. */
export interface TaskNeeds {
  /** Exact names. The agent must have all of them. */
  readonly capabilities?: readonly string[] | undefined
  /** The agent must have all of them. */
  readonly tags?: readonly string[] | undefined
}

/** An agent with its provider. */
export interface AgentWithProvider {
  readonly agent: RegisteredAgent
  readonly provider: AgentProvider
}

/** An agent that has a task. */
export interface AdmittedAgent extends AgentWithProvider {
  /** Releases the agent's capacity. */
  readonly release: () => void
}

export class AgentSelector {
  readonly #settings: Settings
  readonly #balancer = new LeastLoadedSelector()
  /** Stops listening to the registry. */
  readonly close: () => void

  constructor(settings: Settings) {
    this.#settings = settings
    this.close = settings.registry.onUnregister((agentId) => {
      settings.admission.forget(agentId)
      settings.statistics.forget(agentId)
      this.#balancer.forget(agentId)
    })
  }

  /** @throws {A2AError} `PROVIDER_ERROR` when the gateway does not have the agent's provider. */
  readonly providerOf = (agent: RegisteredAgent): AgentProvider => {
    const provider = this.#settings.providers.get(agent.provider)
    if (provider !== undefined) return provider
    throw providerError(agent.provider, agent, `No provider for ${agent.provider}: pass it in "providers"`)
  }

  /**
   * Registers agents.
   *
   * @throws {A2AError} for the first agent that has no provider or whose settings are refused.
   */
  registerAll(inputs: readonly AgentInput[]): void {
    for (const input of inputs) {
      atPosition(input, () => {
        const agent = this.#settings.registry.register(input)
        this.providerOf(agent).checkAgent?.(agent)
      })
    }
  }

  /**
   * Admits a task for the agent, and returns the function that releases its capacity.
   *
   * @throws {A2AError} the reason why the agent cannot have the task.
   */
  admit(agentId: string, owner: string | undefined): AdmittedAgent {
    const target = this.#resolve(agentId)
    return { ...target, release: this.#settings.admission.admit({ agent: target.agent, owner }) }
  }

  /** Whether this process has the agent, with room for one more task. */
  canResume(agentId: string): boolean {
    const { registry, providers, admission } = this.#settings
    const agent = registry.get(agentId)
    return agent !== null && providers.has(agent.provider) && admission.hasRoom(agent)
  }

  /**
   * Counts a task that was admitted in another process, whatever the limits and the status of the agent are.
   *
   * @throws {A2AError} `AGENT_NOT_FOUND`; `PROVIDER_ERROR` when the gateway does not have the agent's provider.
   */
  resume(agentId: string): AdmittedAgent {
    const { registry, admission } = this.#settings
    const agent = registry.get(agentId)
    if (agent === null) throw agentNotFound(agentId)
    return { agent, provider: this.providerOf(agent), release: admission.count(agentId) }
  }

  /**
   * Throws what {@link admit} would throw. `onError` receives the faults of the agent's settings too, since clients see
   * little of them.
   */
  check(agentId: string, owner: string | undefined): void {
    const { admission, onError } = this.#settings
    try {
      admission.check({ agent: this.#resolve(agentId).agent, owner })
    } catch (error) {
      if (A2AError.is(error, 'PROVIDER_ERROR')) onError(error, { during: 'sendTask', agentId })
      throw error
    }
  }

  /**
   * Returns the least loaded matching agent, preferring those with free capacity. `null` when none matches, or when a
   * text needs no capability.
   */
  find(needs: string | TaskNeeds): RegisteredAgent | null {
    const { extractCapabilities, admission, registry, providers } = this.#settings
    const wanted: TaskNeeds =
      typeof needs === 'string' ? { capabilities: extractCapabilities(needs, registry.listOnline()) } : needs
    const { capabilities = [], tags = [] } = wanted
    if (typeof needs === 'string' && capabilities.length === 0) return null
    const matching = registry
      .find({ capabilities, tags, status: 'online' })
      .filter(({ provider }) => providers.has(provider))
    const available = matching.filter((agent) => admission.hasRoom(agent))
    return this.#balancer.select(available.length > 0 ? available : matching, (agentId) =>
      admission.loadOf(agentId),
    )
  }

  #resolve(agentId: string): AgentWithProvider {
    const agent = this.#settings.registry.get(agentId)
    if (agent === null) throw agentNotFound(agentId)
    if (agent.status !== 'online') throw agentNotOnline(agent)
    const provider = this.providerOf(agent)
    try {
      provider.checkAgent?.(agent)
    } catch (cause) {
      throw providerError(
        agent.provider,
        agent,
        cause instanceof Error ? cause.message : 'it is not set up',
        {
          cause,
        },
      )
    }
    return { agent, provider }
  }
}
