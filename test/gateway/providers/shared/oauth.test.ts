/** OAuth credentials of an agent: their tokens are requested by what sends the requests to its service. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { UrlGuard } from '../../../../src/http/url-guard.js'
import { loadGatewayConfig } from '../../../../src/gateway/config/config.js'
import type { AgentProvider } from '../../../../src/gateway/provider.js'
import { a2a } from '../../../../src/gateway/providers/a2a/provider.js'
import { azureAI } from '../../../../src/gateway/providers/azure/provider.js'
import { bedrock } from '../../../../src/gateway/providers/aws/bedrock.js'
import { langGraph } from '../../../../src/gateway/providers/langgraph/provider.js'
import { pydanticAI } from '../../../../src/gateway/providers/pydantic.js'
import { vertexAI } from '../../../../src/gateway/providers/vertex/provider.js'
import type { ServiceOptions } from '../../../../src/gateway/providers/shared/service.js'
import { AgentRegistry } from '../../../../src/gateway/registry/registry.js'
import type { AgentInput, RegisteredAgent } from '../../../../src/gateway/registry/agent.js'
import { fakeFetch, type FakeFetch } from '../../../http/support/http.js'
import { asked, calling } from '../a2a/support/a2a.js'

const TOKEN_URL = 'https://login.test/token'
const CREDENTIALS = { clientId: 'client', clientSecret: 'secret', tokenUrl: TOKEN_URL }
const VERTEX = { resource: 'projects/p/locations/l/reasoningEngines/1' }
const ARN = { runtimeArn: 'arn:aws:bedrock-agentcore:us-east-1:1:runtime/x', region: 'us-east-1' }

type Make = (options: ServiceOptions) => AgentProvider
const PROVIDERS: readonly [name: string, settings: Record<string, string>, make: Make][] = [
  ['a2a', {}, a2a],
  ['langgraph', {}, langGraph],
  ['vertex_ai', VERTEX, vertexAI],
  ['vertex_ai', { ...VERTEX, protocol: 'a2a' }, vertexAI],
  ['azure_ai', {}, azureAI],
  ['bedrock', ARN, (options) => bedrock({ agentCore: options })],
  ['pydantic_ai', {}, pydanticAI],
]

/** Gives tokens `t1`, `t2` …, and refuses everything else. */
function service(): FakeFetch {
  let tokens = 0
  return fakeFetch(({ path }) =>
    path === TOKEN_URL ? { body: { access_token: `t${++tokens}`, token_type: 'Bearer' } } : { status: 403 },
  )
}

const inputOf = (provider: string, settings: Record<string, string>): AgentInput => ({
  ...{ id: 'one', provider, capabilities: ['x'], settings },
  endpoint: { url: 'https://service.test', auth: { type: 'oauth2', ...CREDENTIALS } },
})

async function agentOfFile(provider: string, settings: Record<string, string>): Promise<AgentInput> {
  const { clientId: client_id, clientSecret: client_secret, tokenUrl: token_url } = CREDENTIALS
  const auth = { type: 'oauth2', client_id, client_secret, token_url }
  const agent = { ...inputOf(provider, settings), endpoint: { url: 'https://service.test', auth } }
  const { agents } = await loadGatewayConfig(JSON.stringify({ a2a: { agents: [agent] } }))
  return agents[0] ?? inputOf(provider, settings)
}

/** Sends a task, which the service refuses. */
async function send(provider: AgentProvider, agent: RegisteredAgent): Promise<void> {
  await provider.sendTask(agent, asked('Hi'), calling()).catch(() => undefined)
}

const pathsOf = ({ asked: all }: FakeFetch): string[] => all.map(({ path }) => path)
const tokensOf = ({ asked: all }: FakeFetch): unknown[] =>
  all.filter(({ path }) => path !== TOKEN_URL).map(({ headers }) => headers['authorization'])

describe('the token of an agent', () => {
  afterEach(() => vi.unstubAllGlobals())

  it.each(PROVIDERS)(
    'of %s with settings %j is requested with the fetch of the provider',
    async (name, settings, make) => {
      const platform = service()
      vi.stubGlobal('fetch', platform.fetch)
      for (const input of [inputOf(name, settings), await agentOfFile(name, settings)]) {
        const own = service()
        const provider = make({ fetch: own.fetch })
        const agent = new AgentRegistry().register(input)
        await send(provider, agent)
        await send(provider, agent)
        expect(pathsOf(own).filter((path) => path === TOKEN_URL)).toEqual([TOKEN_URL])
        expect(new Set(tokensOf(own))).toEqual(new Set(['Bearer t1']))
      }
      expect(platform.asked).toEqual([])
    },
  )

  it('is requested with the fetch of the registry where the provider has none', async () => {
    const [platform, registry] = [service(), service()]
    vi.stubGlobal('fetch', platform.fetch)
    const agent = new AgentRegistry({ fetch: registry.fetch }).register(await agentOfFile('langgraph', {}))
    await send(langGraph(), agent)
    expect([pathsOf(registry), tokensOf(platform)]).toEqual([[TOKEN_URL], ['Bearer t1']])
  })

  it('is of each provider its own', async () => {
    const [first, second] = [service(), service()]
    const agent = new AgentRegistry().register(inputOf('langgraph', {}))
    for (const { fetch } of [first, second]) await send(langGraph({ fetch }), agent)
    for (const one of [first, second]) expect(pathsOf(one)[0]).toBe(TOKEN_URL)
  })

  it('is requested where the guard of the provider lets it', async () => {
    const own = service()
    const seen: string[] = []
    const urlGuard: UrlGuard = ({ href }) => {
      seen.push(href)
      if (href === TOKEN_URL) throw new Error('Not there')
    }
    const agent = new AgentRegistry().register(inputOf('langgraph', {}))
    await send(langGraph({ fetch: own.fetch, urlGuard }), agent)
    expect([seen.includes(TOKEN_URL), own.asked]).toEqual([true, []])
  })
})
