/** One program is an agent of A2A and a server of MCP. A call that waits for the user is one task, in both protocols. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { A2AClient } from 'a2a-tasks/client'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'

const server = createServer().listen(0, '127.0.0.1')
await once(server, 'listening')
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

// The agent, and its skill as a tool of MCP at /mcp.
const handler = createRequestHandler({
  card: { name: 'Travel', description: 'Books trips', url },
  async execute(run) {
    const verdict = await run.approve('pay', { message: `Book ${run.text} for 42 €?` })
    return verdict === 'approve' ? 'Booked' : 'Nothing is booked'
  },
})
const a2a = toNodeListener(handler.fetch)
const mcp = toNodeListener(createMcpHandler(handler))
server.on('request', (req, res) => (req.url === '/mcp' ? mcp : a2a)(req, res))

// What the client of an editor sends, where it follows tasks.
interface Task {
  readonly taskId: string
  readonly status: string
  readonly statusMessage?: string
  readonly result?: { readonly content: readonly { readonly text: string }[] }
}
async function ask(method: string, name: string, params: object): Promise<Task> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  }
  const response = await fetch(`${url}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': name,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  })
  const { result } = (await response.json()) as { readonly result: Task }
  return result
}

// The editor calls the tool. The agent asks, so the call is a task that waits.
const call = { name: 'default', arguments: { message: 'a trip to Rome' } }
const { taskId, status, statusMessage } = await ask('tools/call', 'default', call)
console.log(`${status}: ${statusMessage}`)
assert.equal(status, 'input_required')

// A client of A2A answers it.
const client = await A2AClient.connect(url)
await client.run({ taskId, parts: [{ text: 'approve' }] })

// The editor gets the result.
const done = await ask('tasks/get', taskId, { taskId })
console.log(`${done.status}: ${done.result?.content[0]?.text}`)
assert.equal(done.result?.content[0]?.text, 'Booked')

server.closeAllConnections()
server.close()
