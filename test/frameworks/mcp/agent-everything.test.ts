/** The reference server with one of each kind of tool, as an agent, over standard input and output. */
import { expect, it, onTestFinished } from 'vitest'
import { A2AClient } from 'a2a-tasks/client'
import { mcpAgent, type McpClient } from 'a2a-tasks/mcp'
import { createRequestHandler } from 'a2a-tasks/server'
import { describeWith, loadFramework, MODULES } from '../installed.js'

async function connect(): Promise<McpClient> {
  const { Client } = await loadFramework<{
    readonly Client: new (
      info: object,
      options: object,
    ) => McpClient & { connect(transport: object): Promise<void> }
  }>('@modelcontextprotocol/sdk/client/index.js')
  const { StdioClientTransport } = await loadFramework<{
    readonly StdioClientTransport: new (options: object) => object
  }>('@modelcontextprotocol/sdk/client/stdio.js')
  const capabilities = { elicitation: { form: {}, url: {} }, sampling: {} }
  const client = new Client({ name: 'agent', version: '1.0.0' }, { capabilities })
  const args = [`${MODULES}@modelcontextprotocol/server-everything/dist/index.js`, 'stdio']
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }))
  onTestFinished(() => client.close())
  return client
}

describeWith('@modelcontextprotocol/server-everything', () => {
  it('the reference server', { timeout: 60_000 }, async () => {
    const sample = (): object => ({
      model: 'm',
      role: 'assistant',
      content: { type: 'text', text: 'Sampled' },
    })
    const parts = await mcpAgent(await connect(), {
      card: { name: 'Everything', url: 'https://everything.test' },
      sample,
    })
    const handler = createRequestHandler({ ...parts, anonymous: 'shared' })
    onTestFinished(() => handler.close({ graceMs: 0 }))
    const client = new A2AClient({
      card: handler.card,
      fetch: (url, init) => handler.fetch(new Request(url, init)),
    })
    const run = (skill: string, data: object, options = {}) =>
      client.run({ parts: [{ data: data as never }], metadata: { skill } }, options)
    expect((await run('echo', { message: 'Hi' })).text).toContain('Hi')
    expect((await run('get-sum', { a: 1, b: 2 })).text).toContain('3')
    const image = await run('get-tiny-image', {})
    expect(image.type === 'completed' && image.task.artifacts[0]?.parts).toContainEqual(
      expect.objectContaining({ mediaType: 'image/png' }),
    )
    const weather = await run('get-structured-content', { location: 'New York' })
    expect(weather.type === 'completed' && weather.task.artifacts[0]?.parts[0]).toHaveProperty(
      'data.temperature',
    )
    const long = await run('trigger-long-running-operation', { duration: 0.2, steps: 2 })
    expect(long).toMatchObject({ type: 'completed' })
    const sampled = await run('trigger-sampling-request', { prompt: 'Say', maxTokens: 5 })
    expect(sampled.text).toContain('Sampled')
    const asked = await run(
      'trigger-elicitation-request',
      {},
      {
        onQuestions: () => ({ 'trigger-elicitation-request': { name: 'Ann' } }),
      },
    )
    expect(asked.text).toContain('Ann')
  })
})
