/**
 * AWS endpoints and session ids of agents.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../../core/errors.js'
import type { AgentStatus, RegisteredAgent } from '../../registry/agent.js'
import { sha256 } from '../../../runtime/crypto.js'
import type { ProviderCall, ProviderTask } from '../../provider.js'
import type { Service } from '../shared/service.js'

/** First label of the host. AWS serves models, agents and runtimes from different hosts. */
export type AwsService = 'bedrock-agent-runtime' | 'bedrock-agentcore'

const AWS_HOST = /^(bedrock(?:-[a-z]+)*?)(-fips)?\.([a-z]+(?:-[a-z]+)+-\d+)\.(amazonaws\.com(?:\.cn)?)$/

/**
 * Returns the region in the agent's URL. `undefined` for other hosts, such as a proxy or a private endpoint.
 *
 * @throws {A2AError} `INVALID_PARAMS` for a Bedrock host that does not serve these agents. The error names the right
 *   one.
 */
export function regionOf({ endpoint }: RegisteredAgent, service: AwsService): string | undefined {
  const { hostname } = new URL(endpoint.url)
  const [, host, fips = '', region, domain] = AWS_HOST.exec(hostname) ?? []
  if (host === undefined || region === undefined || domain === undefined) return undefined
  if (host === service) return region
  const expected = `https://${service}${fips}.${region}.${domain}`
  throw invalidParams('endpoint.url', `must be ${expected}: there are no such agents at ${hostname}`)
}

/**
 * Returns the agent at the host that serves agents. The document of LiteLLM-RS has the URL of the models in its place, which
 * serves no agents.
 */
export function atAgentHost(agent: RegisteredAgent): RegisteredAgent {
  const { endpoint } = agent
  const url = endpoint.url.replace(MODELS_HOST, '$1bedrock-agent-runtime$2')
  return url === endpoint.url ? agent : { ...agent, endpoint: { ...endpoint, url } }
}

const MODELS_HOST = /^(https:\/\/)bedrock-runtime((?:-fips)?\.[a-z0-9-]+\.amazonaws\.com)/

/** One session for all health checks, since each session costs. At least 33 characters. */
export const HEALTH_SESSION = 'a2a-tasks-gateway-health-check-session'
/** Session ids that the gateway generates. A conversation cannot choose one of them. */
const RESERVED = new RegExp(`^(?:context-|${HEALTH_SESSION}$)`, 'i')

/**
 * Returns the session id of a conversation. The context id itself is used if the service accepts it, it is not reserved
 * and the task has no owner; otherwise the id is a hash of owner and context id, so that a user who names another
 * user's conversation gets their own session.
 */
export async function sessionIdOf(
  { contextId, owner }: Pick<ProviderTask, 'contextId' | 'owner'>,
  allowed: RegExp,
): Promise<string> {
  if (owner === undefined && allowed.test(contextId) && !RESERVED.test(contextId)) return contextId
  const digest = await sha256(JSON.stringify([owner ?? null, contextId]))
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return `context-${hex}`
}

const HEALTH_MS = 10_000

/**
 * Returns `online` for any status below 500, `degraded` for 500 and above, `offline` without a response. Starts no run.
 */
export async function reachability(service: Service, { signal }: ProviderCall): Promise<AgentStatus> {
  try {
    await service.send({ method: 'GET', path: '/', timeoutMs: HEALTH_MS }, { signal })
    return 'online'
  } catch (error) {
    signal.throwIfAborted()
    const status = A2AError.is(error, 'PROVIDER_ERROR') ? error.data.status : undefined
    if (status === undefined) return 'offline'
    return status < 500 ? 'online' : 'degraded'
  }
}
