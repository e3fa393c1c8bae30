/** The tools of a server of MCP are the skills of an agent. */
import assert from 'node:assert/strict'
import { A2AClient } from 'a2a-tasks/client'
import { createMcpHandler, mcpAgent, type McpClient } from 'a2a-tasks/mcp'
import { createRequestHandler } from 'a2a-tasks/server'

// A server of MCP, as another team may run it: its tool tells the weather.
const weather = createRequestHandler({
  card: {
    name: 'Weather',
    url: 'https://weather.example',
    skills: [
      { id: 'weather', name: 'Weather', description: 'Tells the weather in a city', tags: ['weather'] },
    ],
  },
  execute: (run) => `Sunny in ${run.text}`,
})
const mcp = createMcpHandler(weather)

// The agent.
const card = { name: 'Assistant', url: 'https://assistant.example' }
const handler = createRequestHandler(await mcpAgent(connect(), { card }))

// A client of the agent calls the tool.
const agent = new A2AClient({
  card: handler.card,
  fetch: (url, init) => handler.fetch(new Request(url, init)),
})
console.log(agent.card.skills.map(({ id, description }) => `${id}: ${description}`).join('\n'))
const message = { parts: [{ data: { message: 'Rome' } }], metadata: { skill: 'weather' } }
const result = await agent.run(message)
console.log(result.text)
assert.equal(result.text, 'Sunny in Rome')

await handler.close()
await weather.close()

/**
 * A client of MCP 2026-07-28 for tools without questions and progress. Your program has `new Client(…)` of
 * `@modelcontextprotocol/client` here, and connects it to the URL of the server.
 */
function connect(): McpClient {
  const request = async ({ method, params }: { method: string; params: { name?: string } }) => {
    const _meta = {
      ...{ 'io.modelcontextprotocol/protocolVersion': '2026-07-28' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const response = await mcp(
      new Request('https://weather.example/mcp', {
        method: 'POST',
        headers: {
          ...{ 'content-type': 'application/json', 'mcp-protocol-version': '2026-07-28' },
          ...{ 'mcp-method': method, ...(params.name !== undefined && { 'mcp-name': params.name }) },
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
      }),
    )
    const { result, error } = (await response.json()) as { result?: object; error?: { message: string } }
    if (error !== undefined) throw Object.assign(new Error(error.message), error)
    return result
  }
  return {
    ...{ request, callTool: request, transport: {} },
    getServerCapabilities: () => ({ tools: {} }),
    close: () => Promise.resolve(),
  }
}
