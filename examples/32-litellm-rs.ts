/** The configuration of LiteLLM-RS' document, as it stands: three agents at three services, for which stubs stand here. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { A2AGateway, bedrock, langGraph, loadGatewayConfig, vertexAI } from 'a2a-tasks/gateway'

// One server answers as LangGraph, Vertex AI and Google's token endpoint do, by path.
const engine = '/v1/projects/acme/locations/us-central1/reasoningEngines/42'
const answers: Record<string, unknown> = {
  '/ok': { ok: true },
  '/threads': { thread_id: 't' },
  '/threads/t/runs': { run_id: 'r', status: 'pending' },
  '/threads/t/runs/r': { run_id: 'r', status: 'success' },
  '/threads/t/state': { values: { messages: [{ type: 'ai', content: 'I found three pages' }] }, next: [] },
  '/token': { access_token: 'token-of-google', token_type: 'Bearer' },
  [engine]: { name: engine },
  [`${engine}:query`]: { output: { id: 'session-1' } },
  [`${engine}:streamQuery?alt=sse`]: { content: { parts: [{ text: 'Looks good to me' }] } },
}
const seen: string[] = []
const server = createServer(({ url = '', headers }, response) => {
  seen.push(`${url} ${headers.authorization ?? ''}`)
  response.writeHead(url in answers ? 200 : 404).end(JSON.stringify(answers[url]))
}).listen(0, '127.0.0.1')
await once(server, 'listening')
const stub = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
// Without `fetch`, the requests go where the file says.
const fetchStub = (url: string, init: RequestInit) => fetch(url.replace(/^https?:\/\/[^/]+/, stub), init)

// In place of the official client, a `BedrockAgentRuntime` of @aws-sdk/client-bedrock-agent-runtime.
const client = {
  invokeAgent: ({ agentId, inputText = '' }: { agentId: string; inputText?: string }) => {
    const bytes = new TextEncoder().encode(`${agentId}: ${inputText}, as a chart`)
    return Promise.resolve({ completion: ReadableStream.from([{ chunk: { bytes } }]) })
  },
}

const config = await loadGatewayConfig(await readFile(new URL('32-gateway.yaml', import.meta.url), 'utf8'), {
  // In production: the environment of the process, which is the default.
  env: {
    LANGGRAPH_API_KEY: 'key',
    GOOGLE_CLIENT_ID: 'id',
    GOOGLE_CLIENT_SECRET: 'secret',
    // Settings that the file does not have.
    GOOGLE_CLOUD_PROJECT: 'acme',
    CODE_AGENT_ENGINE_ID: '42',
    DATA_AGENT_AGENT_ID: 'AGENT1',
  },
})
const gateway = A2AGateway.fromConfig(config, {
  providers: {
    langgraph: langGraph({ fetch: fetchStub }),
    vertex_ai: vertexAI({ fetch: fetchStub }),
    bedrock: bedrock({ client, fetch: fetchStub }),
  },
})

for (const text of ['A web search for otters', 'I need a code review', 'A visualization of May']) {
  const agent = gateway.findAgentForTask(text)
  assert(agent)
  const task = await gateway.sendTask(agent.id, text)
  assert.equal(task.state, 'completed')
  console.log(`${agent.name}: ${task.artifacts[0]?.parts?.[0]?.text}`)
}
assert(seen.includes('/threads Bearer key'))
assert(seen.includes(`${engine}:streamQuery?alt=sse Bearer token-of-google`))

await gateway.close()
server.close()
server.closeAllConnections()
