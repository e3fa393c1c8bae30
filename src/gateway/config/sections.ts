/**
 * Readers for the sections of a configuration: the gateway's settings and its agents.
 *
 * @module
 */
import { apiKeyAuth, bearerAuth } from '../../http/auth.js'
import type { Authenticator } from '../../http/authenticator.js'
import { webUrl } from '../../http/url.js'
import { A2AError } from '../../core/errors.js'
import type { JsonObject, JsonValue } from '../../core/json-types.js'
import { compact } from '../../runtime/compact.js'
import type { AgentInput } from '../registry/agent.js'
import type { GatewayConfig } from './types.js'
import { knownNames } from '../../runtime/known-names.js'
import type { ConfigNode } from './yaml-node.js'
import { OAuthCredentials } from '../registry/oauth.js'
import { providerName } from '../registry/provider-names.js'
import { toAgent } from '../registry/registration.js'
import { rememberPosition } from './positions.js'
import { settingsFromVariables } from './variables.js'

/** Reads the section `a2a`. With `enabled: false` nothing else is read, so its variables need not be set. */
export function readConfig(section: ConfigNode, providers: readonly string[]): GatewayConfig {
  const { enabled, gateway, agents } = section.map(['enabled', 'gateway', 'agents'])
  const isEnabled = enabled?.flag() ?? true
  return {
    enabled: isEnabled,
    gateway: readGateway(isEnabled ? gateway : undefined),
    agents: isEnabled ? readAgents(agents, providers) : [],
  }
}

const GATEWAY_KEYS = [
  'health_check_interval_seconds',
  'task_timeout_seconds',
  'max_concurrent_tasks',
  'poll_interval_seconds',
  'cancel_timeout_seconds',
  'rate_limit',
  'circuit_breaker',
] as const

function readGateway(node: ConfigNode | undefined): GatewayConfig['gateway'] {
  const given = node?.map(GATEWAY_KEYS) ?? {}
  return {
    healthCheckIntervalMs: given.health_check_interval_seconds?.milliseconds() ?? 30_000,
    taskTimeoutMs: given.task_timeout_seconds?.milliseconds() ?? 300_000,
    maxConcurrentTasks: given.max_concurrent_tasks?.count() ?? 100,
    ...compact({
      pollIntervalMs: given.poll_interval_seconds?.milliseconds(),
      cancelTimeoutMs: given.cancel_timeout_seconds?.milliseconds(),
    }),
    ...(given.rate_limit !== undefined && { rateLimit: readRateLimit(given.rate_limit) }),
    ...(given.circuit_breaker !== undefined && { circuitBreaker: readBreaker(given.circuit_breaker) }),
  }
}

function readRateLimit(node: ConfigNode): NonNullable<GatewayConfig['gateway']['rateLimit']> {
  const { requests, per_seconds: perSeconds } = node.map(['requests', 'per_seconds'])
  return {
    requests: required(node, 'requests', requests).count(),
    perMs: required(node, 'per_seconds', perSeconds).milliseconds(),
  }
}

function readBreaker(node: ConfigNode): GatewayConfig['gateway']['circuitBreaker'] {
  if (node.isFalse) return false
  const given = node.map(['failures', 'reset_seconds'], 'a map, or false')
  return { failures: given.failures?.count() ?? 5, resetMs: given.reset_seconds?.milliseconds() ?? 30_000 }
}

function readAgents(node: ConfigNode | undefined, providers: readonly string[]): AgentInput[] {
  const paths = new Map<string, string>()
  return (node?.list() ?? []).map((listed) => {
    const each = listed.asAgent()
    const agent = readAgent(each, providers)
    const other = paths.get(agent.id)
    // The agent has been read, so its id exists.
    if (other !== undefined)
      throw (each.entries().get('id')?.node ?? each).error(`is the id of ${other}, too`)
    paths.set(agent.id, each.path)
    return agent
  })
}

const AGENT_KEYS = [
  'id',
  'name',
  'description',
  'provider',
  'endpoint',
  'capabilities',
  'max_concurrent_tasks',
  'status',
  'settings',
  'metadata',
] as const

function readAgent(node: ConfigNode, providers: readonly string[]): AgentInput {
  const given = node.map(AGENT_KEYS)
  const id = required(node, 'id', given.id).text()
  const provider = readProvider(required(node, 'provider', given.provider), providers)
  const agent = {
    id,
    provider,
    capabilities: required(node, 'capabilities', given.capabilities).list().map(readCapability),
    endpoint: readEndpoint(required(node, 'endpoint', given.endpoint)),
    ...compact({
      name: given.name?.text(),
      description: given.description?.text(),
      maxConcurrentTasks: given.max_concurrent_tasks?.count(),
      settings: readSettings(node, given.settings, { id, provider }),
      metadata: given.metadata && readMetadata(given.metadata),
      // The registry validates the status.
      status: given.status?.text() as AgentInput['status'],
    }),
  }
  // Reports what the registry would refuse, with its position in the file.
  withPosition(node, () => toAgent(agent, {}, ''))
  rememberPosition(agent, node)
  return agent
}

/** Reads the settings, and those that the environment has in place of the file. */
function readSettings(
  agent: ConfigNode,
  node: ConfigNode | undefined,
  of: Pick<AgentInput, 'id' | 'provider'>,
): JsonObject | undefined {
  const settings = node === undefined ? {} : toCamelKeys(node)
  const variables = settingsFromVariables(of, settings, (name) => agent.variable(name))
  return node === undefined && Object.keys(variables).length === 0 ? undefined : { ...settings, ...variables }
}

function readProvider(node: ConfigNode, providers: readonly string[]): string {
  const name = providerName(node.text())
  if (providers.includes(name)) return name
  const known = knownNames(name, providers)
  throw node.error(
    `${node.quoted()} is not known${known}; for one of your own pass { providers } to loadGatewayConfig`,
  )
}

function readCapability(node: ConfigNode): AgentInput['capabilities'][number] {
  if (node.isText) return node.text()
  const given = node.map(['name', 'description', 'input_schema', 'output_schema'])
  return {
    name: required(node, 'name', given.name).text(),
    ...compact({
      description: given.description?.text(),
      inputSchema: given.input_schema?.json(),
      outputSchema: given.output_schema?.json(),
    }),
  }
}

function readEndpoint(node: ConfigNode): AgentInput['endpoint'] {
  const { url, auth, timeout_seconds: timeout } = node.map(['url', 'auth', 'timeout_seconds'])
  return {
    url: required(node, 'url', url).text(),
    ...compact({ auth: auth && readAuth(auth), timeoutMs: timeout?.milliseconds() }),
  }
}

function readMetadata(node: ConfigNode): NonNullable<AgentInput['metadata']> {
  const { version, tags, extra } = node.map(['version', 'tags', 'extra'])
  return compact({
    version: version?.text(),
    tags: tags?.list().map((tag) => tag.text()),
    extra: extra?.json(),
  })
}

const AUTH_TYPES = ['bearer', 'api_key', 'oauth2']

/** Reads credentials as an authenticator, which hides them when it is printed. */
function readAuth(node: ConfigNode): Authenticator {
  const type = required(node, 'type', node.entries().get('type')?.node).text()
  switch (type) {
    case 'bearer': {
      const { token } = node.map(['type', 'token'])
      const text = required(node, 'token', token).text()
      return withPosition(node, () => bearerAuth(text))
    }
    case 'api_key': {
      const { header, key } = node.map(['type', 'header', 'key'])
      const name = required(node, 'header', header).text()
      const value = required(node, 'key', key).text()
      return withPosition(node, () => apiKeyAuth({ name, value, in: 'header' }), {
        name: 'header',
        value: 'key',
      })
    }
    case 'oauth2':
      return readOAuth(node)
    default:
      throw (node.entries().get('type')?.node ?? node).error(`must be one of ${AUTH_TYPES.join(', ')}`)
  }
}

function readOAuth(node: ConfigNode): Authenticator {
  const given = node.map(['type', 'client_id', 'client_secret', 'token_url', 'scope'])
  const tokenUrl = required(node, 'token_url', given.token_url)
  const url = webUrl(tokenUrl.text())
  if (typeof url === 'string') throw tokenUrl.error(url)
  return new OAuthCredentials({
    tokenUrl: tokenUrl.text(),
    clientId: filledText(required(node, 'client_id', given.client_id)),
    clientSecret: filledText(required(node, 'client_secret', given.client_secret)),
    scope: given.scope?.text(),
  })
}

/** A variable of the environment may be empty. */
function filledText(node: ConfigNode): string {
  const text = node.text()
  if (text === '') throw node.error('is required')
  return text
}

function required(parent: ConfigNode, key: string, node: ConfigNode | undefined): ConfigNode {
  if (node !== undefined && !node.isNull) return node
  throw parent.errorAt(key, 'is missing')
}

/** Runs `work`, and turns its error into one with the position of the value that caused it. */
function withPosition<T>(node: ConfigNode, work: () => T, names: Readonly<Record<string, string>> = {}): T {
  try {
    return work()
  } catch (error) {
    if (A2AError.is(error, 'LIMIT_EXCEEDED')) throw node.error(error.message)
    if (!A2AError.is(error, 'INVALID_PARAMS')) throw error
    const { path, reason } = error.data
    throw node.errorAt(names[path] ?? path, reason)
  }
}

/** Converts the top-level keys: `assistant_id` becomes `assistantId`. Nested keys belong to the service. */
function toCamelKeys(node: ConfigNode): JsonObject {
  const settings = node.json()
  const named: Record<string, JsonValue> = {}
  for (const [key, value] of Object.entries(settings)) {
    const name = key.replace(/_([a-z0-9])/g, (_match, letter: string) => letter.toUpperCase())
    if (Object.hasOwn(named, name)) throw node.errorAt(key, 'is there already, in another spelling')
    named[name] = value
  }
  return named
}
