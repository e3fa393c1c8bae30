/** The configuration of LiteLLM-RS' document as it stands, with the providers of this library at stubs of its services. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { loadGatewayConfig } from '../../src/gateway/config/config.js'
import { A2AGateway } from '../../src/gateway/gateway.js'
import type { BedrockAgentClient, InvokeAgentInput } from '../../src/gateway/providers/aws/bedrock-client.js'
import { bedrock } from '../../src/gateway/providers/aws/bedrock.js'
import { langGraph } from '../../src/gateway/providers/langgraph/provider.js'
import { vertexAI } from '../../src/gateway/providers/vertex/provider.js'
import type { Fetch } from '../../src/runtime/fetch.js'
import { isInstalled, loadService } from '../services/installed.js'
import { startBedrockStub, type BedrockStub } from '../services/bedrock/bedrock-stub.js'
import { sendJson, startStubServer, type StubServer } from '../services/stub-server.js'
import { startVertexStub, type VertexStub } from '../services/vertex/vertex-stub.js'
import { read } from '../support/repository.js'
import { rpc, serveGateway } from './support/request-handler.js'
import { THREAD } from './providers/langgraph/support/langgraph.js'

const DOCUMENT = read('examples/32-gateway.yaml')
const ENV = {
  LANGGRAPH_API_KEY: 'k-123',
  GOOGLE_CLIENT_ID: 'client',
  GOOGLE_CLIENT_SECRET: 's-456',
  GOOGLE_CLOUD_PROJECT: 'project',
  CODE_AGENT_ENGINE_ID: '42',
  DATA_AGENT_AGENT_ID: 'AGENT1',
  DATA_AGENT_ALIAS_ID: 'ALIAS1',
}
const SDK = ['@aws-sdk/client-bedrock-agent-runtime', '@smithy/node-http-handler']

let graph: StubServer
let tokens: StubServer
let vertex: VertexStub
let agents: BedrockStub
beforeAll(async () => {
  const values = { messages: [{ type: 'ai', content: 'Found' }] }
  graph = await startStubServer(({ method, path }, response) => {
    const answers: Record<string, unknown> = {
      'GET /ok': { ok: true },
      'POST /threads': THREAD,
      'POST /threads/t/runs': { run_id: 'r', thread_id: 't', status: 'pending' },
      'GET /threads/t/runs/r': { run_id: 'r', thread_id: 't', status: 'success' },
      'GET /threads/t/state': { values, next: [], tasks: [], metadata: { run_id: 'r' } },
    }
    sendJson(response, `${method} ${path}` in answers ? 200 : 599, answers[`${method} ${path}`] ?? {})
  })
  vertex = await startVertexStub()
  tokens = await startStubServer((_request, response) => {
    sendJson(response, 200, { access_token: vertex.token, token_type: 'Bearer', expires_in: 3600 })
  })
  agents = await startBedrockStub()
})
afterAll(async () => {
  for (const stub of [graph, tokens, vertex, agents]) await stub.stop()
})

/** Sends what goes to the hosts of the document to the stubs, and refuses everything else. */
const fetchStub: Fetch = (url, init) => {
  const stubs: Readonly<Record<string, string>> = {
    'http://localhost:8100': graph.url,
    'https://us-central1-aiplatform.googleapis.com': vertex.url,
    'https://oauth2.googleapis.com': tokens.url,
    'https://bedrock-agent-runtime.us-east-1.amazonaws.com': agents.url,
  }
  const { origin } = new URL(url)
  const stub = stubs[origin]
  if (stub === undefined) return Promise.reject(new TypeError(`There is no stub of ${origin}`))
  return fetch(url.replace(origin, stub), init)
}

/** The official client where it is installed; otherwise one that is asked for its input alone. */
async function bedrockClient(inputs: InvokeAgentInput[]): Promise<BedrockAgentClient> {
  if (!isInstalled(...SDK)) return plainClient(inputs)
  const { NodeHttpHandler } = await loadService<{ NodeHttpHandler: new () => object }>(
    '@smithy/node-http-handler',
  )
  const { BedrockAgentRuntime } = await loadService<{
    BedrockAgentRuntime: new (options: object) => BedrockAgentClient & { destroy(): void }
  }>('@aws-sdk/client-bedrock-agent-runtime')
  const { url: endpoint, region, credentials } = agents
  const requestHandler = new NodeHttpHandler()
  const client = new BedrockAgentRuntime({ endpoint, region, credentials, requestHandler, maxAttempts: 1 })
  onTestFinished(() => client.destroy())
  return {
    invokeAgent(input, options) {
      inputs.push(input)
      return client.invokeAgent(input, options)
    },
  }
}

function plainClient(inputs: InvokeAgentInput[]): BedrockAgentClient {
  return {
    invokeAgent(input) {
      inputs.push(input)
      const completion = async function* (): AsyncGenerator<object> {
        yield await Promise.resolve({ chunk: { bytes: new TextEncoder().encode('Hello') } })
      }
      return Promise.resolve({ completion: completion() })
    },
  }
}

async function start(env: Readonly<Record<string, string>> = ENV) {
  const inputs: InvokeAgentInput[] = []
  const client = await bedrockClient(inputs)
  const urls: string[] = []
  const clientOf = ({ endpoint }: { readonly endpoint: { readonly url: string } }): BedrockAgentClient => {
    urls.push(endpoint.url)
    return client
  }
  const providers = {
    langgraph: langGraph({ fetch: fetchStub }),
    vertex_ai: vertexAI({ fetch: fetchStub }),
    bedrock: bedrock({ client: clientOf, fetch: fetchStub }),
  }
  const config = await loadGatewayConfig(DOCUMENT, { env })
  const errors: unknown[] = []
  const gateway = A2AGateway.fromConfig(config, { providers, onError: (error) => errors.push(error) })
  onTestFinished(() => gateway.close())
  return { gateway, inputs, urls, errors }
}

const textOf = ({
  artifacts,
}: {
  readonly artifacts: readonly { readonly parts?: readonly { readonly text?: string }[] }[]
}) => artifacts.flatMap(({ parts = [] }) => parts.map(({ text }) => text)).join('')

const without = (name: string): Record<string, string> =>
  Object.fromEntries(Object.entries(ENV).filter(([each]) => each !== name))

describe("the document's configuration, as it stands,", () => {
  it('makes agents that are online and do their tasks', async () => {
    const { gateway, inputs, urls, errors } = await start()
    expect((await gateway.registry.checkHealth()).map(({ id, status }) => `${id} is ${status}`)).toEqual([
      'research-agent is online',
      'code-agent is online',
      'data-agent is online',
    ])
    const texts: unknown[] = []
    for (const needs of ['A web search, please', 'I need a code review', 'A visualization of May']) {
      const agent = gateway.findAgentForTask(needs)
      const task = await gateway.sendTask(agent?.id ?? '', needs)
      texts.push([agent?.id, task.state, textOf(task)])
    }
    expect([texts, errors]).toEqual([
      [
        ['research-agent', 'completed', 'Found'],
        ['code-agent', 'completed', 'Hello'],
        ['data-agent', 'completed', 'Hello'],
      ],
      [],
    ])
    const run = graph.requests.find(({ path }) => path === '/threads/t/runs')
    expect([run?.headers.authorization, run?.body]).toMatchObject([
      'Bearer k-123',
      { assistant_id: 'research-agent' },
    ])
    expect(inputs).toMatchObject([{ agentId: 'AGENT1', agentAliasId: 'ALIAS1' }])
    expect(urls).toEqual(['https://bedrock-agent-runtime.us-east-1.amazonaws.com'])
    const [grant] = tokens.requests
    expect([grant?.path, grant?.text, grant?.headers.authorization]).toEqual([
      '/token',
      'grant_type=client_credentials',
      `Basic ${btoa('client:s-456')}`,
    ])
  })

  it('serves the requests of the document', async () => {
    const { gateway } = await start()
    const { url } = await serveGateway(gateway)
    const { body } = await rpc(url, 'task_send', {
      id: 'one',
      state: 'pending',
      input: { instruction: 'Review it', context: null, artifacts: [] },
      metadata: { agent_id: 'code-agent', provider: 'vertex_ai', tags: [] },
      created_at: 1_767_225_600,
      updated_at: 1_767_225_600,
    })
    expect(body).toMatchObject({ result: { id: 'one', state: 'completed', output: { response: 'Hello' } } })
  })

  it.each([
    ['CODE_AGENT_ENGINE_ID', '26:7 a2a.agents[1].settings.engine_id of agent "code-agent": is missing'],
    ['GOOGLE_CLOUD_PROJECT', '26:7 a2a.agents[1].settings.project of agent "code-agent": is missing'],
    ['DATA_AGENT_AGENT_ID', '44:7 a2a.agents[2].settings.agent_id of agent "data-agent": must be the id'],
  ])('says which setting is missing without the variable %s, and where', async (name, text) => {
    const env = without(name)
    const error = await start(env).then(
      () => undefined,
      (thrown: unknown) => thrown,
    )
    expect(error).toMatchObject({
      code: 'CONFIGURATION_ERROR',
      message: expect.stringContaining(text) as unknown,
    })
    const variable = name === 'GOOGLE_CLOUD_PROJECT' ? 'CODE_AGENT_PROJECT' : name
    expect(String(error)).toMatch(new RegExp(`\\. Or set the variable ${variable}$`))
  })

  it('needs no alias of the Bedrock agent: every agent has one for tests', async () => {
    const { gateway, inputs } = await start(without('DATA_AGENT_ALIAS_ID'))
    await gateway.sendTask('data-agent', 'Draw it')
    expect(inputs).toMatchObject([{ agentId: 'AGENT1', agentAliasId: 'TSTALIASID' }])
  })
})
