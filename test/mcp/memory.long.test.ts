/** A server of MCP with a small heap, for an agent elsewhere that reports large texts. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createRequestHandler } from 'a2a-tasks/server'
import { toNodeListener } from 'a2a-tasks/server/node'
import { ROOT } from '../support/repository.js'
import { messagesIn, statelessRequest } from './kit.js'

const PROGRAM = `
import { createServer } from 'node:http'
import { A2AClient } from 'a2a-tasks/client'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { toNodeListener } from 'a2a-tasks/server/node'
const agent = A2AClient.connect(process.env.AGENT, { sameOrigin: true })
const server = createServer(toNodeListener(createMcpHandler(agent)))
server.listen(0, '127.0.0.1', () => console.log(server.address().port))
`

it('calls that report large texts fit into a small heap', { timeout: 120_000 }, async () => {
  const agent = createRequestHandler({
    card: { name: 'A', url: 'http://a' },
    anonymous: 'shared',
    async execute(run) {
      for (let count = 0; count < 40; count += 1) {
        run.update(String(count % 10).repeat(200_000))
        await setTimeout(5)
      }
      return 'Done'
    },
  })
  const server = createServer(toNodeListener(agent.fetch)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const flags = ['--max-old-space-size=128', '--input-type=module', '-e', PROGRAM]
  const AGENT = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const child = spawn(process.execPath, flags, {
    cwd: ROOT,
    env: { ...process.env, AGENT },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string]
  const call = async (id: number): Promise<unknown> => {
    const params = { name: 'default', arguments: { message: 'Go' } }
    const request = statelessRequest(id, 'tools/call', params, { progressToken: 'p' })
    const { headers } = request
    const sent = { method: 'POST', headers, body: await request.text() }
    const response = await fetch(`http://127.0.0.1:${port}/`, sent)
    return messagesIn(await response.text()).at(-1)
  }
  const results = await Promise.all(Array.from({ length: 30 }, (_, index) => call(index)))
  for (const result of results) expect(result).toMatchObject({ result: { content: [{ text: 'Done' }] } })
})
