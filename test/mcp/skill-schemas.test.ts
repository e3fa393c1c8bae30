/** Schemas of skills in the card: the tools have them, and the agent gets data. */
import { describe, expect, it } from 'vitest'
import { skillSchemas, type SkillSchemas } from 'a2a-tasks/agent-card'
import { A2AClient } from 'a2a-tasks/client'
import { createMcpHandler, mcpAgent } from 'a2a-tasks/mcp'
import { createRequestHandler } from 'a2a-tasks/server'
import { clientOf } from './agent/kit.js'
import { sceneOf, statelessRequest, textIn, type Json } from './kit.js'

const inputSchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const outputSchema = { type: 'object', properties: { price: { type: 'number' } }, required: ['price'] }

function sceneWith(schemas: Readonly<Record<string, SkillSchemas>>, tools = {}) {
  const capabilities = { streaming: true, extensions: [skillSchemas(schemas)] }
  return sceneOf((run) => JSON.stringify(run.message.parts), { card: { capabilities }, tools })
}

async function toolIn(scene: Pick<ReturnType<typeof sceneOf>, 'ask'>): Promise<Json> {
  const { tools } = (await scene.ask('tools/list')).result
  return (tools as Json[])[0] ?? {}
}

it('a tool has the schemas of its skill, and the agent gets data', async () => {
  const scene = sceneWith({ default: { inputSchema, outputSchema } })
  expect(await toolIn(scene)).toMatchObject({
    inputSchema: { properties: { city: { type: 'string' }, taskId: {} }, required: ['city'] },
    outputSchema,
  })
  const { result } = await scene.ask('tools/call', { name: 'default', arguments: { city: 1 } })
  expect(result).toMatchObject({ isError: true })
  expect(textIn(result)).toBe('city must be a text')
})

it('an option counts more, also one that takes the schema away', async () => {
  const scene = sceneWith({ default: { inputSchema } }, { default: { inputSchema: undefined } })
  const { result } = await scene.ask('tools/call', { name: 'default', arguments: { message: 'Rome' } })
  expect(textIn(result)).toBe('[{"text":"Rome"}]')
})

const MESSAGE = { inputSchema: { properties: { message: { type: 'string' } } } }
it.each<[string, SkillSchemas]>([
  ['is of no object', { inputSchema: { type: 'string' } }],
  ['has a property that every tool has', { inputSchema: { type: 'object', properties: { taskId: {} } } }],
  ['is too large', { inputSchema: { ...inputSchema, description: 'x'.repeat(65_536) } }],
  ['is none', { inputSchema: 'city' as never }],
])('a schema that %s: the tool takes a text', async (_, schemas) => {
  expect(await toolIn(sceneWith({ default: schemas }))).toMatchObject(MESSAGE)
})

describe('an agent of MCP as a server of MCP', () => {
  const card = { name: 'Agent', url: 'https://agent.test' }
  const TOOL = { name: 'go', description: 'Goes', inputSchema, outputSchema }
  const call = (): Json => ({
    structuredContent: { price: 42 },
    content: [{ type: 'text', text: '{"price":42}' }],
  })

  it.each(['handler', 'client'])('over a %s, tools are as the server has them', async (over) => {
    const parts = await mcpAgent(clientOf({ list: () => ({ tools: [TOOL] }), call }), { card })
    const handler = createRequestHandler({ anonymous: 'shared', ...parts })
    const fetch = (url: string, init?: RequestInit) => handler.fetch(new Request(url, init))
    const mcp = createMcpHandler(over === 'handler' ? handler : new A2AClient({ card: handler.card, fetch }))
    const ask = async (method: string, params: object): Promise<Json> =>
      ((await (await mcp(statelessRequest(1, method, params))).json()) as Json)['result'] as Json
    const { tools } = await ask('tools/list', {})
    expect(tools).toMatchObject([{ name: 'go', description: 'Goes', inputSchema, outputSchema }])
    expect(await ask('tools/call', { name: 'go', arguments: { city: 'Rome' } })).toMatchObject({
      ...{ isError: false, structuredContent: { price: 42 } },
    })
  })

  it('more schemas than a card has room for: the rest takes texts', async () => {
    const large = { ...inputSchema, description: 'x'.repeat(60_000) }
    const tools = Array.from({ length: 10 }, (_, at) => ({ ...TOOL, name: `go${at}`, inputSchema: large }))
    const { card: made } = await mcpAgent(clientOf({ list: () => ({ tools }) }), { card })
    expect(JSON.stringify(made).length).toBeLessThan(300_000)
    expect(made.skills).toHaveLength(10)
  })

  it('a schema that nests deeper than a card may: the tool takes texts', async () => {
    const nested = (levels: number): object =>
      levels === 0 ? { type: 'string' } : { properties: { a: nested(levels - 1) } }
    const tools = [
      { ...TOOL, inputSchema: { ...nested(100), type: 'object' } },
      { ...TOOL, name: 'flat' },
    ]
    const parts = await mcpAgent(clientOf({ list: () => ({ tools }) }), { card })
    const { card: made } = createRequestHandler({ anonymous: 'shared', ...parts })
    const [extension] = made.capabilities.extensions ?? []
    expect(Object.keys((extension?.params as { skills: object }).skills)).toEqual(['flat'])
  })
})
