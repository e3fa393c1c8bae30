/** The program of the guide to MCP. */
import { describeWith } from '../installed.js'
import { testPrograms } from '../programs.js'

describeWith('@modelcontextprotocol/client', () => {
  testPrograms({
    page: 'docs/guides/mcp.md',
    mark: 'mcp',
    packages: ['@modelcontextprotocol'],
    uses: `
import { createMcpHandler, type McpAgent, type McpOptions, type McpSource, type McpTool } from 'a2a-tasks/mcp'
import { A2AClient } from 'a2a-tasks/client'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'

interface User { readonly id: string; readonly name: string }
const handler = createRequestHandler<User>({
  card: { name: 'Agent', url: 'https://agent.example' },
  authenticate: () => ({ id: 'ann', name: 'Ann' }),
  execute: (run) => run.text,
})
const tool: McpTool = { inputSchema: { type: 'object' } }
const options: McpOptions = { tools: { default: tool }, waitMs: 100, origins: ['https://app.example'] }
const agent: McpAgent = await A2AClient.connect('https://agent.example')
const source: McpSource = (request) => (request.headers.has('x') ? agent : new Response(null, { status: 401 }))
const mcp = createMcpHandler<User>(handler, options)
toNodeListener(mcp)
const response: Response = await mcp(new Request('https://x.example'), { principal: { id: 'ann', name: 'Ann' } })
createMcpHandler(source)
createMcpHandler(A2AClient.connect('https://agent.example'))
export default { fetch: mcp, response }
// @ts-expect-error A URL is no agent.
createMcpHandler('https://agent.example')
`,
  })
})
