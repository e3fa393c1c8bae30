/**
 * Provider for Pydantic AI agents served by FastA2A.
 *
 * @module
 */
import { parseAgentCard } from '../../agent-card/parse.js'
import { A2AClient } from '../../client/a2a-client.js'
import { type Fetch, platformFetch } from '../../runtime/fetch.js'
import { isRecord } from '../../runtime/unread.js'
import type { JsonObject } from '../../core/json-types.js'
import type { AgentCard } from '../../schemas/agent-card.js'
import type { RegisteredAgent } from '../registry/agent.js'
import type { AgentProvider, ProviderCall } from '../provider.js'
import { requireServiceOptions, Service, type ServiceOptions } from './shared/service.js'
import { A2AProvider } from './a2a/provider.js'
import { toClientOptions } from './a2a/clients.js'

/** Options of {@link pydanticAI}. */
export type PydanticAIOptions = ServiceOptions

const NAME = 'pydantic_ai'
/** The second is the path before A2A 0.3, which older versions of FastA2A use. */
const CARD_PATHS = ['/.well-known/agent-card.json', '/.well-known/agent.json']
const CARD_TIMEOUT_MS = 10_000

/**
 * Provider for Pydantic AI agents that FastA2A serves (`agent.to_a2a()`, `agent_to_a2a(agent)`). An agent's
 * `endpoint.url` is the base URL of the application. The URL in its card is ignored, since FastA2A's default is
 * `http://localhost:8000`.
 *
 * The gateway sends a task and polls it, because FastA2A has no streams. FastA2A's workers continue after a
 * cancellation. Every message begins a task there; tasks of one conversation share its history.
 *
 * @throws {TypeError} for an option that is unknown or of the wrong type.
 */
export function pydanticAI(options: PydanticAIOptions = {}): AgentProvider {
  requireServiceOptions(options, 'pydanticAI')
  return new A2AProvider(NAME, async (agent, signal = new AbortController().signal) => {
    const card = await fetchCard(agent, options, { signal })
    const [agentInterface] = card.supportedInterfaces
    const isV1 = agentInterface?.protocolVersion.startsWith('1.') === true
    const { fetch = platformFetch, ...others } = toClientOptions(options, agent)
    return new A2AClient({
      ...others,
      fetch: isV1 ? withLegacyNames(fetch) : fetch,
      card: {
        ...card,
        capabilities: { streaming: false },
        supportedInterfaces: [
          {
            protocolBinding: 'JSONRPC',
            protocolVersion: isV1 ? '1.0' : '0.3',
            url: `${agent.endpoint.url.replace(/\/+$/, '')}/`,
          },
        ],
      },
    })
  })
}

async function fetchCard(
  agent: RegisteredAgent,
  options: PydanticAIOptions,
  call: ProviderCall,
): Promise<AgentCard> {
  const service = new Service(NAME, agent, options)
  const timeoutMs = Math.min(agent.endpoint.timeoutMs, CARD_TIMEOUT_MS)
  for (const path of CARD_PATHS) {
    const answer = await service.send({ method: 'GET', path, timeoutMs, expected: [404] }, call)
    if (answer.status !== 404) return parseAgentCard(answer.json())
  }
  throw service.error(`it has no card at ${CARD_PATHS.join(' or ')}`, { status: 404 })
}

const LEGACY_METHODS: Readonly<Record<string, string>> = {
  SendMessage: 'message/send',
  GetTask: 'tasks/get',
  CancelTask: 'tasks/cancel',
}

/**
 * FastA2A has cards and objects of A2A 1.0, but the method and role names of 0.3. The client reads its responses in
 * either spelling.
 */
function withLegacyNames(fetch: Fetch): Fetch {
  return (url, init) => {
    if (typeof init.body !== 'string') return fetch(url, init)
    // The client has written this body.
    const request = JSON.parse(init.body) as { readonly method: string; readonly params: JsonObject }
    const { method, params } = request
    const body = { ...request, method: LEGACY_METHODS[method] ?? method, params: toLegacyParams(params) }
    return fetch(url, { ...init, body: JSON.stringify(body) })
  }
}

function toLegacyParams(params: JsonObject): JsonObject {
  const { message } = params
  if (!isRecord(message)) return params
  const configuration = { acceptedOutputModes: [], blocking: false }
  return { ...params, message: { ...message, role: 'user' }, configuration }
}
