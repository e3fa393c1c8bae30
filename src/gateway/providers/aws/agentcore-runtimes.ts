/**
 * The runtimes of AgentCore: how they are reached, and the sessions in them.
 *
 * @module
 */
import * as z from 'zod/mini'
import type { JsonValue } from '../../../core/json-types.js'
import { nonEmptyString, object, oneOf, optional } from '../../../schemas/scalars.js'
import { check } from '../../../wire/check.js'
import type { RegisteredAgent } from '../../registry/agent.js'
import type { ProviderTask, TaskRef } from '../../provider.js'
import { Service, type ServiceOptions } from '../shared/service.js'
import { fetchWithClient, loadAgentCoreClient, type AgentCoreClient } from './agentcore-client.js'
import { parseSettings } from '../shared/answers.js'
import { regionOf, sessionIdOf } from './bedrock-endpoint.js'

export interface BedrockAgentCoreOptions extends ServiceOptions {
  /**
   * The official client, a `BedrockAgentCore`: of all agents, or made for each call. It is for agents without
   * `endpoint.auth` where there is no `authorize`. Default is one per URL and region with the credentials of the
   * environment; the package `@aws-sdk/client-bedrock-agentcore` must be installed.
   */
  readonly client?: AgentCoreClient | ((agent: RegisteredAgent) => AgentCoreClient) | undefined
  /** What an agent of the HTTP protocol is sent. Default is `{ prompt: task.text }`. */
  readonly toPayload?: ((task: ProviderTask, agent: RegisteredAgent) => JsonValue) | undefined
}

const NAME = 'bedrock_agentcore'
/** 33 to 256 characters, as the service says; of these kinds, since it is a header. */
const SESSION_ID = /^[0-9a-zA-Z][0-9a-zA-Z_-]{32,255}$/

const ARN_EXPECTED = 'must be the ARN of the runtime: arn:aws:bedrock-agentcore:…'

const SettingsSchema = object({
  runtimeArn: z.string(ARN_EXPECTED).check(z.refine((arn: string) => arn.startsWith('arn:'), ARN_EXPECTED)),
  /** The endpoint of the runtime. Default is the runtime's own default. */
  qualifier: optional(nonEmptyString),
  /** What the runtime's container speaks. Default is `http`. */
  protocol: optional(oneOf(['http', 'a2a'])),
  /** Default is that of the ARN. */
  region: optional(nonEmptyString),
})

type Settings = z.output<typeof SettingsSchema>

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

  /** Below the agent's URL. */
  pathOf(agent: RegisteredAgent, operation: string): string {
    const { runtimeArn, qualifier } = this.settingsOf(agent)
    const query = qualifier === undefined ? '' : `?${new URLSearchParams({ qualifier }).toString()}`
    return `/runtimes/${encodeURIComponent(runtimeArn)}/${operation}${query}`
  }

  /** How requests to this agent are sent: as they are, or by the official client. */
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

  /** That the service can be reached, no official client would tell. */
  plainServiceOf(agent: RegisteredAgent): Service {
    return new Service(NAME, agent, this.#options)
  }

  /** The session of a task: that in which it is, or the conversation was, else one for the conversation. */
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
