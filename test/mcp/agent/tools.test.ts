/** Tools of a server of MCP in a run: what wrapping functions and callers are told. */
import { expect, it } from 'vitest'
import { aiSdk, openAiAgents } from 'a2a-tasks/ai'
import { mcpTools } from 'a2a-tasks/mcp'
import { createRequestHandler, type Execute } from 'a2a-tasks/server'
import { clientOf } from './kit.js'

/** What the code of a run returns. */
async function outcomeOf(execute: Execute): Promise<unknown> {
  const errors: unknown[] = []
  const handler = createRequestHandler({
    card: { name: 'Agent', url: 'https://agent.test' },
    execute,
    onError: (error) => errors.push(error),
  })
  const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Go' }] }
  await handler.dispatch({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
  await handler.close()
  return errors[0]
}

it('ai.tools refuses them: their calls are steps already', async () => {
  const error = 'The tool "go" has a "run", and records its calls by itself: leave it out of ai.tools()'
  const client = clientOf({})
  await expect(
    outcomeOf(async (run) => void aiSdk(run).tools({ ...(await mcpTools(run, client)).aiSdk })),
  ).resolves.toMatchObject({ message: expect.stringContaining(error) as string })
  await expect(
    outcomeOf(async (run) => void openAiAgents(run).tools((await mcpTools(run, client)).openAiAgents)),
  ).resolves.toMatchObject({ message: expect.stringContaining(error) as string })
})

it('an unknown tool, a client that is none, and an input of a model that is no JSON', async () => {
  await expect(
    outcomeOf(async (run) => (await (await mcpTools(run, clientOf({}))).call('gone')).text),
  ).resolves.toMatchObject({ message: 'The MCP server has no tool "gone"' })
  await expect(
    outcomeOf(async (run) => void Object.keys(await mcpTools(run, {} as never))),
  ).resolves.toMatchObject({
    message: expect.stringContaining('"client" must be a Client of @modelcontextprotocol/client') as string,
  })
  await expect(
    outcomeOf(async (run) => {
      const { openAiAgents: tools } = await mcpTools(run, clientOf({}))
      const said = await tools[0]?.invoke({}, 'Rome')
      throw new Error(JSON.stringify(said))
    }),
  ).resolves.toMatchObject({ message: '"Error: The input must be a JSON object"' })
})

it('the stored list has each schema once', async () => {
  const inputSchema = { type: 'object', description: 'x'.repeat(8_000) }
  const tools = Array.from({ length: 100 }, (_, at) => ({ name: `go-${at}`, inputSchema }))
  const client = clientOf({ list: () => ({ tools }) })
  await expect(
    outcomeOf(async (run) => void Object.keys((await mcpTools(run, client)).aiSdk)),
  ).resolves.toBeUndefined()
})
