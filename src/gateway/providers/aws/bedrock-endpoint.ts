/**
 * Where on AWS an agent is, and which conversation there is ours.
 *
 * @module
 */
import { A2AError, invalidParams } from '../../../core/errors.js'
import type { AgentStatus, RegisteredAgent } from '../../registry/agent.js'
import { sha256 } from '../../../runtime/crypto.js'
import type { ProviderCall, ProviderTask } from '../../provider.js'
import type { Service } from '../shared/service.js'

/** The first label of the host: models, agents and runtimes are served by hosts of their own. */
export type AwsService = 'bedrock-agent-runtime' | 'bedrock-agentcore'

const AWS_HOST = /^(bedrock(?:-[a-z]+)*?)(-fips)?\.([a-z]+(?:-[a-z]+)+-\d+)\.(amazonaws\.com(?:\.cn)?)$/

/**
 * The region that the agent's URL names, if it is one of AWS. Any other may be a proxy or a private endpoint.
 *
 * @throws {A2AError} `INVALID_PARAMS` for a host of Bedrock that does not serve these agents: it says which does.
 */
export function regionOf({ endpoint }: RegisteredAgent, service: AwsService): string | undefined {
  const { hostname } = new URL(endpoint.url)
  const [, host, fips = '', region, domain] = AWS_HOST.exec(hostname) ?? []
  if (host === undefined || region === undefined || domain === undefined) return undefined
  if (host === service) return region
  const expected = `https://${service}${fips}.${region}.${domain}`
  throw invalidParams('endpoint.url', `must be ${expected}: there are no such agents at ${hostname}`)
}

/** One for all health checks: each session costs. At least 33 characters. */
export const HEALTH_SESSION = 'a2a-tasks-gateway-health-check-session'
/** Names of sessions that are made here: no conversation may choose one. */
const RESERVED = new RegExp(`^(?:context-|${HEALTH_SESSION}$)`, 'i')

/**
 * The session of a conversation: its own id where the service takes it, it is nobody's and not like one of ours, else one that
 * is made of it and its owner, always the same: whoever names the conversation of somebody else has a session of his own.
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

/** `online` if anything below 500 is answered, `degraded` by 500 and more, `offline` where nobody answers. Starts nothing. */
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
