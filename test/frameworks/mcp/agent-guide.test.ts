/** The programs of the guide to tools of MCP. */
import { describeWith } from '../installed.js'
import { testPrograms } from '../programs.js'

describeWith('@modelcontextprotocol/server', () => {
  testPrograms({
    page: 'docs/guides/mcp-tools.md',
    mark: 'mcp',
    packages: ['@modelcontextprotocol', 'ai', '@openai/agents'],
    uses: `
import { Client } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { Agent } from '@openai/agents'
import { streamText, type ToolSet } from 'ai'
import { mcpAgent, mcpTools, McpToolError, type McpClient, type McpResult } from 'a2a-tasks/mcp'
import { createRequestHandler, type Run } from 'a2a-tasks/server'

const info = { name: 'uses', version: '1.0.0' }
export const one: McpClient = new ClientV1(info)
export const two: McpClient = new Client(info)
const card = { name: 'Agent', url: 'https://agent.example' }

interface User { readonly id: string; readonly name: string }
createRequestHandler(await mcpAgent(new Client(info), { card }))
createRequestHandler<User>({
  ...(await mcpAgent((run) => (run?.principal ? new Client(info) : new ClientV1(info)), { card, tools: ['a'], timeoutMs: 1_000 })),
  authenticate: () => ({ id: 'ann', name: 'Ann' }),
})
await mcpAgent(two, { card, sample: (params, { signal }) => ({ model: 'm', role: 'assistant', content: [params, signal.aborted] }) })
// @ts-expect-error The skills are those of the server.
await mcpAgent(two, { card: { ...card, skills: [] } })
// @ts-expect-error A URL is no client.
await mcpAgent('https://mcp.example', { card })

export async function execute(run: Run): Promise<string> {
  const { call, aiSdk, openAiAgents } = await mcpTools(run, two)
  const tools: ToolSet = { ...aiSdk }
  streamText({ model: 'm', tools: aiSdk, prompt: 'x' })
  new Agent({ name: 'a', tools: [...openAiAgents] })
  try {
    const result: McpResult = await call('a', { b: 1 }, { signal: run.signal })
    return result.text + JSON.stringify(result.data) + result.parts.length + Object.keys(tools).length
  } catch (error) {
    return error instanceof McpToolError ? error.message : 'broken'
  }
}
`,
  })
})
