/** The protocol by which a task has come: in the list, and in a search. */
import { A2AClient } from 'a2a-tasks/client'
import { createAgUiHandler } from 'a2a-tasks/ag-ui'
import { createMcpHandler } from 'a2a-tasks/mcp'
import { expect, it } from 'vitest'
import { statelessRequest } from '../mcp/kit.js'
import { agentOver, MANAGERS, Page, READ, talk } from './support/inspected.js'

it.each(MANAGERS)('over a %s, tasks of MCP and AG-UI say so, and others have none', async (name) => {
  const agent = await agentOver(name)
  const client = new A2AClient({
    card: agent.card,
    fetch: (url, init) => agent.fetch(new Request(url, init)),
  })
  await talk(agent, 'by A2A')
  await agent.tasks.createTask({ skill: 'by code', input: 'by code' })
  const params = { name: 'Echo', arguments: { message: 'by one' } }
  await (await createMcpHandler(agent)(statelessRequest(1, 'tools/call', params))).text()
  const messages = [{ id: 'm1', role: 'user', content: 'by another' }]
  const run = { threadId: 'a', runId: 'b', messages, state: {}, tools: [], context: [], forwardedProps: {} }
  const request = new Request('http://agent.test/ag-ui', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(run),
  })
  await (await createAgUiHandler(client)(request)).text()

  const page = new Page({ ...READ, tasks: agent.tasks })
  const rowsOf = async (query: string): Promise<unknown> => {
    const { body } = await page.get(`tasks?${query}`)
    const { tasks } = body as unknown as { tasks: { title: string; protocol?: string }[] }
    return tasks.map(({ title, protocol = 'none' }) => `${title}: ${protocol}`).sort()
  }
  expect(await rowsOf('')).toEqual(['by A2A: none', 'by another: AG-UI', 'by code: none', 'by one: MCP'])
  expect(await rowsOf('text=ag-ui')).toEqual(['by another: AG-UI'])
})
