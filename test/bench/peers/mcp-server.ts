/**
 * The official server of MCP, with one tool. `npm ci --prefix test/frameworks` installs it.
 */
import * as z from 'zod'
import { loadFramework } from '../../frameworks/installed.js'
import { needFramework } from '../missing.js'

/** As much of the package as is used here. */
interface Package {
  readonly McpServer: new (
    info: object,
    options: object,
  ) => {
    registerTool(
      name: string,
      config: object,
      call: (given: { readonly message: string }) => Promise<object>,
    ): void
  }
  readonly createMcpHandler: (factory: () => object) => {
    fetch(request: Request): Promise<Response>
  }
}

const PACKAGE = '@modelcontextprotocol/server'

/** The tool `default` returns a text. Each request has a server of its own, as the package does it. */
export async function officialMcp(
  reply: (message: string) => string,
): Promise<(request: Request) => Promise<Response>> {
  needFramework(PACKAGE)
  const entry = new URL(`../../frameworks/node_modules/${PACKAGE}/dist/index.mjs`, import.meta.url)
  const { McpServer, createMcpHandler } = await loadFramework<Package>(entry.href)
  const config = { description: 'Answers', inputSchema: z.object({ message: z.string() }) }
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'Bench', version: '1.0.0' }, { capabilities: { tools: {} } })
    server.registerTool('default', config, ({ message }) =>
      Promise.resolve({ content: [{ type: 'text', text: reply(message) }] }),
    )
    return server
  })
  return (request) => handler.fetch(request)
}
