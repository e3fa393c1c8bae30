/**
 * Requests to AgentCore runtimes, and their sessions.
 *
 * @module
 */
import type { JsonValue } from '../../../core/json-types.js'
import { nonEmptyString, object, oneOf, optional, refine, text } from '../../../schemas/scalars.js'
import type { Infer } from '../../../schemas/schema.js'
import { check } from '../../../wire/check.js'
import type { RegisteredAgent } from '../../registry/agent.js'
import type { ProviderTask, TaskRef } from '../../provider.js'
import { Service, type ServiceOptions } from '../shared/service.js'
import { fetchWithClient, loadAgentCoreClient, type AgentCoreClient } from './agentcore-client.js'
import { parseSettings } from '../shared/answers.js'
import { regionOf, sessionIdOf } from './bedrock-endpoint.js'

export interface BedrockAgentCoreOptions extends ServiceOptions {
  /**
   * The official client, a `BedrockAgentCore`: one for all agents, or a function that returns one per call. Used for
   * agents without `endpoint.auth` when there is no `authorize`. Default is one client per URL and region, with the
   * credentials of the environment, which needs the package `@aws-sdk/client-bedrock-agentcore`.
   */
  readonly client?: AgentCoreClient | ((agent: RegisteredAgent) => AgentCoreClient) | undefined
  /** Builds the payload for an agent of the HTTP protocol. Default is `{ prompt: task.text }`. */
  readonly toPayload?: ((task: ProviderTask, agent: RegisteredAgent) => JsonValue) | undefined
}

const NAME = 'bedrock_agentcore'
/** The service accepts 33 to 256 characters. These are valid in a header. */
const SESSION_ID = /^[0-9a-zA-Z][0-9a-zA-Z_-]{32,255}$/

const ARN_EXPECTED = 'must be the ARN of the runtime: arn:aws:bedrock-agentcore:…'

const SettingsSchema = object({
  runtimeArn: refine(text(ARN_EXPECTED), (arn) => arn.startsWith('arn:'), ARN_EXPECTED),
  /** Endpoint of the runtime. Default is the runtime's default endpoint. */
  qualifier: optional(nonEmptyString),
  /** Protocol of the runtime's container. Default is `http`. */
  protocol: optional(oneOf(['http', 'a2a'])),
  /** Default is the region of the ARN. */
  region: optional(nonEmptyString),
})

type Settings = Infer<typeof SettingsSchema>

const RefSchema = object({ sessionId: nonEmptyString })

export class Runtimes {
  readonly #options: BedrockAgentCoreOptions
  readonly #clients = new Map<string, Promise<AgentCoreClient>>()

  constructor(options: BedrockAgentCoreOptions) {
    this.#options = options
  }

  settingsOf(agent: RegisteredAgent): Settings {
    regionOf(agent, 'bedrock-agentcore')
    return parseSettings(agent, SettingsSchema)
  }

  /** Returns a path below the agent's URL. */
  pathOf(agent: RegisteredAgent, operation: string): string {
    const { runtimeArn, qualifier } = this.settingsOf(agent)
    const query = qualifier === undefined ? '' : `?${new URLSearchParams({ qualifier }).toString()}`
    return `/runtimes/${encodeURIComponent(runtimeArn)}/${operation}${query}`
  }

  /** Returns the options for requests to this agent: as they are, or sent by the official client. */
  optionsFor(agent: RegisteredAgent): ServiceOptions {
    const { fetch, authorize, urlGuard, clock } = this.#options
    if (authorize !== undefined || agent.endpoint.auth !== undefined) {
      return { fetch, authorize, urlGuard, clock }
    }
    return { fetch: fetchWithClient(() => this.#clientOf(agent)), urlGuard, clock }
  }

  serviceOf(agent: RegisteredAgent): Service {
    return new Service(NAME, agent, this.optionsFor(agent))
  }

  /** For health checks, which the official client does not support. */
  plainServiceOf(agent: RegisteredAgent): Service {
    return new Service(NAME, agent, this.#options)
  }

  /**
   * Returns the session of a task: its own or that of the previous task in the conversation, else the conversation's.
   */
  async sessionOf({ contextId, owner, ref, previous }: ProviderTask): Promise<string> {
    const known = ref ?? previous
    return known === undefined ? await sessionIdOf({ contextId, owner }, SESSION_ID) : sessionIn(known)
  }

  async #clientOf(agent: RegisteredAgent): Promise<AgentCoreClient> {
    const { client } = this.#options
    if (client !== undefined) return typeof client === 'function' ? client(agent) : client
    const { runtimeArn, region: given } = this.settingsOf(agent)
    const region = given ?? runtimeArn.split(':')[3]
    const key = `${agent.endpoint.url} ${region ?? ''}`
    const known = this.#clients.get(key)
    if (known !== undefined) return await known
    const loading = loadAgentCoreClient(agent, region)
    this.#clients.set(key, loading)
    loading.catch(() => this.#clients.delete(key))
    return await loading
  }
}

export function sessionIn(ref: TaskRef): string {
  return check(RefSchema, ref, 'ref').sessionId
}
