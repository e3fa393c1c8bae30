/**
 * The agents as the gateway uses them: which gets a task, and whether it takes one.
 *
 * @module
 */
import { A2AError } from '../../core/errors.js'
import type { AgentInput, RegisteredAgent } from '../registry/agent.js'
import type { Settings } from '../options.js'
import type { AgentProvider } from '../provider.js'
import { agentNotFound, agentNotOnline } from './refusals.js'
import { LeastLoadedSelector } from '../registry/selection.js'
import { providerError } from '../providers/shared/service.js'

/** What a task needs of its agent. */
export interface TaskNeeds {
  /** Exact names, all of them. */
  readonly capabilities?: readonly string[] | undefined
  /** All of them. */
  readonly tags?: readonly string[] | undefined
}

/** An agent, and what speaks to its service. */
export interface AgentWithProvider {
  readonly agent: RegisteredAgent
  readonly provider: AgentProvider
}

export class AgentSelector {
  readonly #settings: Settings
  readonly #balancer = new LeastLoadedSelector()
  /** Ends what the registry tells. */
  readonly close: () => void

  constructor(settings: Settings) {
    this.#settings = settings
    this.close = settings.registry.onUnregister((agentId) => {
      settings.admission.forget(agentId)
      this.#balancer.forget(agentId)
    })
  }

  /** @throws {A2AError} `PROVIDER_ERROR` when nobody speaks to such agents. */
  readonly providerOf = (agent: RegisteredAgent): AgentProvider => {
    const provider = this.#settings.providers.get(agent.provider)
    if (provider !== undefined) return provider
    throw providerError(agent.provider, agent, `No provider for ${agent.provider}: pass it in "providers"`)
  }

  /** Registers agents. @throws {A2AError} what is wrong with the first that its provider does not take, or that has none. */
  registerAll(inputs: readonly AgentInput[]): void {
    for (const input of inputs) {
      const agent = this.#settings.registry.register(input)
      this.providerOf(agent).checkAgent?.(agent)
    }
  }

  /** Gives the agent one task more, until what is returned is called. @throws {A2AError} why it gets none now. */
  admit(agentId: string, owner: string | undefined): AgentWithProvider & { readonly release: () => void } {
    const target = this.#resolve(agentId)
    return { ...target, release: this.#settings.admission.admit({ agent: target.agent, owner }) }
  }

  /** Throws what {@link admit} would throw. What is wrong with the agent itself, `onError` is told: whoever asks reads little. */
  check(agentId: string, owner: string | undefined): void {
    const { admission, onError } = this.#settings
    try {
      admission.check({ agent: this.#resolve(agentId).agent, owner })
    } catch (error) {
      if (A2AError.is(error, 'PROVIDER_ERROR')) onError(error, { during: 'sendTask', agentId })
      throw error
    }
  }

  /** Of those who can do it, whoever takes a task now and has least to do. `null` where nobody can, or nothing is said. */
  find(needs: string | TaskNeeds): RegisteredAgent | null {
    const { extractCapabilities, admission, registry, providers } = this.#settings
    const wanted: TaskNeeds =
      typeof needs === 'string' ? { capabilities: extractCapabilities(needs, registry.listOnline()) } : needs
    const { capabilities = [], tags = [] } = wanted
    if (typeof needs === 'string' && capabilities.length === 0) return null
    const able = registry
      .find({ capabilities, tags, status: 'online' })
      .filter(({ provider }) => providers.has(provider))
    const free = able.filter((agent) => admission.hasRoom(agent))
    return this.#balancer.select(free.length > 0 ? free : able, (agentId) => admission.loadOf(agentId))
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
